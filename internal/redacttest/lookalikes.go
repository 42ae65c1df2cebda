package redacttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// LookAlikes returns 200 texts without a secret, which must stay unchanged: hashes,
// ids, images, placeholders, paths, and code about secrets. They are generated from
// a seed, always the same.
func LookAlikes() []string { return SeededLookAlikes(1) }

// SeededLookAlikes is LookAlikes with other values for another seed.
func SeededLookAlikes(seed uint64) []string {
	r := source{rand.New(rand.NewPCG(seed, 7))}
	var all []string
	for i := range 10 {
		all = append(all, r.idTexts()...)
		all = append(all, r.numberTexts()...)
		all = append(all, spokenTexts[2*i], spokenTexts[2*i+1], writtenTexts[2*i], writtenTexts[2*i+1])
	}
	return all
}

const hexDigits = digits + "abcdef"

func (r source) randomUUID() string {
	return r.randomFrom(hexDigits, 8) + "-" + r.randomFrom(hexDigits, 4) + "-4" + r.randomFrom(hexDigits, 3) + "-a" + r.randomFrom(hexDigits, 3) + "-" + r.randomFrom(hexDigits, 12)
}

// idTexts returns ten texts with hashes, ids and images.
func (r source) idTexts() []string {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")) + r.randomKey(300)
	return []string{
		"commit " + r.randomFrom(hexDigits, 40) + "\nAuthor: someone\n\n    fix the parser\n",
		r.randomFrom(hexDigits, 64) + "  dist/app.tar.gz\n",
		`{"id":"` + r.randomUUID() + `","parent":"` + r.randomUUID() + `","kind":"run"}`,
		"request " + r.randomUUID() + " took 31ms, trace " + r.randomFrom(hexDigits, 32),
		"![plot](data:image/png;base64," + png + ")",
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}`,
		`{"type":"tool_result","tool_use_id":"toolu_01` + r.randomFrom(alnum, 22) + `","content":"ok"}`,
		`{"id":"call_` + r.randomFrom(alnum, 24) + `","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}`,
		"github.com/x/y v1.2.3 h1:" + r.randomKey(32) + "\n",
		`<script src="app.js" integrity="sha384-` + r.randomKey(48) + `"></script>`,
	}
}

// numberTexts returns six texts with tests, paths, addresses, times and versions.
func (r source) numberTexts() []string {
	return []string{
		"--- PASS: TestTokenRefresh/case_" + r.randomFrom(digits, 4) + " (0.0" + r.randomFrom(digits, 1) + "s)",
		"/var/lib/app/" + r.randomFrom(lower, 6) + "/secrets/" + r.randomFrom(lower, 9) + "/token.go:" + r.randomFrom(digits, 3),
		"2024-0" + r.randomFrom("123456789", 1) + "-11T10:0" + r.randomFrom(digits, 1) + ":22.123456Z INFO 10.0." + r.randomFrom("12345", 1) + ".7:8080 connected",
		fmt.Sprintf(`{"usage":{"input_tokens":%d,"output_tokens":%d,"max_tokens":4096}}`, r.IntN(9999), r.IntN(9999)),
		"etag: W/\"" + r.randomFrom(hexDigits, 16) + "\"\nx-request-id: " + r.randomFrom(hexDigits, 16),
		"https://example.test:8443/a/" + r.randomFrom(hexDigits, 12) + "?page=" + r.randomFrom(digits, 2) + "&sort=name#L" + r.randomFrom(digits, 3),
	}
}

// spokenTexts are texts about secrets.
var spokenTexts = []string{
	"The token is refreshed every hour by the client.",
	"Please rotate the secret before Friday, and tell the team.",
	"Bearer tokens are sent in the Authorization header.",
	"Basic authentication is not supported by this server.",
	"We store only a hash of the passphrase, salted per user.",
	"Your API token can be found in the settings page.",
	"Secrets: see the vault documentation for details.",
	"The private key never leaves the device.",
	"Use --token to pass a token, or set it in the environment.",
	"A password is required, and must have twelve characters.",
	"task-management-for-large-organizations-2024-edition",
	"risk-assessment-report-final-version-for-review",
	"sk-fading-circle-container-for-loading-state",
	"git push -u origin feature/token-refresh",
	"docker run -u 1000:1000 --rm app:1.2.3",
	"ssh://git@github.com/org/repo.git and git@github.com:org/repo.git",
	"the cookie banner hides the token count in the footer",
	"token: 5, tokens: 12, token_count: 123456789, token_type: bearer",
	"error: unexpected token '}' at line 12, column 8",
	"tokenizer: cl100k_base, secretary: none, author: someone else",
}

// writtenTexts are code, and configuration without a secret.
var writtenTexts = []string{
	"token := parser.next()\nif token.kind == tokenEOF {\n\treturn nil\n}",
	"secret = os.environ[\"APP_SECRET\"]\ntoken = get_token(user_id=42)",
	"const token = process.env.GITHUB_TOKEN;\nconst secret = config.get('app.secret');",
	"func login(user, password string) (token string, err error) {",
	"type Credentials struct {\n\tToken  string `json:\"token\"`\n\tSecret string `json:\"secret\"`\n}",
	"SECRET=${VAULT_SECRET}\nTOKEN=$(cat /run/secrets/token)\nACCESS_KEY=<your access key>",
	"env:\n  - name: TOKEN\n    valueFrom:\n      secretKeyRef:\n        name: app-secrets\n        key: token",
	"client_secret: {{ .Values.oauth.clientSecret }}\naccess_key: \"{{ access_key }}\"",
	"Authorization: Bearer <token>\nAuthorization: Bearer $TOKEN\nAuthorization: Bearer ${{ secrets.GITHUB_TOKEN }}",
	"postgres://user:${DB_PASS}@localhost:5432/app and redis://localhost:6379/0",
	"if (token === undefined || secret == null) { throw new Error('no token'); }",
	"self.token = token\nself.secret_key = secret_key\nself._access_key = access_key or None",
	"{\"token\": null, \"secret\": \"\", \"credentials\": false, \"secret_name\": \"app-tls\"}",
	"{\"properties\":{\"token\":{\"type\":\"string\",\"description\":\"The token of the user\"}},\"required\":[\"token\"]}",
	"assert.Equal(t, wantToken, gotToken)\nassert_token(token_a, token_b)",
	"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
	"strings.Contains(s, \"-----BEGIN RSA PRIVATE KEY-----\") && strings.Contains(s, \"-----END RSA PRIVATE KEY-----\")",
	"password_file: /run/secrets/db\npassword_hash_rounds: 12\nPasswordAuthentication no",
	"secret: <REDACTED>\npassword: <REDACTED>\napi_key=<REDACTED>\nurl: postgres://a:<REDACTED>@db/x",
	strings.Repeat("eyJ", 3) + " is how a token begins; sk- and ghp_ are prefixes, AKIA too",
}

// Surrounded returns 390 texts: 39 kinds of secrets as files, commands and
// people write them, each in 10 surroundings, always the same for a seed.
func Surrounded(seed uint64) []Secret {
	r := source{rand.New(rand.NewPCG(seed, 8))}
	var all []Secret
	for _, k := range written39 {
		for _, s := range surroundings {
			text, secrets := k.write(r)
			all = append(all, Secret{Kind: k.name, Form: s.name, Text: s.put(text), Value: strings.Join(secrets, ""), Parts: secrets})
		}
	}
	return all
}

// least is the number of characters of a secret that is a leak.
const least = 8

// A Finder finds parts of secrets in texts.
type Finder map[string]Secret

// NewFinder returns a finder of at least eight characters of any of secrets.
func NewFinder(secrets []Secret) Finder {
	f := make(Finder)
	for _, s := range secrets {
		for _, p := range s.Parts {
			for i := 0; i+least <= len(p); i++ {
				f[p[i:i+least]] = s
			}
		}
	}
	return f
}

// Leak returns the first part of a secret in text, and its secret; "" if there is
// none.
func (f Finder) Leak(text string) (part string, of Secret) {
	for i := 0; i+least <= len(text); i++ {
		if s, ok := f[text[i:i+least]]; ok {
			n := least
			for _, p := range s.Parts {
				for i+n < len(text) && strings.Contains(p, text[i:i+n+1]) {
					n++
				}
			}
			return text[i : i+n], s
		}
	}
	return "", Secret{}
}

// Part returns at least eight characters of s that are in text; "" if there are
// none.
func (s Secret) Part(text string) string {
	part, _ := NewFinder([]Secret{s}).Leak(text)
	return part
}

// A writing is one kind of secret in its lines.
type writing struct {
	name  string
	write func(r source) (text string, secrets []string)
}

// one is a writing of a secret on its own.
func one(name, format string, value func(r source) string) writing {
	return writing{name, func(r source) (string, []string) {
		v := value(r)
		return fmt.Sprintf(format, v), []string{v}
	}}
}

// punctuated returns a password in the style of people and password managers.
func punctuated(signs string) func(r source) string {
	return func(r source) string {
		for {
			if v := r.randomFrom(alnum, 2) + r.randomFrom(alnum+signs, 11) + r.randomFrom(alnum, 2); strings.ContainsAny(v, digits) && strings.ContainsAny(v, signs) {
				return v
			}
		}
	}
}

// phraseLike returns a password of words, in the style of people.
func phraseLike(r source) string {
	words := []string{"Winter", "Kestrel", "Harbour", "Lantern", "Orchid", "Copper", "Saddle", "Walnut"}
	return words[r.IntN(len(words))] + "-" + words[r.IntN(len(words))] + "_" + r.randomFrom(digits, 4) + "!"
}

// keyLines returns the lines of a private key with a label, and those of its body.
func keyLines(r source, label, head string, bytes int) (lines, body []string) {
	text := head + r.randomKey(bytes)
	for len(text) > 64 {
		body, text = append(body, text[:64]), text[64:]
	}
	body = append(body, text)
	label += " PRIVATE " + "KEY-----"
	lines = append(append([]string{"-----BEGIN " + label}, body...), "-----END "+label)
	return lines, body
}

func keyFile(label, head string, bytes int) func(r source) (string, []string) {
	return func(r source) (string, []string) {
		lines, body := keyLines(r, label, head, bytes)
		return strings.Join(lines, "\n"), body
	}
}

// encodedKey returns the base64 of a private key, as in Kubernetes.
func encodedKey(r source) string {
	lines, _ := keyLines(r, "RSA", "MII", 200)
	return base64.StdEncoding.EncodeToString([]byte(strings.Join(lines, "\n") + "\n"))
}

// unheaded removes the common beginning of encoded keys, which is not a secret.
func unheaded(v string) []string { return []string{v[48:]} }

var written39 = []writing{
	{"kubeconfig", func(r source) (string, []string) {
		v := encodedKey(r)
		return "users:\n- name: admin\n  user:\n    client-certificate-data: LS0tLS1CRUdJTg==\n    client-key-data: " + v, unheaded(v)
	}},
	{"kubernetes-secret", func(r source) (string, []string) {
		v := encodedKey(r)
		return "kind: Secret\ntype: kubernetes.io/tls\ndata:\n  tls.crt: LS0tLS1CRUdJTg==\n  tls.key: " + v, unheaded(v)
	}},
	one("pgpass", "db.test:5432:shop:app:%s", punctuated("!^*-_%+")),
	one("prose-password", "the password is %s", punctuated("!^*-_#+")),
	one("pass", "pass: %s", punctuated("!^*-_#%+")),
	one("pw", "pw: %s", phraseLike),
	one("prompt", "Password for root: %s", punctuated("!^*-_#%+@")),
	{"aws-configure", func(r source) (string, []string) {
		id, key := "AK"+"IA"+r.randomFrom(upper+"234567", 16), r.randomKey(30)
		return "AWS Access Key ID [None]: " + id + "\nAWS Secret Access Key [None]: " + key + "\nDefault region name [None]: eu-west-1", []string{id, key}
	}},
	one("storage-key", "storage_key: %s", func(r source) string { return r.randomKey(64) }),
	{"cookie", func(r source) (string, []string) {
		a, b := r.randomFrom(alnum, 24), r.randomFrom(alnum, 27)
		return "Cookie: theme=dark; connect.sid=s%3A" + a + "." + b + "%2Bx", []string{a, b}
	}},
	{"rsa-key", keyFile("RSA", "MII", 360)},
	{"pkcs8-key", keyFile("", "MIG", 100)},
	{"openssh-key", keyFile("OPENSSH", "b3BlbnNzaC1rZXktdjEA", 260)},
	one("aws-credentials", "[default]\naws_secret_access_key = %s", func(r source) string { return r.randomKey(30) }),
	one("github", "GITHUB_TOKEN=%s", prefixed("gh"+"p_", alnum, 36)),
	one("gitlab", "glab auth login --token %s", prefixed("gl"+"pat-", alnum+"-_", 20)),
	one("slack", "SLACK_BOT=%s", func(r source) string {
		return "xo" + "xb-" + r.randomFrom(digits, 12) + "-" + r.randomFrom(digits, 12) + "-" + r.randomFrom(alnum, 24)
	}),
	one("slack-webhook", "curl -d @body https://hooks.slack.com/services/%s", func(r source) string {
		return "T" + r.randomFrom(upper+digits, 8) + "/B" + r.randomFrom(upper+digits, 8) + "/" + r.randomFrom(alnum, 24)
	}),
	one("stripe", "stripe.Key = \"%s\"", prefixed("sk_"+"live_", alnum, 24)),
	one("openai", "export OPENAI_API_KEY=%s", prefixed("sk-"+"proj-", alnum, 48)),
	one("anthropic", "x-api-key: %s", prefixed("sk-"+"ant-api03-", alnum+"-_", 93)),
	one("google", "https://maps.test/js?key=%s", prefixed("AI"+"za", alnum+"-_", 35)),
	{"service-account", func(r source) (string, []string) {
		lines, body := keyLines(r, "", "MIIE", 240)
		key, _ := json.Marshal(strings.Join(lines, "\n") + "\n") // a string
		return `{"type": "service_account", "private_key": ` + string(key) + `, "client_email": "x"}`, body
	}},
	one("azure", "AccountName=a;AccountKey=%s;EndpointSuffix=core.windows.net", func(r source) string { return r.randomKey(64) }),
	one("jwt", "Authorization: Bearer %s", func(r source) string {
		body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + r.randomFrom(digits, 10) + `","n":"` + r.randomFrom(alnum, 9) + `"}`))
		return "ey" + "JhbGciOiJIUzI1NiJ9." + body + "." + r.randomFrom(alnum+"-_", 43)
	}),
	one("docker-auth", `{"auths": {"registry.test": {"auth": "%s"}}}`, func(r source) string {
		return base64.StdEncoding.EncodeToString([]byte("deploy:" + r.randomFrom(alnum, 20)))
	}),
	one("npmrc", "//registry.test/:_authToken=%s", func(r source) string { return r.randomUUID() }),
	one("netrc", "machine api.test login deploy password %s", punctuated("!^*-_#%+@")),
	one("database-url", "postgres://app:%s@db.test:5432/shop?sslmode=disable", punctuated("!^*-_+")),
	one("redis-url", "redis://:%s@cache.test:6379/0", prefixed("", alnum, 20)),
	one("basic-auth", "curl -u deploy:%s https://api.test/v1", punctuated("^*-_#%+")),
	one("flag", "mysqldump --password=%s shop", punctuated("!^*-_#%+@")),
	one("env-file", "DB_PASSWORD=%s", punctuated("!^*-_%+@")),
	one("toml", "[session]\nsecret_key = \"%s\"", punctuated("!^*-_#%+@")),
	one("json", `{"user": "app", "password": "%s", "port": 5432}`, phraseLike),
	one("xml", "<server><username>ci</username><password>%s</password></server>", punctuated("!^*-_#%+@")),
	one("german", "Passwort: %s", phraseLike),
	one("spanish", "contraseña: %s", phraseLike),
	one("chinese", "密码：%s", phraseLike),
}

// A surrounding is a text around the lines with a secret.
type surrounding struct {
	name string
	put  func(text string) string
}

// each returns text with every line replaced, given its number.
func each(text string, line func(n int, s string) string) string {
	lines := strings.Split(text, "\n")
	for i, s := range lines {
		lines[i] = line(i+1, s)
	}
	return strings.Join(lines, "\n")
}

var surroundings = []surrounding{
	{"tool-result", func(text string) string {
		inner, _ := json.Marshal("$ cat settings\n" + text + "\nretries: 3\n") // a string
		return `{"type":"tool_result","tool_use_id":"t1","content":` + string(inner) + `,"is_error":false}`
	}},
	{"diff", func(text string) string {
		gone := each(text, func(_ int, s string) string { return "-" + s })
		return "--- a/settings\n+++ b/settings\n@@ -1,9 +1,9 @@\n retries: 3\n" + gone + "\n" + each(text, func(_ int, s string) string { return "+" + s }) + "\n port: 80\n"
	}},
	{"grep", func(text string) string {
		return "$ grep -n '' settings\n1:retries: 3\n" + each(text, func(n int, s string) string { return fmt.Sprintf("%d:%s", n+1, s) }) +
			"\n$ grep -rn '' conf\n" + each(text, func(n int, s string) string { return fmt.Sprintf("conf/settings:%d:%s", n, s) }) + "\nconf/other:1:port: 80\n"
	}},
	{"log", func(text string) string {
		return "2025-01-02T10:00:00Z INFO app: starting\n" + each(text, func(_ int, s string) string { return "2025-01-02T10:00:01.123Z DEBUG app: " + s }) + "\n2025-01-02T10:00:02Z INFO app: ready\n"
	}},
	{"fence", func(text string) string {
		return "This is what I have now:\n\n```\n" + text + "\n```\n\nDoes it look right?"
	}},
	{"shell", func(text string) string {
		return "$ cat > settings <<'EOF'\n" + text + "\nEOF\n$ chmod 600 settings\n"
	}},
	{"yaml", func(text string) string {
		return "files:\n  - path: settings\n    content: |\n" + each(text, func(_ int, s string) string { return "      " + s }) + "\n    mode: \"0600\"\n"
	}},
	{"error", func(text string) string {
		return fmt.Sprintf("Error: cannot start: read settings: unexpected text %q at line 3: exit status 1\n", text)
	}},
	{"prose", func(text string) string {
		return "I found this on the old host: " + text + " and it still works, please change it."
	}},
	{"table", func(text string) string {
		return "| n | line |\n|---|---|\n" + each(text, func(n int, s string) string { return fmt.Sprintf("| %d | %s |", n, s) }) + "\n"
	}},
}
