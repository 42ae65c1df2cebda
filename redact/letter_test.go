package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// The text after these names is replaced, whatever it is: it need not look random.
func TestAnyValueBehindANameOfASecretGoes(t *testing.T) {
	names := []string{
		"password", "Password", "PASSWORD", "db_password", "api_key", "api-key", "apikey", "API_KEY", "apiKey", "token", "auth_token", "AUTH_TOKEN", "authToken", "access_token",
		"secret", "client_secret", "SECRET", "pass", "Pass", "db_pass", "DB_PASS", "dbPass", "passwd", "pwd", "private_key", "PRIVATE_KEY", "privateKey", "secret_key", "access_key",
	}
	values := []string{pw, "swordfish", "abc", "s3cr3t!", "Sommer2026", "a-b-c", "p@ss/word", "x1", "12345678", "correct-horse-battery", "not_a_word9"}
	forms := []struct{ name, form string }{
		{"prose", "I set %s=%s today"}, {"prose, colon", "the %s: %s works"}, {"prose, spaces", "use %s = %s there"}, {"at the end", "it is %s: %s."}, {"in brackets", "(%s=%s)"},
		{"env file", "A=b\n%s=%s\nC=d"}, {"export", "export %s=%s\n"}, {"quoted", "%s=\"%s\""}, {"YAML", "a:\n  %s: %s\n  b: c\n"}, {"quoted YAML", "%s: '%s'\n"}, {"INI", "[a]\n%s = %s\n"},
		{"query", "https://h.example/x?a=b&%s=%s&c=d"}, {"JSON", `{"a":"b","%s":"%s"}`}, {"JSON with spaces", "{\n  \"%s\": \"%s\",\n  \"n\": 1\n}"}, {"JSON in a log", `log {"%s":"%s","n":1} end`},
		{"JSON in JSON", `{"args":"{\"%s\":\"%s\"}"}`}, {"code", "if (%s == \"%s\") {"}, {"code, not equal", "if %s != '%s':"}, {"Go", "%s := \"%s\""}, {"flag", "run --%s=%s --verbose"}, {"XML", "<%s>%s</x>"},
		{"connection string", "Server=h;%s=%s;Database=d"}, {"typed", "%s: str = \"%s\""}, {"header of a diff", "+%s=%s"},
	}
	r := redact.Default()
	for _, f := range forms {
		for _, name := range names {
			for _, value := range values {
				if strings.Contains(name, "-") && (f.name == "Go" || f.name == "typed") {
					continue
				}
				text := fmt.Sprintf(f.form, name, value)
				got := r.String(text)
				if strings.Contains(got, value) || !strings.Contains(got, redact.Mark) {
					t.Errorf("%s: %q became %q", f.name, text, got)
				}
				if f.name != "query" && f.name != "connection string" && !strings.Contains(got, name) {
					t.Errorf("%s: %q became %q: the name is gone", f.name, text, got)
				}
				if again := r.String(got); again != got {
					t.Errorf("%s: %q became %q, then %q", f.name, text, got, again)
				}
				if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
					t.Errorf("%s: %q is not JSON", f.name, got)
				}
			}
		}
	}
}

// Code is not a secret.
func TestCodeStays(t *testing.T) {
	r := redact.Default()
	for _, s := range []string{
		"const apiKey = process.env.API_KEY;\nfunction login(user, password) {\n  if (password == user.password) return sign({ password: credentials?.password });\n}\ngetApiKey: async () => {",
		"if (password == confirm) {", "if password != other:", "password === repeated", "while token != end", "assert token == expected", "secret != null && go()", "return token === other ? a : b",
		"password: string", "password: string;", "password?: string", "token: Token", "token: Token,", "secret: &str", "secret: &'static str", "func login(user, password string) error", "password: Optional[str] = None",
		"def login(user: str, password: str) -> bool:", "private_key: Option<String>,", "token: string | null", "apiKey: String,", "Token token = Token.Empty;", "password: SecretStr", "public string Password { get; set; }", "pwd: char*", "byte[] token = bytes;",
		"token = getToken()", "token := lexer.Next()", "secret=os.environ[\"X\"]", "secret = os.environ.get(\"X\")", "password=process.env.X", "token = process.env.TOKEN;", "API_KEY=process.env.API_KEY", "let token = await fetchToken();",
		"password=$PASSWORD", "PASSWORD=\"$PASSWORD\"", "password: ${PASSWORD}", "token: ${{ secrets.X }}", "token: {{ .Values.token }}", "SECRET=$(cat secret)", "password: %PASSWORD%", "password: !Ref Password", "password: *pw",
		"self.token = token", "this.password = password;", "login(user, password=password)", "client(token=tok)", "{ token: authToken, user }", "token = tokens[i]", "token = next(stream)", "const token = parts[1];", "var secret = secret2;", "token := t1",
		"token = \"\"", "password = ''", "password = None", "token: null", "token = nil", "secret: undefined,", "pass: true", "password: false", `{"password": null, "token": "", "secret": "${S}"}`,
		"max_tokens=200", "tokens: 512", "token_count=3", "prompt_tokens: 12", "max_token=4096", "token: 12", "tokens = 5", "eos_token = \"</s>\"", "pad_token: \"[PAD]\"", "next_page_token=\"\"", "completion_tokens=17", `{"token": 12, "max_tokens": 4096}`,
		"--- PASS: TestParse (0.00s)", "PASS: 3", "pass: 12, fail: 0", "first pass: parse the file", "bypass: fully", "compass=north", "Unexpected token: identifier", "unexpected token: '}'", "SyntaxError: Invalid token: foo", "passing: yes", "passed=3",
		"the password: <your password>", "password: ********", "token: ...", "token=<token>", "export TOKEN=your-token-here", "secret: vault:kv/app", "template<typename Token>", "Token::new(a)", "password::verify(a)",
		"password: &str,", "token: Arc<Mutex<Token>>,", "let secret = &config.secret;", "secret: config.secret,", "auth_token: str = Field(...)", "password = getpass.getpass()", "password = request.form['password']", "token = token.strip()",
		"async def token(self) -> str:", "token: async () => {", "pass = pass + 1", "secret = new Secret(a)", "\"password\": password,", "\"token\": user.token,", "'secret' => $secret,", "params[:password]", "has_secret = !secret.nil?", "npm test → failed: TestDrainOrderedToken: drain poplar: want 2875", "client_secret: {{ .Values.oauth.clientSecret }}\naccess_key: \"{{ access_key }}\"",
		`schema: {"properties":{"token":{"type":"string","description":"The token of the user"}}}`,
	} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		quoted := strings.TrimSuffix(b.String(), "\n")
		escaped, _ := json.Marshal(s)
		for _, text := range []string{s, "write {\"content\":" + string(escaped) + ",\"n\":1}\n", `{"content":` + quoted + `}`, "write {\"content\":" + quoted + ",\"n\":1}\n"} {
			if got := r.String(text); got != text {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}
