package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// secretForms are texts with § in place of a password.
var secretForms = map[string][]string{
	"behind a user": {
		"log in with admin/§", "log in as admin / § on the box", "login with bob:§", "Sign in as bob / §", "credentials: admin / §", "credentials: admin/§", "The credentials are admin / §.", "creds: bob:§", "user/pass: bob/§", "username/password: bob / §", "u/p: bob / §",
		"login bob/§@db", "Zugangsdaten: admin / §", "identifiants : admin / §", "credenciales: bob:§", "WiFi: home / §", "admin:§", "root / §", "a.txt:12:root:§\n", "INFO login: admin:§", "authentication failed: bob/§",
	},
	"before its name": {
		"use § as the password", "Use `§` as password for the demo", "set § as your password", "use \"§\" as the new root password", "§ is the password for staging", "§ is my password", "Benutze § als Passwort", "§ ist das Passwort", "Usa § como contraseña", "use § como senha", "Utilisez § comme mot de passe", "用§作为密码",
	},
	"in a sentence": {
		"my password's §", "Password incorrect: §", "the password should be §", "the password must be §", "your password has been reset to §.", "the password would be §", "password equals §", "try the password § again", "password (§)", "password [§]", "PIN code is §", "wifi key §", "pw §", "ssh bob@a, pw §", "A temporary password is generated for root@localhost: §", "user bob with pass §",
		"Passwort wurde auf § gesetzt", "Passwort geändert zu §", "la contraseña es: §", "contraseña nueva: §", "cambia la contraseña a §", "troque a senha para §", "a senha do banco é §", "пароль администратора: §", "пароль от базы: §", "пароль §", "密码改为§", "账号 admin 密码 §", "senha do root: §", "パスワード「§」",
	},
	"in the arguments of a call": {
		"db.connect('localhost', 'root', '§')", "conn = connect(host, user, '§')", "connect(\n    host,\n    'root',\n    '§',\n)", "mysqli_connect(\"localhost\", \"root\", \"§\", \"db\")", "new mysqli(\"localhost\", \"root\", \"§\", \"db\");", "new PDO($dsn, 'root', '§')", "DriverManager.getConnection(url, \"root\", \"§\");",
		"smtp.login(\"bob@a.test\", \"§\")", "smtp.PlainAuth(\"\", \"bob\", \"§\", \"host\")", "requests.get(url, auth=(\"bob\", \"§\"))", "auth=HTTPBasicAuth('bob', '§')", "req.SetBasicAuth(\"bob\", \"§\")", "new NetworkCredential(\"bob\", \"§\")", "new UsernamePasswordCredentials(\"bob\", \"§\")", "db.auth(\"bob\", \"§\")",
		"page.fill('#password', '§')", "cy.get('#password').type('§')", "driver.find_element(By.ID, \"password\").send_keys(\"§\")", "page.getByLabel('Password').fill('§')", "define('DB_PASSWORD', '§');", "formData.append('password', '§')", "ssh.Password(\"§\")", "WiFi.begin(ssid, \"§\");", "$cred = [pscredential]::new(\"bob\", \"§\")", "expect(password).toBe('§')", "password.equals(\"§\")", "expect \"Password:\" { send \"§\\r\" }", "expect \"*assword*\"\nsend -- \"§\\r\"",
	},
	"behind a type or in a constructor": {
		"password = SecretStr(\"§\")", "password: SecretString::new(\"§\".into())", "password: Some(\"§\".to_string())", "String password = new String(\"§\");", "char password[] = \"§\";", "char password[32] = \"§\";", "password <- \"§\"", "password1 = \"§\"", "DB_PASSWORD_2=§", "password_confirmation=§", "passwordAgain: \"§\"", "password_plain: §", "$dbpass = '§';", "password: [\"§\"]", "password: !!str §", "UPDATE u SET password=MD5('§') WHERE id = 1;", "password%3D§%26x",
	},
	"in SQL and queries": {
		"CREATE USER bob IDENTIFIED BY §", "GRANT ALL ON *.* TO 'b'@'%' IDENTIFIED BY \"§\";", "CREATE USER b IDENTIFIED WITH mysql_native_password BY '§';", "ALTER USER b WITH PASSWORD '§';", "CREATE USER b WITH ENCRYPTED PASSWORD '§';", "SET PASSWORD FOR 'b'@'%' = '§';", "SET PASSWORD FOR 'b'@'%' = PASSWORD('§');",
		"INSERT INTO users (name, password) VALUES ('bob', '§');", "insert into u (id, password, mail)\nvalues (1, '§', 'x');", "AUTH §", "redis-cli -h a AUTH §", "---> PASS §", "C: PASS §\r\n", "127.0.0.1:6379> AUTH bob §",
	},
	"in an element or an attribute": {
		"<password type=\"plain\">§</password>", "<ns:password>§</ns:password>", "<wsse:Password Type=\"x\">§</wsse:Password>", "<password><![CDATA[§]]></password>", "<password>\n  §\n</password>", "<b>Password:</b> §", "<strong>Password:</strong> <code>§</code>", "<td>Password</td><td>§</td>", "<td>password</td>\n<td>§</td>", "<tr><th>Password</th><td class=\"x\">§</td></tr>", "<dt>Password</dt><dd>§</dd>",
		"<input type='password' name='p' value='§' />", "<meta name=\"api-key\" content=\"§\">", "<entry key=\"db.password\">§</entry>", "<property name=\"hibernate.connection.password\">§</property>", "<property name=\"password\"><value>§</value></property>", "<setting name=\"password\" serializeAs=\"String\"><value>§</value></setting>", "<key>password</key>\n<string>§</string>", "<code>password: §</code>", "<p>The password is §.</p>",
	},
	"in colours": {
		"\x1b[32mpassword\x1b[0m: §", "password: \x1b[33m§\x1b[0m", "\x1b[1mPassword:\x1b[0m \x1b[31m§\x1b[0m", "\x1b[34m\"password\"\x1b[0m: \x1b[32m\"§\"\x1b[0m,", "\x1b[1;31m+password: §\x1b[0m", "\x1b[0;32mDB_PASSWORD\x1b[0m=\x1b[0;33m§\x1b[0m", "DB_\x1b[01;31m\x1b[KPASSWORD\x1b[m\x1b[K=§",
	},
	"behind signs": {"password -> §", "password => §", "password→§", "password ➜ §", "|password|§|", "**Password** §", "| db_password | § |"},
	"in a column": {
		"| user | password |\n|---|---|\n| bob | § |", "user,password\nbob,§\nada,§x\n", "name;password;mail\nbob;§;b", "username\tpassword\nbob\t§", "+----+----------+\n| id | password |\n+----+----------+\n|  1 | § |\n", " id | password \n----+---------\n  1 | §\n", " password \n----------\n §\n(1 row)\n", "+user,password\n+bob,§\n", "\"id\",\"PASSWORD\"\n\"1\",\"§\"\n",
	},
	"in the settings of routers": {
		"snmp-server community § RO", "enable secret 5 §", "enable password §", "username bob password 0 §", "username bob privilege 15 secret §", " key-string 7 §", "tacacs-server key §", "radius-server host 10.0.0.1 key §", "crypto isakmp key § address 10.0.0.2", " pre-shared-key §", "set ike gateway g pre-shared-key ascii-text §", "neighbor 10.0.0.1 password 7 §", "ppp chap password 0 §", "ntp authentication-key 1 md5 §", "rocommunity §",
	},
}

func TestEachFormOfASecretGoes(t *testing.T) {
	r := redact.Default()
	for kind, forms := range secretForms {
		for _, form := range forms {
			for _, value := range []string{"Sommer" + "2024!", "hunt" + "er2", "x7Qm-2" + "pLz_9k"} {
				text := strings.ReplaceAll(form, "§", value)
				got := r.String(text)
				if strings.Contains(got, value) || !strings.Contains(got, redact.Mark) {
					t.Errorf("%s: %q became %q", kind, text, got)
					continue
				}
				if again := r.String(got); again != got {
					t.Errorf("%s: %q became %q, then %q", kind, text, got, again)
				}
				quoted, _ := json.Marshal(map[string]string{"content": text})
				inner, _ := json.Marshal(map[string]string{"arguments": string(quoted)})
				for _, in := range []string{string(quoted), string(inner)} {
					if out := r.String(in); strings.Contains(out, value) || !json.Valid([]byte(out)) {
						t.Errorf("%s: %s became %s", kind, in, out)
					}
				}
				lines := strings.ReplaceAll("x\n"+text+"\ny\n", "\n", "\r\n")
				if out := r.String(lines); strings.Contains(out, value) {
					t.Errorf("%s: %q became %q", kind, lines, out)
				}
			}
		}
	}
}

func TestNumbersThatAreSecretsGo(t *testing.T) {
	r := redact.Default()
	for _, form := range []string{"pin: §", "the pin is §", "PIN=§", "Your verification code is §", "OTP: §", "\"otp\": \"§\"", "die Geheimzahl: §", "验证码：§", "one-time code: §", "PIN code: §"} {
		for _, value := range []string{"4829", "482913"} {
			text := strings.ReplaceAll(form, "§", value)
			if got := r.String(text); strings.Contains(got, value) || r.String(got) != got {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if got := r.String(" * Debugger PIN: 144-156-117\n"); got != " * Debugger PIN: "+redact.Mark+"\n" {
		t.Errorf("%q", got)
	}
}

// What is near the forms of a secret, and is none, stays.
func TestWhatIsLikeAFormOfASecretStays(t *testing.T) {
	r := redact.Default()
	for _, text := range []string{
		"log in with oauth2/openid", "log in with github/google", "log in as admin/root", "login with ssh/ed25519", "login: user/password", "credentials: config/aws.json", "credentials: ~/.aws/credentials", "creds: none / unknown", "wifi: 802.11ac/5GHz", "admin/v2", "admin/api/v1/users", "root:x:0:0:root:/root:/bin/bash", "root:*:19000:0:99999:7:::", "root / 0755", "root / user1", "chown root:wheel0 f", "image: admin/app1", "docker.io/admin/app:1.2",
		"use sha256 as the password hash", "use argon2id as the password hash", "Use your token as the password.", "field2 is not the password", "This is the password field", "what is the password for h1?", "the password must be 12-64 characters", "password must be base64", "Password incorrect: try again", "your password has been changed to a new one", "password for user1 is required", "TxL Token Mint: q7Rw9xKp2LmZ4vB8nT1s",
		"pin: 13", "pin = 2", "GPIO pin 1234", "pin is 3V3", "spin: 123456", "otp-release: 25.3", "OTP 26", "CVc= 12345", "verification code is required",
		"db.connect('localhost', 5432, 'shop')", "connect(host, port, callback)", "signal.connect(sender, receiver, 'weak')", "login(user, password)", "login('user', process.env.PASS)", "auth=(user, password)", "auth=(\"user\", os.environ[\"PW\"])", "req.SetBasicAuth(user, pass)", "new PDO($dsn, 'root', '')", "getConnection(\"primary\", opts, cb)", "page.fill('#password', password)", "cy.get('#password').should('be.visible')", "getByLabel('Password').fill('')", "pick(user, [\"password\", \"salt1\"])", "fields = (\"username\", \"password1\", \"password2\")", "validate(\"password\", \"min:8\")", "'password' => 'required|min:8',", "token int32", "'password' => ['required', 'string', 'min:8'],", "password: [\"required\", \"min\"]", "> pass TestX1", "--- PASS: TestX1 (0.00s)", "password = hash(value)", "password = md5(password)", "| name | password |\n|---|---|\n| type | string |\n| hash | sha256 |\n| min | 8 |", "user,password\n\nbob,x1y2z3", "The user, the password\nbob,x1y2z3", "Password\n--------\nThe password is required", "Password        *uint16",
		"<input type=\"password\" name=\"password\" value=\"\">", "<input type=\"password\" value={password} onChange={f}>", "<label for=\"password\">Password</label>", "<td>Password</td><td>string</td>", "<string name=\"password\">Password</string>", "<b>Password:</b> required", "<password>${db.password}</password>", "<property name=\"password\" value=\"${db.password}\"/>", "<code>--password</code> <code>STRING</code>", "|password|string|", "| PASSWORD | sha256 |", "| ATokenFirstAiName | ATokenFirstAiName|",
		"INSERT INTO users (name, password) VALUES (?, ?)", "INSERT INTO users (name, password) VALUES ($1, $2)", "INSERT INTO users (name, password) VALUES (:name, :password)", "UPDATE users SET password = ? WHERE id = ?", "password=:password", "identified by id 42a", "IDENTIFIED WITH caching_sha2_password", "AUTH required", "250-AUTH PLAIN LOGIN", "SELECT name, password FROM users WHERE id = 1",
		"snmp-server community string", "snmp-server community public RO", "enable password encryption", "enable secret scanning", "key-string is a string", "tacacs-server key", "password [success=1 default=ignore] pam_unix.so obscure yescrypt", "password required pam_unix.so sha512 shadow", "passwd: files systemd", "-p, --password=PASS", "\"pwd\": \"/home/u/x1\"", "passwd bob1", "password2 = forms.CharField(widget=x)", "password1 != password2",
	} {
		quoted, _ := json.Marshal(map[string]string{"content": text})
		for _, in := range []string{text, "x = 1\n" + text + "\n", string(quoted)} {
			if got := r.String(in); got != in {
				t.Errorf("%q became %q", in, got)
			}
		}
	}
}
