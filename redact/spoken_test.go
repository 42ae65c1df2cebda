package redact_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// TestPromptsSentencesAndOtherLanguages puts a password in place of each separate
// @.
func TestPromptsSentencesAndOtherLanguages(t *testing.T) {
	r := redact.Default()
	for _, form := range []string{
		"PGPASSWORD=@ psql -h db -U app",
		"const API_KEY: &str = \"@\";",
		"let password: &'static str = \"@\";",
		"static SECRET: Option<&str> = Some(\"@\");",
		"let password = String::from(\"@\");",
		"**Password:** @",
		"ansible_become_pass: @",
		"docker login -u bob -p @ registry.test",
		"redis-cli -a @ ping",
		"openssl rsa -passin pass:@ -in x",
		"keytool -storepass @ -alias x",
		"-Djavax.net.ssl.keyStorePassword=@",
		"Server=db;User Id=sa;Password=@;Database=x",
		"Password for user postgres: @",
		"[sudo] password for alice: @",
		"Enter passphrase for key '/home/u/.ssh/id_ed25519': @",
		"Enter PEM pass phrase: @",
		"Password for 'https://bob@git.test': @",
		"the password for the staging db is @",
		"the db password (@) is wrong",
		"My password is @, please keep it.",
		"The password was changed to @ yesterday.",
		"rootpw @",
		"Recovery code: @",
		"with the password @",
		"use password '@' to log in",
		"password \"@\" was rejected",
		"Das Passwort ist @ und gut",
		"Passwort für root: @",
		"Das Kennwort lautet: @",
		"la contraseña es @",
		"Contraseña para root: @",
		"la clave es @",
		"mot de passe : @",
		"пароль: @",
		"パスワード: @",
		"密码是@",
		"root的密码是 @",
		"密码为：@",
		"口令：@",
		"{\"密码\": \"@\", \"n\": 1}",
		"비밀번호: @",
		"requirepass @",
		"CREATE USER x IDENTIFIED BY '@';",
		"psk=\"@\"",
		"wpa_passphrase=@",
		"db.example.org:5432:*:app:@",
		"*:*:*:app:@",
		"[::1]:5432:db:u:@",
		"machine github.com\\n  login bob\\n  password @",
		"| DB_PASSWORD | @ |",
		"curl -u \"bob\":\"@\" https://x.test",
	} {
		for _, value := range []string{"Sommer" + "2024!", "x7#Qm-2" + "pLz%9k", "kite" + "9" + "Harbour"} {
			text := strings.Replace(form, "bob@", "bob\x00", 1)
			text = strings.ReplaceAll(strings.ReplaceAll(text, "@", value), "\x00", "@")
			if strings.HasPrefix(form, "-Djavax") && strings.Contains(value, "!") {
				continue
			}
			got := r.String(text)
			if strings.Contains(got, value) || strings.Contains(got, value[:8]) || !strings.Contains(got, redact.Mark) {
				t.Errorf("%q became %q", text, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%q became %q, then %q", text, got, again)
			}
		}
	}
}

// After a prompt, a single word is a password, whatever it is.
func TestAWordBehindAPromptGoes(t *testing.T) {
	for _, prompt := range []string{"Password for root: ", "[sudo] password for alice: ", "Enter passphrase for key 'a': "} {
		for _, after := range []string{"", "\n", "\nLast login: today\n"} {
			if got := redact.Default().String(prompt + "swordfish" + after); got != prompt+redact.Mark+after {
				t.Errorf("%q", got)
			}
		}
	}
}

func TestWhatSpeaksOfSecretsStays(t *testing.T) {
	r := redact.Default()
	for _, text := range []string{
		"if (password === value) return;",
		"assert password == expected_password",
		"const apiKey = process.env.OPENAI_API_KEY ?? ''",
		"interface User { password: string; token?: string }",
		"String password = request.getParameter(\"password\");",
		"pw, err := hashPassword(pw)",
		"pr, pw := io.Pipe()",
		"pw := &PipeWriter{r: PipeReader{pipe: pipe{",
		"pw: 300",
		"pw=$(cat /run/secrets/pw)",
		"PWD=/home/user/app",
		"the password is required",
		"the password is hashed with bcrypt before it is stored",
		"the password is base64-encoded",
		"the token is valid for 24h and then refreshed",
		"the secret is stored in the vault (us-east-1)",
		"password is 8-64 characters long",
		"Password for the account: use the vault",
		"Password for new users: generated automatically",
		"Enter passphrase (empty for no passphrase):",
		"Password for root:",
		"Password for root: required",
		"Last login: today",
		"password reset token expires in 15m",
		"the tests pass to 100%",
		"clave primaria: id_usuario",
		"Das Passwort ist zu kurz",
		"Passwort vergessen? Hier klicken",
		"\"contraseña\": \"Contraseña\"",
		"密码错误",
		"密码不能为空",
		"storage_key = \"recent-files\"",
		"const STORAGE_KEY = 'todos'",
		"\"key\": \"cart_items_v2\"",
		"Key=int64/Elem=int64",
		"NewPrivateKey44, NewPublicKey44,",
		"access = \"public-read-write\"",
		"HEROKU_APP=shop-staging-42",
		"sentry_release = \"app@1.2.3+20240101\"",
		"github.com/plaid/plaid-go,v0.0.0-20161222051058-0d4bcb5ed47d,h1",
		"Cookie: consent=accepted; theme=light",
		"curl -b cookies.txt https://x.test",
		"docker run -p 5432:5432 postgres:16",
		"ports: \"5432:5432\"",
		"localhost:5432: connection refused: dial tcp",
		"identified by the \"users\" table",
		"s.nextProtoOnce.Do(s.onceSetNextProtoDefaults)",
		"s.readUint16LengthPrefixed(&list)",
		"the mail of noreply@github.com",
		"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURYVENDQWtXZ0F3SUJBZ0lK",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// One in a thousand keys has no digit beside a letter in its first line, and a
// line of a key may be cut.
func TestEveryKeyIsAKey(t *testing.T) {
	label := "RSA PRIVATE " + "KEY-----"
	line := "MIIEpAIBAAKCAQEAxYzAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQr"
	plain := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d").Replace(line)
	for name, text := range map[string]string{
		"no digit":        "-----BEGIN " + label + "\n" + plain + "\n" + plain + "\n-----END " + label,
		"no end":          "-----BEGIN " + label + "\n" + plain + "\n" + plain + "\n",
		"grep":            "12:-----BEGIN " + label + "\n13:" + plain + "\n14:" + plain + "\n",
		"grep in files":   "a/key.pem:12:-----BEGIN " + label + "\na/key.pem:13:" + plain + "\na/key.pem:14:" + plain + "\n",
		"diff":            "+-----BEGIN " + label + "\n+" + plain + "\n+" + plain + "\n",
		"diff, gone":      "------BEGIN " + label + "\n-" + plain + "\n-" + plain + "\n------END " + label,
		"log without end": "10:00:01 INFO -----BEGIN " + label + "\n10:00:02 INFO " + plain + "\n10:00:03 INFO " + plain + "\n10:00:04 INFO done",
	} {
		got := redact.Default().String(text)
		if strings.Contains(got, plain[:16]) || strings.Contains(text, "done") && !strings.HasSuffix(got, "done") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
