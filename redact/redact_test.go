package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// These are joined from parts, so that scanners of secrets ignore this file.
const (
	pw  = "hunt" + "er2"
	tok = "q7Rw9" + "xKp2LmZ4vB8nT1s"
)

func TestString(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"api_key=sk-abc123", "api_key=<REDACTED>"},
		{"API-KEY : " + pw, "API-KEY : <REDACTED>"},
		{"apikey:" + pw + ", next", "apikey:<REDACTED>, next"},
		{"(password=" + pw + ")", "(password=<REDACTED>)"},
		{"password = \"two words\"; rest", "password = \"<REDACTED>\"; rest"},
		{"password='it''s " + pw + "' x", "password='<REDACTED>' x"},
		{"password: string", "password: string"},
		{"password: str = \"" + pw + "\", n: int", "password: str = \"<REDACTED>\", n: int"},
		{"password := \"" + pw + "\"", "password := \"<REDACTED>\""},
		{"password := os.Getenv(\"PW\")", "password := os.Getenv(\"PW\")"},
		{"connect(password=get(\"a b\"), n=1)", "connect(password=get(\"a b\"), n=1)"},
		{"password=a&b=c d", "password=<REDACTED> d"},
		{"password=\"\"", "password=\"\""},
		{"password: {", "password: {"},
		{"Password:\n" + pw + "\n", "Password:\n<REDACTED>\n"},
		{"password: \"\"\"a\nb\"\"\" c", "password: \"\"\"<REDACTED>\"\"\" c"},
		{`{"msg":"password=` + pw + `","user":"bob"}`, `{"msg":"password=<REDACTED>","user":"bob"}`},
		{`log: {"msg":"password=` + pw + `","user":"bob"}`, `log: {"msg":"password=<REDACTED>","user":"bob"}`},
		{`log: {\"password\": \"` + pw + `\", \"user\": \"bob\"}`, `log: {\"password\": \"<REDACTED>\", \"user\": \"bob\"}`},
		{"export DB_PASSWORD='" + pw + "'\"x\"", "export DB_PASSWORD=<REDACTED>"},
		{"password: |\n  " + pw + "\n  more\nnext: 1", "password: <REDACTED>\nnext: 1"},
		{"the password is " + pw + "x9.", "the password is <REDACTED>"},
		{"var secret string = \"" + pw + "\"", "var secret string = \"<REDACTED>\""},
		{"x[\"client_secret\"] = '" + pw + "'", "x[\"client_secret\"] = '<REDACTED>'"},
		{"SECRET=" + pw + "\n", "SECRET=<REDACTED>\n"},
		{"<password>" + pw + "</password>", "<password><REDACTED></password>"},
		{"mysql --password " + pw + " -h db", "mysql --password <REDACTED> -h db"},
		{"mysql -u root -p" + pw + " shop", "mysql -u root -p<REDACTED> shop"},
		{"sshpass -p '" + pw + "' ssh a", "sshpass -p '<REDACTED>' ssh a"},
		{"curl -u bob:" + pw + " https://a.test", "curl -u bob:<REDACTED> https://a.test"},
		{"curl --user 'bob:" + pw + "' https://a.test", "curl --user 'bob:<REDACTED>' https://a.test"},
		{"machine a.test login bob password " + pw, "machine a.test login bob password <REDACTED>"},
		{"- name: DB_PASSWORD\n  value: " + pw + "\n", "- name: DB_PASSWORD\n  value: <REDACTED>\n"},
		{"os.Setenv(\"TOKEN\", \"" + tok + "\")", "os.Setenv(\"TOKEN\", \"<REDACTED>\")"},
		{"SetToken(\"" + tok + "\")", "SetToken(\"<REDACTED>\")"},
		{"https://a.test/?token=" + tok + "&page=2", "https://a.test/?token=<REDACTED>&page=2"},
		{"https://a.test/?page=2&sig=" + tok + "&b", "https://a.test/?page=2&sig=<REDACTED>&b"},
		{"ftp://bob:" + pw + "@a.test/x", "ftp://bob:<REDACTED>@a.test/x"},
		{"redis://:p/w" + pw + "@a.test:1/0", "redis://:<REDACTED>@a.test:1/0"},
		{"Authorization: Bearer " + tok, "Authorization: Bearer <REDACTED>"},
		{"AccountKey=" + tok + "==;Suffix=a", "AccountKey=<REDACTED>;Suffix=a"},
		{"//r.test/:_authToken=" + tok, "//r.test/:_authToken=<REDACTED>"},
		{"https://hooks.slack.com/services/T00000001/B0/" + tok, "https://hooks.slack.com/services/<REDACTED>"},
		{"a\\nghp_" + tok + tok, "a\\n<REDACTED>"},
		{"-sk-" + tok + "AbCd", "-<REDACTED>"},
		{"| token | " + tok + " |", "| token | <REDACTED> |"},
		{"#define AUTH_TOKEN \"" + tok + "\"", "#define AUTH_TOKEN \"<REDACTED>\""},
		{"**Secret**: " + tok + ", ok", "**Secret**: <REDACTED>, ok"},
		{"Authorization: ApiKey " + tok, "Authorization: ApiKey <REDACTED>"},
		{"docker login -u bob -p " + pw + " r.test", "docker login -u bob -p <REDACTED> r.test"},
		{"password: !vault |\n  abc\n  def\nx: 1", "password: <REDACTED>\nx: 1"},
		{"password: &pw " + pw + " # it", "password: <REDACTED> # it"},
		{`log: {"api_token":1371,"response_id":"r-17aB3"}`, `log: {"api_token":1371,"response_id":"r-17aB3"}`},
		{"token = (\n  \"" + tok[:10] + "\"\n  \"" + tok[10:] + "\"\n)", "token = (\n  \"<REDACTED>\"\n)"},
	} {
		r := redact.Default()
		if got := r.String(c.in); got != c.want {
			t.Errorf("%s\nbecame %s\nwant   %s", c.in, got, c.want)
		}
		if again := r.String(c.want); again != c.want {
			t.Errorf("%s\nbecame %s", c.want, again)
		}
	}
}

func TestNothingFoundIsTheSameString(t *testing.T) {
	r := redact.Default()
	text := strings.Repeat("the token of the password file, https://a.test/b\n", 100)
	if n := testing.AllocsPerRun(10, func() { r.String(text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"password":"` + pw + `"}`, `{"password":"<REDACTED>"}`},
		{`{"b":1.50, "password" : 12345,"a":null}`, `{"b":1.50, "password" : "<REDACTED>","a":null}`},
		{`{"password":["a","b",{"c":"d"}],"e":["f"]}`, `{"password":["<REDACTED>","<REDACTED>",{"c":"d"}],"e":["f"]}`},
		{`{"password":{"type":"string"},"password_hint":"dog"}`, `{"password":{"type":"string"},"password_hint":"dog"}`},
		{`{"password":null,"apiKey":true,"api_key":"","secret":"${S}"}`, `{"password":null,"apiKey":true,"api_key":"","secret":"${S}"}`},
		{`[{"name":"DB_PASSWORD","value":"` + pw + `"},{"name":"A","value":"b"}]`, `[{"name":"DB_PASSWORD","value":"<REDACTED>"},{"name":"A","value":"b"}]`},
		{`["run","--password","` + pw + `","x"]`, `["run","--password","<REDACTED>","x"]`},
		{`{"auth":"required","author":"Ada"}`, `{"auth":"required","author":"Ada"}`},
		{`{"auth":"` + "Ym9iOm" + "h1bnRlcjI=" + `"}`, `{"auth":"<REDACTED>"}`},
		{`{"a":"x\u003cy","in":"{\"password\":\"` + pw + `\"}"}`, `{"a":"x\u003cy","in":"{\"password\":\"<REDACTED>\"}"}`},
		{`no JSON, password=` + pw, `no JSON, password=<REDACTED>`},
		{` "password=` + pw + ` <b>" `, ` "password=<REDACTED> <b>" `},
		{`{"token":"word","signature":"` + tok + tok + `","max_tokens":9}`, `{"token":"<REDACTED>","signature":"` + tok + tok + `","max_tokens":9}`},
	} {
		f := redact.Default().String
		if got := redact.JSON(f, c.in); got != c.want {
			t.Errorf("%s\nbecame %s\nwant   %s", c.in, got, c.want)
		}
		if got := f(c.in); got != c.want {
			t.Errorf("as a text, %s\nbecame %s\nwant   %s", c.in, got, c.want)
		}
	}
	deep := strings.Repeat(`[`, 9000) + `"password=` + pw + `"` + strings.Repeat(`]`, 9000)
	if got := redact.JSON(redact.Default().String, deep); strings.Contains(got, pw) || !json.Valid([]byte(got)) {
		t.Error("deep JSON is not redacted")
	}
}

func TestPatternsOfTheUser(t *testing.T) {
	r, err := redact.New(redact.Options{Patterns: []redact.Pattern{
		{Name: "ticket", Regexp: `TICKET-\d+`},
		{Name: "pin", Regexp: `pin (\d+)`},
		{Regexp: `(from|to) (?P<value>\w+)-town`},
		{Name: "mark", Regexp: `[A-Z]{8}`},
	}, Extra: []func(string) string{func(s string) string { return strings.ReplaceAll(s, "extra", "more") }}})
	if err != nil {
		t.Fatal(err)
	}
	in := "TICKET-12 pin 99 from old-town ABCDEFGH extra pin x"
	want := "<REDACTED> pin <REDACTED> from <REDACTED>-town <REDACTED> more pin x"
	if got := r.String(in); got != want || r.String(got) != got {
		t.Errorf("%s\nbecame %s\nthen   %s", in, got, r.String(got))
	}
}

func TestABadPatternIsNamed(t *testing.T) {
	for _, c := range []struct {
		pattern redact.Pattern
		want    []string
	}{
		{redact.Pattern{Name: "look", Regexp: `(?=a)`}, []string{"pattern 1 (look)", "no look-around"}},
		{redact.Pattern{Name: "all", Regexp: `a*`}, []string{"pattern 1 (all)", `"a*"`, "empty string"}},
		{redact.Pattern{}, []string{"pattern 1:", "no regular expression"}},
	} {
		_, err := redact.New(redact.Options{Patterns: []redact.Pattern{{Regexp: "a"}, c.pattern}})
		if err == nil {
			t.Errorf("%+v was taken", c.pattern)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not say %q", err, w)
			}
		}
	}
}

func TestPersonalDataGoesUnlessItIsToStay(t *testing.T) {
	keep, err := redact.New(redact.Options{KeepPII: true})
	if err != nil {
		t.Fatal(err)
	}
	r := redact.Default()
	for _, c := range []struct{ in, want string }{
		{"write to a.b+c@mail.example.org.", "write to <REDACTED>."},
		{"<bob@example.com>", "<<REDACTED>>"},
		{"mail: bob@example.com:\nhi", "mail: <REDACTED>:\nhi"},
		{"mailto:bob@example.com?subject=a", "mailto:<REDACTED>?subject=a"},
		{"Author: Bob <bob@dev.example.co.uk>", "Author: Bob <<REDACTED>>"},
		{`{"email":"bob@example.com","n":1}`, `{"email":"<REDACTED>","n":1}`},
		{"a@b.co,c@d.io", "<REDACTED>,<REDACTED>"},
		{"call +49 30 901820 now", "call <REDACTED> now"},
		{"call +4915112345678, or (555) 123-4567", "call <REDACTED>, or <REDACTED>"},
		{"1-800-555-0199; 555.123.4567", "<REDACTED>; <REDACTED>"},
		{"tel:+4915112345678", "tel:<REDACTED>"},
		{"phone: 555-123-4567", "phone: <REDACTED>"},
		{"phone=5551234567", "phone=<REDACTED>"},
		{"Tel. 030 901820, Mobile: 0151 2345678", "Tel. <REDACTED>, Mobile: <REDACTED>"},
		{`{"phone":"+1 555 123 4567"}`, `{"phone":"<REDACTED>"}`},
	} {
		if got := r.String(c.in); got != c.want || r.String(got) != got {
			t.Errorf("%s\nbecame %s\nwant   %s", c.in, got, c.want)
		}
		if got := keep.String(c.in); got != c.in {
			t.Errorf("where it is to stay, %s became %s", c.in, got)
		}
	}
	for _, s := range []string{
		"v1.2.3", "10.0.0.1:8080", "2024-01-02 10:11:12", "2024-01-02T10:11:12.123456789Z", "line 1234567", "id 4155551234567", "555-1234", "1,234,567",
		"@decorator", "user@host", "git@github.com:a/b.git", "pkg@v1.2.3", "a@1.2", "0x4155551234", "call_123-456-7890-12", "+12 -3", "@@ -12,7 +14,9 @@",
		"1700000000", "123 456 78901", "file.go:120:14", "550e8400-e29b-41d4-a716-446655440000", "+1234567", "192.168.100.1000",
		"icon@2x.png", "getty@tty1.service", "react-dom@18.2.0", "pkg@v1.2.3.zip", "vite@npm:rolldown", "sd_IN@devanagari.UTF-8", "node_modules/@scope/pkg.js", "@media screen", "x@y", "bytes: 1234567890", "size=1234567890", "sha256:1234567890abcdef",
		"phoneNumber: string", "tel: 12", "10:11:12.123456 4567 89", "1700000000.123", "id=4155551234", "offset 415 555", "a[0] = 1234567890",
	} {
		if got := r.String(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

// It would take hours if each part were read to the end of the text.
func TestATextOfBeginningsOfTokensIsReadOnce(t *testing.T) {
	text := strings.Repeat("eyJa.", 2<<20)
	if redact.Default().String(text) != text {
		t.Error("something is redacted")
	}
	part := strings.Repeat("aB3", 4)
	token := "eyJ" + part + ".eyJ" + part + "." + part
	if got := redact.Default().String("eyJa." + " see eyJa.eyJa. " + token); got != "eyJa. see eyJa.eyJa. "+redact.Mark {
		t.Error(got)
	}
}
