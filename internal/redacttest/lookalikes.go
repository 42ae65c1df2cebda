package redacttest

import (
	"encoding/base64"
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
