package redact_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
)

// fill returns s as often as size bytes hold it.
func fill(s string, size int) string { return strings.Repeat(s, size/len(s)+1)[:size] }

// sources returns Go files of this module.
func sources(b *testing.B) string {
	var all strings.Builder
	for _, dir := range []string{"..", "../archive", "../levels", "../wire", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				b.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

func BenchmarkText(b *testing.B) {
	var secrets, clean strings.Builder
	for _, s := range redacttest.Secrets() {
		fmt.Fprintf(&secrets, "%s\n%s\n", fill("The build ran for a while, and then the test of the parser failed. ", 700), s.Text)
	}
	for _, s := range redacttest.LookAlikes() {
		fmt.Fprintf(&clean, "%s\n", s)
	}
	prose, err := os.ReadFile("../README.md")
	if err != nil {
		b.Fatal(err)
	}
	texts := map[string]string{
		"source":     sources(b),
		"prose":      fill(string(prose), 1<<20),
		"json":       fill(`{"type":"tool_result","tool_use_id":"toolu_01","content":"ok  \tgithub.com/a/b\t0.4s","usage":{"input_tokens":1204,"output_tokens":77}}`+"\n", 1<<20),
		"lookalikes": fill(clean.String(), 1<<20),
		"secrets":    secrets.String(),
	}
	if files, _ := filepath.Glob("../../shared/transcripts/claude-code/*.jsonl"); files != nil {
		var all strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				b.Fatal(err)
			}
			all.Write(text)
		}
		texts["sessions"] = all.String()
	}
	r := redact.Default()
	for _, name := range []string{"source", "prose", "json", "lookalikes", "secrets", "sessions"} {
		b.Run("of="+name, func(b *testing.B) {
			b.SetBytes(int64(len(texts[name])))
			b.ReportAllocs()
			for b.Loop() {
				r.String(texts[name])
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	text := "[" + strings.TrimSuffix(fill(`{"type":"tool_result","tool_use_id":"toolu_01","content":"ok  \tgithub.com/a/b\t0.4s","usage":{"input_tokens":1204,"output_tokens":77}},`, 137*8000), ",") + "]"
	r := redact.Default()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.JSON(r.String, text)
	}
}

// hostile are repeated texts that rules could read again and again.
var hostile = map[string]string{
	"letter":        "a",
	"password=":     "password=",
	"password":      "password",
	"spaces":        "password        ",
	"quotes":        `password="`,
	"open-quotes":   "password=\"a password='b password=`c ",
	"escaped":       `password=\"a `,
	"brackets":      "password=( ",
	"colons":        "password: ",
	"lines":         "password:\n",
	"folded":        "password: |\n  a\n",
	"deep":          "token: >\n ",
	"token=":        "token=",
	"sk-lines":      "sk-a\\\n",
	"secrets":       "secret: 'a ",
	"netrc":         "login password ",
	"mysql":         "mysql a ",
	"names":         "--password-token-secret-",
	"begin":         "-----BEGIN ",
	"begin-key":     "-----BEGIN PRIVATE KEY-----\n",
	"sk-":           "sk-",
	"jwt":           "eyJ",
	"jwt-parts":     "eyJa.",
	"urls":          "://",
	"users":         "://a:b",
	"ats":           "a@b.c ",
	"backslashes":   `\`,
	"continued":     "token=a\\\n",
	"tokens":        "token",
	"curl":          "curl -u a ",
	"closers":       "password=a)))))))))",
	"bearer":        "bearer ",
	"digits":        "+1",
	"joined":        "password=\"a\" + ",
	"flagged":       "--token ",
	"xml":           "<token>",
	"params":        "?key=",
	"auth":          "auth:",
	"key-names":     "secret_access_key_",
	"no-space":      "abc,def;",
	"json-strings":  `"password",`,
	"line-numbers":  "12\t",
	"api_key-open":  "api_key:[{(",
	"carriage":      "password=\r",
	"margin":        "token=a\\\n+++++++++++++++++++++++++++",
	"open-brackets": "[",
	"braces":        "password={value ",
	"defaults":      "password:\n  default\n",
	"fallbacks":     "getenv(\"TOKEN\", ",
	"expansions":    "${TOKEN:-a",
	"arguments":     "sshpass -p $a ",
	"programs":      "mysql sshpass ldapsearch -a ",
	"operands":      "htpasswd -b a ",
	"docker":        "docker login ",
	"argument-list": "\"sshpass\", \"-p\", ",
	"pipes":         "echo a b c | ",
	"here":          "kinit <<< $a ",
	"key-ends":      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop12\n-----END PRIVATE KEY-----\n",
	"addresses":     "://a:b@c/d@e/",
	"typographic":   "password „a ",
	"logins":        "credentials: a/",
	"before":        "x1 as the password ",
	"connects":      "connect(a, ",
	"connect-open":  "connect('a, ",
	"sends":         "password send \"",
	"rows":          "insert into a (password) values (",
	"elements":      "<password a ",
	"attributes":    "<a password\" ",
	"cells":         "password</td><td>",
	"colours":       "password\x1b[1m",
	"colours-open":  "password\x1b[",
	"codes":         "pin: 1-",
	"sql":           "identified with by ",
	"keepers":       "kv put a=$b ",
	"router":        "snmp-server community 1 ",
	"columns":       "password,a\n",
	"columns-bar":   "| password | a |\n",
}

func BenchmarkHostile(b *testing.B) {
	r, err := redact.New(redact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range hostile {
		for _, size := range []int{1 << 20, 2 << 20, 4 << 20} {
			b.Run(fmt.Sprintf("of=%s/size=%d", name, size), func(b *testing.B) {
				text := fill(s, size)
				b.SetBytes(int64(size))
				for b.Loop() {
					r.String(text)
				}
			})
		}
	}
}
