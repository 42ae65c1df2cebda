// Package redacttest generates secrets, and texts that only look like some, for
// tests of redaction. All are random, from a seed, and belong to nobody.
package redacttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Secret is a text with one secret in it.
type Secret struct {
	Kind  string   // of the secret: "aws-secret", "jwt" …
	Form  string   // of the text: "prose", "json" …
	Text  string   // contains the secret
	Value string   // the secret, as one string
	Parts []string // the part of it on each line, if it is split; else the value alone
}

// Secrets returns 220 texts: 20 kinds of secrets in 11 forms, always the same.
func Secrets() []Secret { return Seeded(1) }

// Seeded is Secrets with other values for another seed.
func Seeded(seed uint64) []Secret {
	r := source{rand.New(rand.NewPCG(seed, 6))}
	var all []Secret
	for i, k := range secretKinds {
		for j, f := range textForms {
			v := k.value(r)
			s := Secret{Kind: k.name, Form: f.name, Value: strings.ReplaceAll(v, "\n", ""), Parts: strings.Split(v, "\n")}
			s.Text = f.text(k, v)
			if f.name == "split" && len(s.Parts) == 1 {
				half := len(v)/2 + r.IntN(3) - 1
				s.Parts = []string{v[:half], v[half:]}
				s.Text = lineSplits[(i+j)%len(lineSplits)](k, v[:half], v[half:])
			}
			all = append(all, s)
		}
	}
	return all
}

// Leaks returns the part of s in text: its value, or at least eight characters of
// it. It returns "" if there is none.
func (s Secret) Leaks(text string) string {
	for _, p := range append(s.Parts, s.Value) {
		if (len(p) >= 8 || p == s.Value) && strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

// A source of random strings.
type source struct{ *rand.Rand }

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	alnum  = lower + upper + digits
)

// randomFrom returns n characters of set, including a digit and a letter if set has
// both.
func (r source) randomFrom(set string, n int) string {
	for {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		if s := string(b); set == digits || !strings.Contains(set, digits) || strings.ContainsAny(s, digits) && strings.Trim(s, digits) != "" {
			return s
		}
	}
}

// randomKey returns the base64 of n random bytes.
func (r source) randomKey(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// A secretKind is one kind of secret, with its notations.
type secretKind struct {
	name   string
	env    string // the variable with the secret
	field  string // the name in JSON and YAML
	url    string // %s is the secret
	header string
	prose  string
	value  func(r source) string
}

func prefixed(prefix, set string, n int) func(source) string {
	return func(r source) string { return prefix + r.randomFrom(set, n) }
}

var secretKinds = []secretKind{
	{"password", "DB_PASSWORD", "password", "https://app.test/login?password=%s", "X-Password: %s", "log in as alice, password: %s please", func(r source) string { return r.randomFrom(alnum+"!^*-_", 18) }},
	{"api-key", "SERVICE_API_KEY", "api_key", "https://api.test/v1?api_key=%s", "X-Api-Key: %s", "you can use api_key=%s for it", prefixed("", alnum, 24)},
	{"client-secret", "OAUTH_CLIENT_SECRET", "client_secret", "https://id.test/token?client_secret=%s", "X-Client-Secret: %s", "the client_secret is %s for staging", prefixed("", alnum+"~-", 34)},
	{"bearer", "ACCESS_TOKEN", "access_token", "https://api.test/me?access_token=%s", "Authorization: Bearer %s", "send it with Bearer %s in the header", prefixed("", alnum, 40)},
	{"basic", "REGISTRY_AUTH", "auth", "https://deploy:%s@git.test/a.git", "Authorization: Basic %s", "the header is Basic %s I think", func(r source) string {
		return base64.StdEncoding.EncodeToString([]byte("deploy:" + r.randomFrom(alnum, 17)))
	}},
	{"aws-id", "AWS_ACCESS_KEY_ID", "accessKeyId", "https://b.s3.test/o?X-Amz-Credential=%s/20240101/us-east-1/s3", "X-Aws-Key: %s", "it ran as %s in that account", prefixed("AK"+"IA", upper+"234567", 16)},
	{"aws-secret", "AWS_SECRET_ACCESS_KEY", "secretAccessKey", "https://sts.test/?secret_access_key=%s", "X-Aws-Secret-Access-Key: %s", "aws_secret_access_key = %s goes into the file", prefixed("", alnum+"/+", 40)},
	{"gcp-key", "GOOGLE_MAPS_KEY", "mapsKey", "https://maps.test/js?key=%s", "X-Goog-Api-Key: %s", "the map works with %s again", prefixed("AI"+"za", alnum+"-_", 35)},
	{"private-key", "TLS_PRIVATE_KEY", "private_key", "https://vault.test/keys?private_key=%s", "X-Private-Key: %s", "this is the key:\n%s\nkeep it", privateKey},
	{"azure", "AZURE_STORAGE_CONNECTION_STRING", "storageConnection", "https://a.blob.test/c?sv=2022&sig=%s&se=2030", "X-Storage: AccountName=a;AccountKey=%s;EndpointSuffix=core", "AccountName=a;AccountKey=%s;EndpointSuffix=core is the string", func(r source) string { return r.randomKey(64) }},
	{"github", "GITHUB_TOKEN", "githubToken", "https://x-access-token:%s@github.test/o/r.git", "Authorization: token %s", "the PAT %s expires in May", prefixed("gh"+"p_", alnum, 36)},
	{"gitlab", "CI_TOKEN", "ciToken", "https://oauth2:%s@gitlab.test/g/p.git", "PRIVATE-TOKEN: %s", "use %s for the mirror", prefixed("gl"+"pat-", alnum+"-_", 20)},
	{"slack", "SLACK_TOKEN", "slack", "https://slack.test/api/auth.test?token=%s", "Authorization: Bearer %s", "the bot logs in with %s today", func(r source) string {
		return "xo" + "xb-" + r.randomFrom(digits, 12) + "-" + r.randomFrom(digits, 12) + "-" + r.randomFrom(alnum, 24)
	}},
	{"stripe", "STRIPE_KEY", "stripe", "https://pay.test/v1/charges?k=%s", "Stripe-Key: %s", "charged with %s by mistake", prefixed("sk_"+"live_", alnum, 24)},
	{"openai", "OPENAI_KEY", "openai", "https://llm.test/v1?k=%s", "Authorization: Bearer %s", "my key %s is over quota", prefixed("sk-"+"proj-", alnum, 48)},
	{"huggingface", "HF_HUB", "hub", "https://hub.test/api?k=%s", "Authorization: Bearer %s", "pull it with %s as before", prefixed("h"+"f_", alnum, 34)},
	{"npm", "NODE_AUTH", "registryAuth", "https://npm.test/-/whoami?k=%s", "npm-auth: %s", "publish with %s from now on", prefixed("np"+"m_", alnum, 36)},
	{"pypi", "TWINE", "upload", "https://pypi.test/legacy/?k=%s", "X-Upload: %s", "twine wants %s here", prefixed("py"+"pi-AgEIcHlwaS5vcmc", alnum+"-_", 70)},
	{"jwt", "SESSION_JWT", "session", "https://app.test/cb#id=%s", "Cookie: session=%s", "the cookie was %s then", func(r source) string {
		head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
		body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + r.randomFrom(digits, 10) + `","n":"` + r.randomFrom(alnum, 9) + `"}`))
		return head + "." + body + "." + r.randomFrom(alnum+"-_", 43)
	}},
	{"connection", "DATABASE_URL", "dsn", "postgres://app:%s@db.test:5432/shop", "X-Dsn: mongodb+srv://app:%s@db.test/shop", "it connects to mysql://root:%s@10.0.0.5/shop now", prefixed("", alnum, 16)},
}

// fieldValues are values of a variable or a field that contain more than the
// secret.
var fieldValues = map[string]string{
	"azure":      "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=%s;EndpointSuffix=core.windows.net",
	"connection": "postgres://app:%s@db.test:5432/shop?sslmode=disable",
}

func (k secretKind) heldValue(v string) string {
	if f, ok := fieldValues[k.name]; ok {
		return fmt.Sprintf(f, v)
	}
	if k.name == "private-key" {
		return pemBlock(v)
	}
	return v
}

// privateKey returns the body of a key, in lines.
func privateKey(r source) string {
	text := "MII" + r.randomKey(360)
	var lines []string
	for len(text) > 64 {
		lines, text = append(lines, text[:64]), text[64:]
	}
	return strings.Join(append(lines, text), "\n")
}

func pemBlock(body string) string {
	const label = "RSA PRIVATE " + "KEY-----"
	return "-----BEGIN " + label + "\n" + body + "\n-----END " + label
}

// jsonObject returns a JSON object with v.
func (k secretKind) jsonObject(v string) string {
	held, _ := json.Marshal(k.heldValue(v)) // a string
	return fmt.Sprintf(`{"user":"alice","%s":%s,"retries":3,"ok":true}`, k.field, held)
}

// A textForm is one kind of text.
type textForm struct {
	name string
	text func(k secretKind, v string) string
}

var textForms = []textForm{
	{"prose", func(k secretKind, v string) string {
		if k.name == "private-key" {
			v = pemBlock(v)
		}
		return "Yesterday it failed again. " + fmt.Sprintf(k.prose, v) + ". Then we can close this."
	}},
	{"json", func(k secretKind, v string) string { return k.jsonObject(v) }},
	{"json-in-json", func(k secretKind, v string) string {
		inner, _ := json.Marshal(k.jsonObject(v)) // a string
		return `{"role":"tool","content":` + string(inner) + `,"n":1.50}`
	}},
	{"env", func(k secretKind, v string) string {
		return "# settings\nDEBUG=1\n" + k.env + "=" + quotedLines(k.heldValue(v)) + "\nPORT=8080\n"
	}},
	{"yaml", func(k secretKind, v string) string {
		held := k.heldValue(v)
		if strings.Contains(held, "\n") {
			held = "|\n" + indented(held, "    ")
		}
		return "service:\n  port: 8080\n  " + k.field + ": " + held + "\n  retries: 3\n"
	}},
	{"url", func(k secretKind, v string) string {
		return "GET " + fmt.Sprintf(k.url, strings.ReplaceAll(v, "\n", "")) + " failed with 500"
	}},
	{"shell", func(k secretKind, v string) string {
		return "$ export " + k.env + "='" + k.heldValue(v) + "'\n$ env | grep -c " + k.env + "\n1\n$ printenv\nHOME=/root\n" + k.env + "=" + quotedLines(k.heldValue(v)) + "\nSHLVL=1\n"
	}},
	{"header", func(k secretKind, v string) string {
		if k.name == "private-key" {
			v = strings.ReplaceAll(pemBlock(v), "\n", " ")
		}
		return "> GET /v1/me HTTP/1.1\n> Host: api.test\n> " + fmt.Sprintf(k.header, v) + "\n> Accept: */*\n\n< HTTP/1.1 200 OK\n"
	}},
	{"source", func(k secretKind, v string) string {
		held := strings.ReplaceAll(k.heldValue(v), "\n", `\n`)
		return "func client() *Client {\n\t" + k.field + " := \"" + held + "\"\n\treturn dial(\"db.test\", " + k.field + ")\n}\n\n# client.py\nclient = Client(" + k.field + "=\"" + held + "\", retries=3)\n"
	}},
	{"diff", func(k secretKind, v string) string {
		return "--- a/config.yml\n+++ b/config.yml\n@@ -1,3 +1,3 @@\n retries: 3\n" + indented("  "+k.field+": |\n"+indented(k.heldValue(v), "    ")+"\n"+k.env+"="+quotedLines(k.heldValue(v)), "+") + "\n-port: 80\n"
	}},
	{"split", func(k secretKind, v string) string { // of values with lines of their own
		var b strings.Builder
		for i, line := range strings.Split(pemBlock(v), "\n") {
			fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
		}
		return "cat -n key.pem\n" + b.String() + "done\n"
	}},
}

// lineSplits are ways to write one string on two lines.
var lineSplits = []func(k secretKind, a, b string) string{
	func(k secretKind, a, b string) string {
		return "export " + k.env + "=" + k.wholeText(a+"\\\n"+b) + "\nmake deploy\n"
	},
	func(k secretKind, a, b string) string {
		return "app:\n  " + k.field + ": >-\n    " + k.wholeText(a+"\n    "+b) + "\n  port: 80\n"
	},
	func(k secretKind, a, b string) string {
		return "app:\n  " + k.field + ": \"" + k.wholeText(a+"\\\n    "+b) + "\"\n  port: 80\n"
	},
	func(k secretKind, a, b string) string {
		return k.field + " = (\n    \"" + k.wholeText(a+"\"\n    \""+b) + "\"\n)\nconnect()\n"
	},
	func(k secretKind, a, b string) string {
		return "var " + k.field + " = \"" + k.wholeText(a+"\" +\n\t\""+b) + "\"\n\nfunc main() {}\n"
	},
}

// wholeText is used for a value that is already split.
func (k secretKind) wholeText(v string) string {
	if f, ok := fieldValues[k.name]; ok {
		return fmt.Sprintf(f, v)
	}
	return v
}

// quotedLines puts a value of several lines in quotes, as in env files.
func quotedLines(v string) string {
	if strings.Contains(v, "\n") {
		return `"` + strings.ReplaceAll(v, "\n", `\n`) + `"`
	}
	return v
}

func indented(text, by string) string {
	return by + strings.ReplaceAll(text, "\n", "\n"+by)
}
