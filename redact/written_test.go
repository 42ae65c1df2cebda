package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// writtenForms are code, configuration and prose; § is replaced by a secret.
var writtenForms = []string{
	// defaults of variables
	"variable \"db_password\" {\n  type    = string\n  default = \"§\"\n}", "variable \"db_password\" { default = \"§\" }", "variable \"api_token\" {\n  description = \"the token\"\n  type = string\n  sensitive = true\n  default   = \"§\"\n}\n",
	"variable \"tls_private_key\" {\r\n  default = \"§\"\r\n}", "+variable \"db_password\" {\n+  type = string\n+  default = \"§\"\n+}", "Parameters:\n  DBPassword:\n    Type: String\n    NoEcho: true\n    Default: §\n  Other:\n    Type: String\n", "password:\n  type: string\n  default: '§'\n", "password:\n  value: §\n", "param adminPassword string = '§'", "ARG DB_PASSWORD=§", "password: { type: String, default: '§' }", "const schema = { apiKey: { value: \"§\" } }",
	"locals {\n  db_password = \"§\"\n}", "  password = \"§\"", "password    = \"§\" # rotate", "set {\n    name  = \"auth.password\"\n    value = \"§\"\n  }", "set_sensitive {\n  name = \"adminPassword\"\n  value = \"§\"\n}",
	// lists of arguments
	"[\"--password\", \"§\"]", "args: [\"-u\", \"root\", \"--password\", \"§\"]", "args: [ \"-u\", \"root\", \"-p\", \"§\" ]", "cmd := exec.Command(\"mysql\", \"-u\", \"root\", \"--password\", \"§\")", "subprocess.run(['sshpass', '-p', '§', 'ssh', 'a'])", "spawn('docker', ['login', '-u', 'bob', '-p', '§'])", "CMD [\"redis-cli\", \"-a\", \"§\", \"ping\"]", "[]string{\"--token\", \"§\"}", "new ProcessBuilder(\"curl\", \"-u\", \"bob:§\", url)", "['--api-key', '§', '--verbose']", "args:\n  - --password\n  - §\n  - -v\n", "args:\n- \"--token\"\n- \"§\"\n", "command: [\"sh\", \"-c\", \"mysql -uroot -p§ shop\"]", "subprocess.run(['mysql', '-u', 'root', '-p§'])", "[\"ldapsearch\", \"-x\", \"-w\", \"§\"]", "{\"args\": [\"-u\", \"root\", \"-p\", \"§\"]}", "{\"cmd\":[\"docker\",\"login\",\"-u\",\"bob\",\"-p\",\"§\"]}", "{\"cmd\":[\"curl\",\"-u\",\"bob:§\",\"https://a.test\"]}", "{\"cmd\":[\"mysql\",\"-uroot\",\"-p§\"]}",
	// fallbacks of unset variables
	"const p = process.env.DB_PASSWORD || '§'", "const p = process.env.DB_PASSWORD ?? \"§\";", "const p = process.env['DB_PASSWORD'] || `§`", "password: process.env.DB_PASSWORD || '§',", "p = os.getenv(\"DB_PASSWORD\", \"§\")", "p = os.environ.get('API_TOKEN', '§')", "p = os.environ.get('API_TOKEN') or '§'", "password = os.getenv('DB_PASSWORD', '§')", "ENV.fetch(\"DB_PASSWORD\", \"§\")", "ENV.fetch('DB_PASSWORD') { '§' }", "ENV['DB_PASSWORD'] || '§'", "$p = getenv('DB_PASSWORD') ?: '§';", "$p = $_ENV['DB_PASSWORD'] ?? '§';", "'password' => env('DB_PASSWORD', '§'),", "val p = System.getenv(\"DB_PASSWORD\") ?: \"§\"", "var p = Environment.GetEnvironmentVariable(\"DB_PASSWORD\") ?? \"§\";", "std::env::var(\"DB_PASSWORD\").unwrap_or(\"§\".into())", "env::var(\"DB_PASSWORD\").unwrap_or_else(|_| \"§\".to_string())", "cmp.Or(os.Getenv(\"DB_PASSWORD\"), \"§\")", "p := getEnv(\"DB_PASSWORD\", \"§\")", "export P=${DB_PASSWORD:-§}", "password: ${DB_PASSWORD:-§}", "P=\"${DB_PASSWORD:=§}\"", "@Value(\"${db.password:§}\")", "viper.SetDefault(\"db.password\", \"§\")", "{{ db_password | default('§') }}", "password: {{ lookup('env', 'DB_PASSWORD') | default('§', true) }}", "config('DB_PASSWORD', default='§')", "Deno.env.get(\"DB_PASSWORD\") ?? \"§\"", "import.meta.env.VITE_API_KEY || \"§\"", "const { DB_PASSWORD = '§' } = process.env",
	"const t = process.env.API_TOKEN\n  || '§'", "apiKey: process.env.API_KEY! || '§'", "token = os.environ.get(\n    \"API_TOKEN\",\n    \"§\",\n)", "p = config.get('db', 'password', fallback='§')", "env.str('DB_PASSWORD', default='§')", "password: z.string().default('§')", "password = Field(default=\"§\")", "parser.add_argument('--password', default='§')", "System.getenv().getOrDefault(\"API_TOKEN\", \"§\")", "Optional.ofNullable(System.getenv(\"API_TOKEN\")).orElse(\"§\")",
	// in an address
	"https://bob:§@a.test/x", "https://bob:p/§@a.test/x", "https://bob:§/x@a.test/p?q=1", "https://bob:a@§@b.test:8443/x", "postgres://app:x@§/y@db.test:5432/shop", "https://bob:a/b@§@git.test/r.git", "amqp://u:§#1@mq:5672/v", "https://u:§?x@a.test/p", "mongodb+srv://u:a@§/b@c.mongodb.test/db?w=1", "redis://default:§/§@cache:6379/0", "https://bob:1/§@a.test/",
	// in other languages, and other quotes
	"비밀번호: §", "비밀번호는 § 입니다", "비밀번호는 §입니다", "비밀번호가 §로 바뀌었습니다", "비밀번호=§", "비밀번호 : '§'", "DB 비밀번호: §", "패스워드: §", "패스워드는 §", "비밀번호를 §로 변경했습니다", "비밀번호(§)", "API-Schlüssel: „§“", "비번: §", "비번은 §", "암호: §", "암호는 §", "{\"비밀번호\": \"§\"}", "인증키: §", "API 키: §", "토큰: §",
	"Passwort: „§“", "das Passwort ist „§“, bitte ändern", "das Passwort „§“ ist alt", "Kennwort: »§«", "mot de passe : « § »", "mot de passe : «\u00a0§\u00a0»", "le mot de passe est «§»", "пароль: «§»", "пароль «§»", "пароль — «§»", "password: “§”", "the password is “§”", "password ‘§’", "パスワード：「§」", "パスワードは「§」です", "密码：“§”", "密码是“§”", "password = ”§”", "hasło: „§”",
	"jelszó: §", "mật khẩu: §", "mật khẩu là §", "kata sandi: §", "κωδικός: §", "كلمة المرور: §", "סיסמה: §", "पासवर्ड: §", "รหัสผ่าน: §",
}

func TestWhatIsWrittenOutGoes(t *testing.T) {
	r := redact.Default()
	for _, form := range writtenForms {
		for _, value := range []string{"Sommer" + "2024x", "hunt" + "er2", "x7Qm-2" + "pLz_9k"} {
			text := strings.ReplaceAll(form, "§", value)
			got := r.String(text)
			if strings.Contains(got, value) || !strings.Contains(got, redact.Mark) {
				t.Errorf("%q became %q", text, got)
				continue
			}
			if again := r.String(got); again != got {
				t.Errorf("%q became %q, then %q", text, got, again)
			}
			quoted, _ := json.Marshal(map[string]string{"content": text})
			if out := r.String(string(quoted)); strings.Contains(out, value) || !json.Valid([]byte(out)) {
				t.Errorf("%s became %s", quoted, out)
			}
		}
	}
}

// References, types and parameters are not secrets.
func TestWhatStandsForASecretStays(t *testing.T) {
	r := redact.Default()
	for _, text := range []string{
		"password = random_password.db.result", "  password             = random_password.db.result\n", "password: random_password.db.result", "master_password = aws_secretsmanager_secret_version.db.secret_string", "password = data.aws_ssm_parameter.db.value", "secret = data.vault_generic_secret.app.data", "token = module.auth.bot_token", "password = module.db[0].password", "password = random_password.db[count.index].result", "password = \"${random_password.db.result}\"", "api_key = google_apikeys_key.maps.key_string",
		"password = var.db_password", "password = local.db_password", "password = each.value.password", "password = each.value", "password = sensitive(var.password)", "password = try(var.password, null)", "password = jsondecode(data.x.y.z)[\"password\"]", "password = file(\"${path.module}/pw\")", "password = coalesce(var.password, random_password.db.result)", "secret_key = var.create ? random_id.key.hex : null",
		"variable \"db_password\" {\n  type = string\n}", "variable \"db_password\" {\n  type = string\n  default = null\n}", "variable \"db_password\" {\n  type = string\n  default = \"\"\n}", "variable \"db_password\" {\n  type = string\n  sensitive = true\n}\n\nvariable \"region\" {\n  default = \"eu-central-1\"\n}", "output \"password\" {\n  value     = random_password.db.result\n  sensitive = true\n}", "output \"db_password\" { value = var.db_password }", "resource \"random_password\" \"db\" {\n  length = 24\n  special = true\n}", "variable \"tokens\" {\n  default = \"abc\"\n}", "password = string", "password = optional(string)", "password = optional(string, null)", "variable \"password_length\" {\n  default = \"16\"\n}",
		"login(email: String!, password: String!): Token!", "password: String!", "  password: String!\n", "mutation Login($email: String!, $password: String!) {", "token: ID!", "token: [String!]!", "secret: UUID!", "password: String", "input Login { email: String! password: String! }", "apiKey: ID! @unique", "password: Password!", "newPassword: String! @constraint(minLength: 8)",
		"[\"--password\", \"--user\"]", "[\"--token\", token]", "[\"--password\", os.Getenv(\"PW\")]", "[\"--password\", \"$PASSWORD\"]", "[\"--password\", \"${PASSWORD}\"]", "args: [\"-p\", \"8080:80\"]", "args: [\"-p\", \"3306\"]", "args: [\"-p\", \"tsconfig.json\"]", "[\"-u\", \"root\", \"-p\", \"5432\"]", "parser.add_argument(\"--password\", \"-p\", help=\"the password\")", "@click.option(\"--password\", \"password\", prompt=True)", "flags.StringVarP(&o.password, \"password\", \"p\", \"\", \"the password of the user\")", "flag.String(\"token\", \"\", \"token to use\")", "args:\n  - --password\n  - $(PASSWORD)\n", "args:\n  - --token\n  - --verbose\n",
		"process.env.DB_PASSWORD || ''", "process.env.DB_PASSWORD ?? null", "process.env.DB_PASSWORD || config.password", "os.getenv(\"DB_PASSWORD\", \"\")", "os.environ.get('API_TOKEN', None)", "os.environ.get(\"API_TOKEN\") or raise_error()", "ENV.fetch(\"DB_PASSWORD\") { raise KeyError }", "ENV.fetch('DB_PASSWORD', nil)", "env('DB_PASSWORD', '')", "errors.password || \"The password is wrong\"", "errors.password || 'required'", "label.password || 'Password'", "${DB_PASSWORD:?set DB_PASSWORD first}", ": \"${VAULT_TOKEN:?VAULT_TOKEN must hold a token}\"", "${DB_PASSWORD:-}", "${DB_PASSWORD:-$OTHER}", "${DB_PASSWORD:+set}", "if (!accessKey || !secretKey) {", "run \"$AWS_ACCESS_KEY_ID\" \"$AWS_SECRET_ACCESS_KEY\" || exit_code=$?", "secret = key.Secret || '';\ndocument.getElementById('access-key').value = key.Id || '';", "std::env::var(\"DB_PASSWORD\").unwrap_or_default()", "env::var(\"DB_PASSWORD\").expect(\"DB_PASSWORD is not set\")",
		"https://a.test/@scope/pkg", "https://a.test:8080/x?m=a@b", "http://localhost:3000/@vite/client", "http://USER:PASSWORD@HOST:PORT", "https://a.test/p/@user:x", "https://proxy.test/a.test/b/@v/list", "http://${HOST}:${PORT}/@fs/x", "http://a.test:%d/@x", "https://github.test/o/r/blob/main/a.ts#L1@x", "ssh://git@a.test:22/x@y",
		"permissions:\n  id-token: write\n", "id-token: read", "require_ci_to_pass: yes", "// First warm up pass: load the bytes to process", "existingSecret: db-credentials", "--set auth.existingSecret=root-credentials", "<method name=\"update-secret\" synchronous=\"1\" index=\"70\">", "\"token_embd.weight\": \"17b87ab2c01c80657855a5413d0457b4a041afaeda0cc785080e44e2f04acf07\"", "{\"token_embd.weight\": \"17b87ab2c01c80657855a5413d0457b4a041afaeda0cc785080e44e2f04acf07\"}",
		"AWS_ACCESS_KEY_ID=\"$1\" AWS_SECRET_ACCESS_KEY=\"$2\" aws s3 ls", "local user=$1 password=$2 file=$3", "--secret_key=\"$3\"", "Authorization: AWS4-HMAC-SHA256 Credential=$AWS_ACCESS_KEY_ID/$ymd/$AWS_REGION/s3/aws4_request,SignedHeaders=host", "private_key = $dir/private/cakey.pem", "az login --federated-token $env:ARM_OIDC_TOKEN --service-principal", "$password = ConvertTo-SecureString $text -AsPlainText -Force", "$TestPassword = -join ((65..90) + (97..122) | Get-Random -Count 16)", "`sso-oauth:CreateTokenWithIAM`", "\"parse-passwd\": \"^1.0.0\"", "{\"parse-passwd\": \"^1.0.0\", \"generate-password\": \"~1.7.0\"}", "if signedAuth == signedAuthNoQuery {", "export OPENAI_API_KEY=sk-...", "export ANTHROPIC_API_KEY=sk-ant-...", "result.apiKey = args[++i];",
		"files: \"cl100k_base.tiktoken\", \"o200k_base.tiktoken\"", "\"go4.org/token\",\n\"go4.org/readerutil\",", "{\"a\":\"password:\\n  value:\"}",
		"passwort vergessen? „Hier klicken“", "비밀번호를 입력하세요", "비밀번호가 틀렸습니다", "비밀번호는 8자 이상이어야 합니다", "비밀번호 변경", "le mot de passe « oublié » est", "-----END RSA PRIVATE KEY-----", "the line -----END PRIVATE KEY----- ends it", "strings.HasSuffix(s, \"-----END PRIVATE KEY-----\")", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
		"password = aws_ssm_parameter.db_password.value", "password = random_password.db[\"main\"].result", "password = var.passwords[\"db\"]", "password = local.creds.password", "password = azurerm_key_vault_secret.db.value", "db_password = module.secrets.outputs.db_password", "token = data.google_client_config.default.access_token", "  token                  = data.aws_eks_cluster_auth.this.token", "client_secret = azuread_application_password.app.value", "secret_id = aws_secretsmanager_secret.db.id", "password = one(random_password.this[*].result)", "password = nonsensitive(random_password.db.result)", "password = \"${var.prefix}-${random_password.db.result}\"", "password_wo = ephemeral.random_password.db.result", "password: type = string", "variable \"db_password\" { type = string }", "variable \"db_password\" { description = \"The password of the database\" }", "output \"db_password\" {\n  value = random_password.db.result\n}", "variable \"enable_token\" {\n  type    = bool\n  default = true\n}", "variable \"token_ttl\" {\n  default = \"24h\"\n}", "variable \"password_policy\" {\n default = \"strict\"\n}",
		"type User {\n  id: ID!\n  password: String!\n  token: String\n  secrets: [Secret!]!\n}", "login(password: String!): AuthPayload!", "password: String! @deprecated", "query($token: String!, $id: ID!) {", "password: NonEmptyString!", "apiKey: ApiKey!",
		"[\"--password\", password]", "['--password', process.env.PW]", "[\"--password-stdin\"]", "[\"--token\", \"{{token}}\"]", "[\"--token\", \"%s\"]", "[\"--token\", \"<token>\"]", "cmd.Flags().String(\"password\", \"\", \"password\")", "app.Flag(\"token\", \"API token\").String()", "for _, f := range []string{\"--password\", \"--token\", \"--secret\"} {", "[]string{\"password\", \"token\", \"secret\"}", "[\"password\", \"username\"]", "keys := []string{\"api_key\", \"apikey2\"}",
		"process.env.TOKEN || undefined", "process.env.API_KEY ?? throwError('x')", "const key = opts.apiKey || process.env.API_KEY || ''", "os.getenv(\"DB_PASSWORD\", default=None)", "os.environ.get(\"TOKEN\", \"<token>\")", "t.Setenv(\"API_TOKEN\", \"\")", "i18n.t('password', 'Passwort')", "errors.token || 'invalid'", "tokens[0] || 'a'", "{{ password | default(omit) }}", "{{ db_password | default(vault_db_password) }}", "${TOKEN:-$(cat token)}", "${PASSWORD:?missing}", "if token == \"\" {", "secret ?: return null", "password ?: \"\"",
		"http://localhost:8080/a/@b", "https://a.test:443/@x/y", "https://a.test/x:y@z", "see https://a.test/foo:bar/baz@1.2.3 for it", "npm i https://a.test/x/-/y@1.2.3.tgz", "https://www.test/maps/@52.5,13.4,12z", "https://medium.test/@user/title-1a2b3c4d5e6f", "http://[::1]:8080/@x", "docker pull r.test:5000/a/b@sha256:abcd", "https://r.test:5000/v2/a@sha256:abc", "go get https://a.test:8080/mod@v1.2.3", "ssh://git@a.test:2222/r.git", "git+ssh://git@a.test:o/r.git#x@1", "http://127.0.0.1:$PORT/@id/x", "http://localhost:{port}/@x", "image: quay.io:443/a@b", "http://host:port/path@x", "s3://bucket/a:b/c@d",
		"비밀번호", "비밀번호를 잊으셨나요?", "비밀번호는 안전하게 보관하세요", "비밀번호 길이는 12자입니다", "암호화 알고리즘은 AES256 입니다", "토큰이 만료되었습니다", "토큰 수: 1024", "시크릿 매니저를 사용", "비밀번호(필수)", "암호는 SHA-256 으로",
		"das Passwort „vergessen“", "le mot de passe « administrateur » est", "“password” is required", "the “token” field", "password — see below", "「パスワード」を入力",
		"-----END CERTIFICATE-----", "MIIDXTCCAkWgAwIBAgIJAKL0UG1mRkSvMA0GCSqGSIb3DQEBCwUAMEUxCzAJBgNV\n-----END CERTIFICATE-----", "const end = \"-----END PRIVATE KEY-----\"", "see the last line,\n-----END PRIVATE KEY-----", "aLongIdentifierWithoutAnyDigitsInItThatGoesOnAndOn\n-----END PRIVATE KEY-----", "type Token struct {\n\tValue string\n}", "Token{Value: \"access\"}", "password: { required: true, minLength: 8 }", "password:\n  required: true\n  label: Password\n", "token:\n  description: The token\n  default: \"\"\n", "password: { value: this.state.password }", "apiKey: { type: 'string', default: process.env.KEY }", "secret:\n  name: db-creds\n  key: value1\n", "password:\n  valueFrom:\n    secretKeyRef: {name: a1, key: b2}\n",
	} {
		quoted, _ := json.Marshal(map[string]string{"content": text})
		for _, in := range []string{text, "x = 1\n" + text + "\n", string(quoted)} {
			if got := r.String(in); got != in {
				t.Errorf("%q became %q", in, got)
				break
			}
		}
	}
}

// The rest of a key is a secret, too: its first line is on another page.
func TestTheEndOfAKeyGoes(t *testing.T) {
	body := []string{"MIIEpAIBAAKCAQEAxYzAbCdEfGh1jKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQrS", "uVwXyZ0123AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQrStUvWxYz12", "q7Rw9xKp2LmZ4vB8nT1sAA=="}
	end := "-----END RSA PRIVATE " + "KEY-----"
	r := redact.Default()
	for name, text := range map[string]string{
		"alone": strings.Join(body, "\n") + "\n" + end, "windows": strings.Join(body, "\r\n") + "\r\n" + end + "\r\n", "behind text": "$ tail -4 key.pem\n" + strings.Join(body, "\n") + "\n" + end + "\ndone\n",
		"diff": "+" + strings.Join(body, "\n+") + "\n+" + end + "\n", "numbered": "     7\t" + body[0] + "\n     8\t" + body[1] + "\n     9\t" + body[2] + "\n    10\t" + end, "arrows": "7→" + body[0] + "\n8→" + body[1] + "\n9→" + body[2] + "\n10→" + end,
		"escaped": `"key": "` + strings.Join(body, `\n`) + `\n` + end + `\n"`, "yaml": "    " + strings.Join(body, "\n    ") + "\n    " + end + "\n", "grep": "k.pem-7-" + body[0] + "\nk.pem-8-" + body[1] + "\nk.pem-9-" + body[2] + "\nk.pem:10:" + end, "one line": body[1] + "\n" + end, "two lines": body[1] + "\n" + body[2] + "\n" + end,
		"code": "\"" + strings.Join(body, "\\n\" +\n\"") + "\\n\" +\n\"" + end + "\\n\"", "quoted": "> " + strings.Join(body, "\n> ") + "\n> " + end,
	} {
		quoted, _ := json.Marshal(map[string]string{"content": text})
		for _, in := range []string{text, string(quoted)} {
			got := r.String(in)
			for _, line := range body {
				if len(line) > 30 && strings.Contains(got, line[:16]) || strings.Contains(got, line[4:20]) {
					t.Errorf("%s: %q became %q", name, in, got)
					break
				}
			}
			if again := r.String(got); again != got {
				t.Errorf("%s: %q became %q, then %q", name, in, got, again)
			}
			if strings.Contains(in, "$ tail") && (!strings.Contains(got, "$ tail -4 key.pem") || !strings.Contains(got, "done")) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}
