package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
)

// commandLines are commands as people type them, with @@ in the place of a
// password.
var commandLines = []string{
	"mysql -p@@", "mysql -u root -p@@ shop", "mysql -uroot -p'@@' -h db shop", "mysqldump --single-transaction -u app -p@@ shop > dump.sql", "mysqladmin -u root -p@@ status", "mariadb -u root -p@@",
	"mysql --user=root --password=@@ shop", "docker exec -i db mysql -uroot -p@@ shop < dump.sql", "mysql -h db -P 3306 -u root -p@@", "/usr/bin/mysql -u root -p@@ -e 'select 1'",
	"curl -u user:@@ https://a.test", "curl -u 'user:@@' https://a.test", "curl -sSfL -u user:@@ https://a.test", "curl --user user:@@ https://a.test", "curl -uuser:@@ https://a.test", "curl --proxy-user p:@@ https://a.test", "curl -U p:@@ https://a.test", "curl https://a.test -u user:@@",
	"sshpass -p @@ ssh a", "sshpass -p'@@' ssh a", "sshpass -p @@ scp f a:", "SSHPASS=@@ sshpass -e ssh a",
	"docker login -u bob -p @@ r.test", "docker login -p @@ -u bob r.test", "docker login --username bob --password @@", "podman login -u bob -p @@ quay.test", "helm registry login -u bob -p @@ r.test", "buildah login -u bob -p @@ r.test", "nerdctl login -u bob -p @@ r.test", "skopeo login -u bob -p @@ r.test",
	"redis-cli -a @@ ping", "redis-cli -h db -p 6379 -a @@ ping", "redis-cli -h db -a '@@'", "redis-cli --pass @@ ping", "redis-cli -u redis://:@@@db:6379/0 ping",
	"PGPASSWORD=@@ psql -h db -U app", "PGPASSWORD='@@' pg_dump -h db app", "env PGPASSWORD=@@ psql", "MYSQL_PWD=@@ mysql -u root",
	"az login -p @@", "az login --service-principal -u app -p @@ --tenant t", "az login -u a@b.test -p '@@'", "az acr login -n reg -u bob -p @@", "oc login -u admin -p @@ https://api.test",
	"gh auth login --with-token <<< @@", "gh auth login --with-token <<<'@@'", "echo @@ | gh auth login --with-token", "echo '@@' | docker login -u bob --password-stdin", "printf '%s' '@@' | docker login --password-stdin", "docker login -u bob --password-stdin <<< \"@@\"", "echo @@ | sudo -S apt update", "echo -n @@ | kubectl create secret generic db --from-file=password=/dev/stdin",
	"http -a user:@@ https://a.test", "http --auth user:@@ GET a.test/x", "https -a user:@@ a.test", "xh -a user:@@ a.test",
	"mongosh --password @@ -u root", "mongosh -u root -p @@", "mongo -u root -p '@@' --authenticationDatabase admin", "mongodump -u root -p=@@", "mongosh mongodb://db/admin -u root -p @@",
	"openssl rsa -in k.pem -passin pass:@@", "openssl pkcs12 -export -in c.pem -passout pass:@@ -out k.p12", "openssl enc -aes-256-cbc -k @@ -in f", "openssl enc -aes-256-cbc -pass pass:@@ -in f", "openssl enc -d -aes-256-cbc -pbkdf2 -pass 'pass:@@'",
	"net use Z: \\\\srv\\share /user:corp\\bob @@", "net use \\\\srv\\share @@ /user:bob", "net user bob @@ /add",
	"smbclient -U user%@@ //srv/share", "smbclient //srv/share -U 'corp/user%@@'", "rpcclient -U user%@@ srv", "mount -t cifs //srv/s /mnt -o username=bob,password=@@",
	"ldapsearch -x -D cn=admin -w @@ -b dc=x", "ldapsearch -x -D 'cn=admin,dc=x' -w '@@'", "ldapmodify -D cn=admin -w @@ -f x.ldif", "ldappasswd -D cn=admin -w @@ -s @@ uid=bob",
	"htpasswd -b file user @@", "htpasswd -bc /etc/nginx/.htpasswd user @@", "htpasswd -nb user @@", "htpasswd -bnBC 10 user @@",
	"wget --password=@@ ftp://a.test/f", "wget --user=bob --password='@@' https://a.test", "wget --http-password=@@ https://a.test", "wget --ftp-password @@ ftp://a.test/x",
	"ansible -e ansible_password=@@ all -m ping", "ansible-playbook site.yml -e 'ansible_become_password=@@'", "ansible-playbook -e \"db_password=@@ env=prod\" site.yml",
	"curl -su user:@@ https://a.test", "etcdctl --user root:@@ get x", "terraform apply -var 'db_password=@@'", "docker run -e MYSQL_ROOT_PASSWORD=@@ mysql", "sqlcmd -S db -U sa -P @@", "sqlcmd -S db -U sa -P'@@' -Q 'select 1'", "/opt/mssql-tools/bin/sqlcmd -U sa -P \"@@\"", "bcp t out f -S db -U sa -P @@",
	"sqlplus scott/@@@orcl", "7z a -p@@ x.7z f", "zip -P @@ x.zip f", "unzip -P @@ x.zip", "gpg --batch --passphrase @@ -d f", "ssh-keygen -t rsa -N @@ -f k", "ssh-keygen -p -P old -N @@ -f k", "cqlsh -u cassandra -p @@ db", "rabbitmqctl add_user bob @@", "rabbitmqctl change_password bob '@@'",
	"hydra -l bob -p @@ ssh://h", "evil-winrm -i h -u bob -p @@", "security unlock-keychain -p @@ login.keychain", "security add-generic-password -a bob -s x -w @@", "slappasswd -s @@", "dotnet nuget push x -k @@", "snmpwalk -v2c -c @@ host", "mkpasswd @@", "mkpasswd -m sha-512 @@", "openssl passwd -6 @@", "bw unlock @@", "bw login bob@a.test @@", "wpa_passphrase home @@", "wpa_passphrase home \"@@\"", "htdigest -c f r bob @@", "winrs -r:srv -u:bob -p:@@ dir", "rclone config create x sftp pass @@", "rootpw --plaintext @@", "iwconfig wlan0 key @@", "cargo login @@", "rar a -hp@@ a.rar", "mosquitto_passwd -b f bob @@",
	"vault kv put secret/x value=@@", "vault kv put secret/x user=$U 'value=@@'", "kubectl create secret generic x --from-literal=k=@@", "kubectl create secret generic x --from-literal k=@@", "gh secret set NAME --body @@", "gh secret set NAME -b\"@@\"", "az keyvault secret set --vault-name v --name n --value @@", "aws secretsmanager create-secret --name x --secret-string @@", "aws ssm put-parameter --name /db/x --value @@ --type SecureString", "ansible-vault encrypt_string '@@' --name x", "ConvertTo-SecureString \"@@\" -AsPlainText -Force", "ConvertTo-SecureString -String '@@' -AsPlainText",
	"cryptsetup luksOpen d x <<< @@", "docker secret create x - <<< @@", "echo @@ | docker secret create db -", "echo -n '@@' | gh secret set NAME", "gcloud secrets versions add x --data-file=- <<< @@", "echo @@ | openssl passwd -stdin", "echo '@@' | sudo passwd bob", "pass insert x <<< @@", "read -s PASS <<< \"@@\"",
	"echo root:@@ | chpasswd", "echo 'bob:@@' | sudo chpasswd", "chpasswd <<< bob:@@", "lftp -u bob,@@ sftp://a.test", "ncftpput -u bob -p @@ a.test / f", "kinit bob <<< @@", "xfreerdp /u:bob /p:@@ /v:srv", "mosquitto_pub -u bob -P @@ -t t -m x", "influx -username bob -password @@", "clickhouse-client --user bob --password @@", "psql 'host=db user=app password=@@'", "twine upload -u __token__ -p @@ dist/*", "svn co https://a.test --username bob --password @@", "vault login @@", "vault kv put secret/db password=@@", "kubectl create secret generic db --from-literal=password=@@", "snmpget -v3 -u bob -A @@ -X @@ host", "ipmitool -H h -U root -P @@ power status", "useradd -p @@ bob",
}

func TestAPasswordOnACommandLineGoes(t *testing.T) {
	r := redact.Default()
	surroundings := []string{"%", "$ %\n", "cd x && %; done", "```sh\n%\n```", "RUN %\n", "run `%` again", "+ %\n+ next\n"}
	for _, line := range commandLines {
		for _, value := range []string{"Sommer" + "2024!", "x7Qm-2" + "pLz_9k", "hunt" + "er2", "swordfish"} {
			for i, around := range surroundings {
				if i > 0 && value != "hunt"+"er2" {
					continue
				}
				text := strings.Replace(around, "%", strings.ReplaceAll(line, "@@", value), 1)
				got := r.String(text)
				if strings.Contains(got, value) {
					t.Errorf("%q became %q", text, got)
					continue
				}
				if again := r.String(got); again != got {
					t.Errorf("%q became %q, then %q", text, got, again)
				}
				quoted, _ := json.Marshal(map[string]string{"command": text})
				if out := r.String(string(quoted)); strings.Contains(out, value) || !json.Valid([]byte(out)) {
					t.Errorf("%s became %s", quoted, out)
				}
			}
		}
	}
}

// Flags that look like password flags stay, and so do variables.
func TestACommandLineWithoutAPasswordStays(t *testing.T) {
	r := redact.Default()
	for _, text := range []string{
		"mysql -u root -p", "mysql -u root -p shop", "mysql -h db -P 3306 shop", "mysqldump --port=3306 shop", "mysql -p$PASS shop", "mysql -p\"${DB_PASS}\" shop", "mkdir -p /var/lib/mysql", "mkdir -p /etc/mysql && mysql -e x", "docker run -p 3306:3306 mysql", "docker run --name mysql -p 3306:3306 -d mysql:8",
		"redis-cli -h db -p 6379 ping", "redis-cli -p 6379 info", "docker run -d -p 6379:6379 redis", "redis-cli -a $REDIS_PASS ping", "redis-cli -a \"$(cat f)\" ping",
		"sshpass -e ssh a", "sshpass -f file ssh a", "sshpass -p \"$PASS\" ssh a", "docker login r.test", "docker login -u bob --password-stdin r.test", "docker login -p $TOKEN r.test", "docker login -u bob -p ${TOKEN}",
		"curl -u $USER:$PASS https://a.test", "curl -u \"$USER:$PASS\" https://a.test", "curl -u bob https://a.test", "curl -o out -U x https://a.test", "curl -u : --negotiate https://a.test", "curl -sSfL https://a.test:8443/x",
		"az login", "az login --use-device-code", "az login --identity -u id", "az webapp up -p plan", "gh auth login --with-token < token.txt", "gh auth login --with-token <<< \"$TOKEN\"", "echo $TOKEN | gh auth login --with-token", "echo \"$PASS\" | docker login --password-stdin", "cat f | docker login --password-stdin", "echo done | tee log",
		"http -a $USER:$PASS a.test", "http GET a.test/x a==b", "http :8080/x name=value", "mongosh --port 27017", "mongosh -u root -p", "mongosh --host db --port 27017 -u root", "openssl rsa -passin env:PASS -in k", "openssl rsa -passin file:pw.txt -in k", "openssl rsa -passin stdin", "openssl rsa -passin pass:$PASS", "openssl req -new -key k.pem -out c.csr", "openssl x509 -in c.pem -noout -text",
		"net use Z: \\\\srv\\share", "net use Z: \\\\srv\\share /user:bob *", "net use * /delete", "net user bob /delete", "net user", "smbclient -U user //srv/share", "smbclient -U %", "smbclient -U user%$PASS //srv/share", "rsync -U a b",
		"ldapsearch -x -W -D cn=admin -b dc=x", "ldapsearch -x -b dc=x -w $PASS", "ldapsearch -x -y file", "htpasswd -c file user", "htpasswd file user", "htpasswd -b file user $PASS", "htpasswd -b file user \"$PASS\"", "wget --user=bob --ask-password https://a.test", "wget --password=$PASS ftp://a.test",
		"ansible -e ansible_password={{ vault_pass }} all", "ansible-playbook -e @vars.yml site.yml", "ansible-playbook --ask-become-pass site.yml", "sqlcmd -S db -E -Q 'select 1'", "sqlcmd -U sa -P $SA_PASSWORD", "sqlcmd -U sa -P \"$SA_PASSWORD\" -Q x",
		"zip -r x.zip dir", "unzip -p x.zip f", "unzip x.zip -d dir", "7z x a.7z", "7z a x.7z -pf", "gpg --passphrase-file f -d x", "gpg --passphrase-fd 0 -d x", "ssh-keygen -t ed25519 -N '' -f k", "ssh-keygen -t ed25519 -N \"\" -f k", "ssh -p 2222 a", "scp -P 2222 f a:", "cp -p a b", "ps -p 1 -o pid", "grep -P 'a+' f", "git log -p --stat", "git add -p file", "nc -u -w 5 host 53", "ping -w 3 host", "tar -pxf a.tar", "patch -p1 < a.diff", "make -p", "lsof -a -p 1", "ls -a dir", "git commit -a -m msg", "useradd -m -s /bin/sh bob", "kubectl create secret generic db --from-file=x", "vault login -method=oidc", "vault login", "vault status", "chpasswd < file", "rabbitmqctl add_vhost v", "rabbitmqctl list_users",
		"kubectl create secret generic x --from-file=k=f.txt", "kubectl create secret generic x --from-literal=k=$K", "kubectl create secret tls x --cert=a --key=b", "vault kv get secret/x", "vault kv put secret/x @f.json", "vault kv put secret/x k=$K", "gh secret set NAME < file", "gh secret list", "aws ssm put-parameter --name x --value 42 --type String", "docker secret ls", "cat f | docker secret create x -", "openssl passwd -6", "openssl passwd -6 $PW", "mkpasswd -m sha-512", "bw unlock", "bw login --apikey", "security find-generic-password -s x", "rclone config create x sftp host h", "hydra -l bob -P list.txt h", "iwconfig wlan0 key off", "sudo passwd user1", "echo x1 > out.txt", "echo done > pass.log",
		"The mysql -p flag asks for a password.", "curl -u <user>:<password> https://a.test", "pass -p to sshpass", "http -a USERNAME:PASSWORD a.test", "mysql -p<password> shop", "mysql -p[password] shop", "sqlplus /nolog", "sqlplus / as sysdba",
		"mysql -u root -p < dump.sql", "mysql -e 'show tables' -p", "mysql --protocol=tcp -P3306", "ps aux | grep mysql | grep -p x", "apt install mysql-client -y", "brew services start mysql && cd -p", "mysql: command not found", "systemctl restart mysql", "docker login && docker push -p x1y2z3", "docker login ghcr.io -u x --password-stdin", "redis-cli ping -a", "redis-cli --scan --pattern 'a*'", "zip -r9 out.zip dir1 dir2", "unzip -o a.zip -d dir1", "openssl s_client -connect a.test:443", "openssl req -x509 -newkey rsa:2048 -keyout key.pem -out c1.pem -days 365 -nodes", "openssl dgst -sha256 -sign key1.pem", "ssh-keygen -t rsa -b 4096 -C me1 -f key1 -N ''", "ssh-keygen -l -f key1.pub", "curl -uri x1", "curl -sSL -o a1.zip https://a.test:8443/a1", "curl -k -H 'a: b1' https://a.test", "http POST a.test/x1 a=b1 -v", "https://a.test -a x1:y2", "lftp -e 'mirror x1' a.test", "login failed for user bob1 -p x1", "az acr login -n reg1", "az login -t tenant1 -u user1", "oc login https://a.test:6443", "echo abc123 | base64", "echo x1y2 | docker run -i a", "cat <<< \"abc123\"", "grep x1 <<< \"$v\"", "net use of 5 MB/s x1", "net user growth was 12%", "useradd -m -d /home/x1 bob", "snmpwalk -v2c -c public h1", "podman run --user root -p 8080:80 img1", "docker run -u node -p 3000 img", "nginx -p /etc/x1 -u y", "mkdir -p a1/b2", "cp -u a1 -p b2", "ssh -u x1 -p 2222 h", "sudo -u postgres1 psql -p 5433", "sudo -u app1 mkdir -p data1/x2", "sudo -u bob cp -p file1 file2", "docker exec -u root1 c1 ls -p dir1", "twine upload dist/*", "htpasswd -v file1 user1", "7z x a1.7z -o/tmp/x1", "vault login -method=github token=$T", "sqlplus / as sysdba", "sqlplus -v", "mongo --host h1 --port 27017 db1", "mongodump -d db1 -o out1", "bcp t1 out f1 -S s1 -T", "ipmitool -I lanplus -H h1 -U root -f pwfile1", "mosquitto_sub -h h1 -t t/1 -p 1883", "ldapsearch -x -b dc=x1 -s sub '(uid=a1)'", "xfreerdp /v:srv1 /u:bob1", "smbclient -L //srv1 -N", "smbclient -U bob1 //srv1/x", "kinit -k -t key1.tab bob1", "passwd bob1", "chpasswd < users1.txt",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
