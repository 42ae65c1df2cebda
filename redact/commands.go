package redact

import (
	"slices"
	"strings"
	"sync"
)

// Programs accept passwords in arguments whose names do not say so. The program
// decides the meaning: -p is a port, a path, or a password.

// A passwordArgument describes the argument of some programs that is a password, on
// a command line or in a list of strings.
type passwordArgument struct {
	programs []string // words of the command line, in lower case
	behind   []string // one of these is before the word; empty: no condition
	flags    string   // letters of flags that a password follows: -p value, -p=value
	joined   string   // letters of flags that a password is a part of: -pvalue
	prefix   string   // beginning of an argument that continues with a password
	mark     byte     // the password begins after it in the found text, if it is not 0
	operand  int      // index of the argument without a flag that is a password, from 1 on; lastOperand is the last
	with     byte     // letter of a required flag, if it is not 0
	word     string   // an argument that a password follows
	needs    string   // a text that the arguments contain, if it is not empty
	pairs    bool     // arguments name=value have passwords as values
	prose    bool     // the words are also those of sentences: no word of a language is a password
}

const lastOperand = -1

var passwordArguments = []passwordArgument{
	{programs: []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "7zz", "unrar"}, joined: "p"},
	{programs: []string{"login"}, behind: []string{"docker", "podman", "nerdctl", "buildah", "registry", "skopeo", "crane", "az", "acr", "oc", "cf"}, flags: "p", joined: "p"},
	{programs: []string{"login"}, behind: []string{"vault"}, operand: 1},
	{programs: []string{"sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "cqlsh"}, flags: "p", joined: "p"},
	{programs: []string{"redis-cli", "valkey-cli", "keydb-cli"}, flags: "a"},
	{programs: []string{"redis-cli", "valkey-cli"}, word: "AUTH"},
	{programs: []string{"ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldapcompare", "ldapmodrdn"}, flags: "w", joined: "w"},
	{programs: []string{"ldappasswd"}, flags: "wsa"},
	{programs: []string{"sqlcmd", "zip", "unzip"}, flags: "P", joined: "P"},
	{programs: []string{"bcp", "ipmitool", "mosquitto_pub", "mosquitto_sub"}, flags: "P"},
	{programs: []string{"twine", "ncftpput", "ncftpget", "useradd", "usermod", "hydra", "crackmapexec", "netexec", "nxc", "evil-winrm", "smbmap", "security unlock-keychain", "security create-keychain", "snowsql", "steghide", "vsce"}, flags: "p"},
	{programs: []string{"security import"}, flags: "P"},
	{programs: []string{"slappasswd"}, flags: "s"},
	{programs: []string{"nuget push"}, flags: "k"},
	{programs: []string{"rar"}, prefix: "-hp"},
	{programs: []string{"add-generic-password", "add-internet-password"}, flags: "w"},
	{programs: []string{"ssh-keygen"}, flags: "NP"},
	{programs: []string{"snmpget", "snmpwalk", "snmpset", "snmpbulkwalk", "snmpgetnext", "snmptrap"}, flags: "AXc"},
	{programs: []string{"openssl"}, flags: "kK", prefix: "pass:"},
	{programs: []string{"xfreerdp", "wfreerdp"}, prefix: "/p:"},
	{programs: []string{"smbclient", "rpcclient", "smbget", "smbcacls", "smbtree", "net ads"}, flags: "U", joined: "U", mark: '%'},
	{programs: []string{"lftp"}, flags: "u", mark: ','},
	{programs: []string{"curl"}, flags: "uU", joined: "uU", mark: ':'},
	{programs: []string{"http", "https", "httpie", "xh", "xhs"}, flags: "a", mark: ':'},
	{programs: []string{"htpasswd", "mosquitto_passwd"}, operand: lastOperand, with: 'b'},
	{programs: []string{"add_user", "change_password", "authenticate_user"}, behind: []string{"rabbitmqctl"}, operand: 2},
	{programs: []string{"sqlplus"}, operand: 1, mark: '/'},
	{programs: []string{"mkpasswd"}, operand: lastOperand},
	{programs: []string{"openssl passwd", "cargo login", "encrypt_string", "bw unlock", "convertto-securestring"}, operand: 1},
	{programs: []string{"bw login", "samba-tool user create", "wpa_passphrase"}, operand: 2},
	{programs: []string{"htdigest"}, operand: 4},
	{programs: []string{"winrs"}, prefix: "-p:"},
	{programs: []string{"rclone"}, word: "pass"},
	{programs: []string{"rootpw"}, operand: 1},
	{programs: []string{"iwconfig"}, word: "key"},

	// secrets for programs that keep them
	{programs: []string{"kv put", "kv patch", "vault write"}, pairs: true},
	{programs: []string{"create secret"}, prefix: "--from-literal=", mark: '='},
	{programs: []string{"secret set"}, flags: "b", joined: "b", prefix: "--body="},
	{programs: []string{"keyvault secret set"}, prefix: "--value="},
	{programs: []string{"put-parameter"}, prefix: "--value=", needs: "SecureString"},
	{programs: []string{"create-secret", "put-secret-value"}, prefix: "--secret-string="},

	// the settings of routers and their daemons
	{programs: []string{"snmp-server community", "rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6", "key-string", "tacacs-server key", "radius-server key", "crypto isakmp key", "plain-text-password-value"}, operand: 1},
	{programs: []string{"enable secret", "enable password", "ascii-text"}, operand: 1, prose: true},
	{programs: []string{"radius-server host", "tacacs-server host"}, word: "key"},
	{programs: []string{"authentication-key", "message-digest-key"}, word: "md5"},
	{programs: []string{"chap", "pap", "neighbor"}, word: "password", prose: true},
	{programs: []string{"privilege"}, word: "secret", prose: true},
}

// commandBytes limits how much of a command line is read.
const commandBytes = 384

// A commandLine is the arguments of a program.
type commandLine struct {
	s    string
	end  int  // limit of the read text
	list bool // each argument is a separate string, followed by a comma
}

// findArgument finds the password in the arguments after the program s[from:to].
func (p passwordArgument) findArgument(s string, from, to int) span {
	if c := byteAt(s, from-1); !wordBegins(s, from) || commandNameBytes[c] && !escapedLetter(s, from-1) && !(c == ':' && digit[byteAt(s, from-2)]) { // a number of a line
		return span{}
	}
	if p.operand == 0 && !p.hasFlag(s[to:min(len(s), to+commandBytes)]) {
		return span{}
	}
	first := p.firstWord(s, from)
	if first < 0 {
		return span{}
	}
	if strings.HasPrefix(s[to:], ".exe") {
		to += len(".exe")
	}
	c := commandLine{s: s, end: min(len(s), to+commandBytes)}
	if p.needs != "" && !strings.Contains(s[to:c.end], p.needs) {
		return span{}
	}
	if quote := byteAt(s, to); quotes[quote] || quote == '\\' {
		c.list = byteAt(s, from-1) == s[openingQuote(s, to)-1] && openingQuote(s, to) > to
		to = openingQuote(s, to)
	}
	if !c.list && !blank[byteAt(s, to)] {
		return span{}
	}
	command := c.list || startsCommand(s, first)
	return p.firstPassword(c, to, command)
}

// commandNameBytes are the bytes of another program's name before the word.
var commandNameBytes = newByteSet(letters + digits + "_-.@:$")

// escapedLetter reports whether s[i] is the letter of an escape such as \n.
func escapedLetter(s string, i int) bool { return byteAt(s, i-1) == '\\' }

// firstWord returns the beginning of the command with the word at i, on a command
// line or in a list; -1 if none of the required words is before it.
func (p passwordArgument) firstWord(s string, i int) int {
	if p.behind == nil {
		return i
	}
	end := skipBack(s, i, &listBytes)
	start := skipBack(s, end, &dashed)
	if !slices.Contains(p.behind, strings.ToLower(s[start:end])) {
		return -1
	}
	end = skipBack(s, start, &listBytes)
	if before := skipBack(s, end, &dashed); s[before:end] == "az" || s[before:end] == "helm" {
		return before
	}
	return start
}

// listBytes are between the strings of a list.
var listBytes = newByteSet(" \t\r\n\"'`,")

// firstPassword returns the first password among the arguments from i on that is
// not replaced yet. command says whether the program is at the beginning of a
// command, not in a sentence.
func (p passwordArgument) firstPassword(c commandLine, i int, command bool) span {
	given := p.with == 0
	operands, last := 0, span{}
	for misses := 0; misses < 4; {
		arg, next := c.nextArgument(i)
		if arg.to == 0 {
			break
		}
		text := c.s[arg.from:arg.to]
		value, flag := p.flagOf(text)
		switch {
		case p.with != 0 && len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.IndexByte(text, p.with) > 0:
			given = true
		case flag && value < len(text):
			if x := p.passwordIn(c.s, span{arg.from + value, arg.to}, true); x.to > 0 {
				return x
			}
			misses++
		case flag:
			if arg, after := c.nextArgument(next); arg.to > 0 {
				if x := p.passwordIn(c.s, arg, command); x.to > 0 {
					return x
				}
				next = after
			}
			misses++
		case p.pairs:
			if n := strings.IndexByte(text, '='); n > 0 {
				if x := p.passwordIn(c.s, span{arg.from + n + 1, arg.to}, command); x.to > 0 {
					return x
				}
			}
			misses++
		case len(text) == 1 && digit[text[0]]: // of an encoding
		case text != "" && text[0] != '-':
			operands++
			last = arg
			if operands == p.operand && strings.IndexByte(text, '=') < 0 {
				return p.passwordIn(c.s, arg, command)
			}
		}
		i = next
	}
	if p.operand == lastOperand && given && (operands > 1 || p.with == 0) && !technical(c.s[last.from:last.to]) {
		return p.passwordIn(c.s, last, command)
	}
	return span{}
}

// commandPrograms are the rules of a program.
var commandPrograms = sync.OnceValue(func() map[string][]passwordArgument {
	rules := make(map[string][]passwordArgument)
	for _, p := range passwordArguments {
		for _, w := range p.programs {
			rules[w] = append(rules[w], p)
		}
	}
	return rules
})

// listedPassword returns the password among the arguments of the program s[from:to],
// which is a string of a list in JSON.
func listedPassword(s string, from, to int) span {
	if to-from > 16 || to > len(s) {
		return span{}
	}
	program := s[from:to]
	program = program[strings.LastIndexByte(program, '/')+1:]
	for _, p := range commandPrograms()[program] {
		if x := p.findArgument(s, to-len(program), to); x.to > 0 {
			return x
		}
	}
	return span{}
}

// hasFlag reports whether a flag or a prefix of p may be in a text. It is fast, and
// nearly always returns false.
func (p passwordArgument) hasFlag(text string) bool {
	if p.pairs {
		return strings.IndexByte(text, '=') > 0
	}
	if p.word != "" {
		return strings.Contains(text, " "+p.word+" ")
	}
	if p.mark != 0 && strings.IndexByte(text, p.mark) < 0 {
		return false
	}
	if p.prefix != "" && strings.Contains(text, p.prefix[:len(p.prefix)-1]) {
		return true
	}
	for {
		n := strings.IndexByte(text, '-')
		if n < 1 || n+1 == len(text) {
			return n == 0
		}
		if c := text[n+1]; !alnum[text[n-1]] && (c == '-' || p.mark == ':' || strings.IndexByte(p.flags, c) >= 0 || strings.IndexByte(p.joined, c) >= 0) {
			return true
		}
		text = text[n+1:]
	}
}

// flagOf reports whether an argument is a flag for a password, and where the
// password begins in it; at its end, it is the next argument.
func (p passwordArgument) flagOf(text string) (value int, flag bool) {
	if rest, ok := strings.CutPrefix(text, p.prefix); ok && p.prefix != "" {
		return len(text) - len(rest), true
	}
	if p.word != "" && text == p.word || p.prefix == text+"=" {
		return len(text), true
	}
	if len(text) < 2 || text[0] != '-' {
		return 0, false
	}
	switch {
	case text[1] == '-': // other rules handle one with an equals sign
		return len(text), strings.HasSuffix(text, "pass") || strings.HasSuffix(text, "password")
	case strings.IndexByte(p.flags, text[1]) >= 0 && len(text) == 2:
		return 2, true
	case strings.IndexByte(p.flags, text[1]) >= 0 && text[2] == '=':
		return 3, true
	case strings.IndexByte(p.joined, text[1]) >= 0 && len(text) > 2:
		return 2, true
	case p.mark == ':' && len(text) < 6 && strings.IndexByte(p.flags, text[len(text)-1]) >= 0: // -su user:password
		return len(text), true
	}
	return 0, false
}

// nextArgument returns the argument at or after i, without its quotes, and where
// the next one may begin. A zero span says that the command ends.
func (c commandLine) nextArgument(i int) (arg span, next int) {
	s := c.s[:c.end]
	if c.list {
		i = skipBytes(s, i, &space)
		if byteAt(s, i) != ',' {
			return span{}, i
		}
		i = skipBytes(s, i+1, &space)
		if v, ok := quotedAt(s, i); ok {
			return span{v.from, max(v.from, v.to)}, v.after
		}
		return span{}, i
	}
	i = skipBlanks(s, i)
	if byteAt(s, i) == '\\' && skipNewline(s, i+1) > i+1 {
		i = skipMargin(s, skipNewline(s, i+1))
	}
	if i >= len(s) || strings.IndexByte("\r\n|;&)<>`", s[i]) >= 0 && !strings.HasPrefix(s[i:], Mark) {
		return span{}, i
	}
	if to := skipBytes(s, i, &plainArgument); to > i && blank[byteAt(s, to)] {
		return span{i, to}, to
	}
	v := valueAt(s, i)
	to := max(v.from, v.to)
	switch n := escapedBreak(s[v.from:to]); {
	case v.quoted && strings.IndexByte(s[v.from:to], '\n') >= 0:
		return span{}, i // the text around the command ends here
	case !v.quoted && n >= 0:
		return span{v.from, v.from + n}, len(s)
	case !v.quoted && (quotes[byteAt(s, to)] || byteAt(s, to) == '\\'):
		return span{v.from, to}, len(s)
	}
	return span{v.from, to}, max(v.after, i+1)
}

// plainArgument are the bytes of an argument that needs no quotes.
var plainArgument = newByteSet(letters + digits + "_-./:=@%+,")

// passwordIn returns the part of an argument that is a password. A word of letters
// alone is one only in a command.
func (p passwordArgument) passwordIn(s string, arg span, command bool) span {
	if p.mark != 0 {
		n := strings.IndexByte(s[arg.from:arg.to], p.mark)
		if n < 1 {
			return span{}
		}
		arg.from += n + 1
		if p.mark == '/' { // user/password@database
			if n := strings.LastIndexByte(s[arg.from:arg.to], '@'); n > 0 {
				arg.to = arg.from + n
			}
		}
	}
	text := s[arg.from:arg.to]
	if open := openingQuote(text, 0); open > 0 && p.mark == 0 && open < len(text) { // -p'password'
		arg.from += open
		arg.to -= len(text) - len(strings.TrimRight(text, text[open-1:open]))
		text = s[arg.from:max(arg.from, arg.to)]
	}
	if isNoArgument(text) || p.prose && !unlikeWords(text) || !command && skipBytes(text, 0, &letterBytes) == len(text) {
		return span{}
	}
	return arg
}

// isNoArgument reports whether a text in place of a password is not one: it is
// replaced already, a variable, a placeholder, or another flag.
func isNoArgument(text string) bool {
	return len(text) < 3 || strings.IndexByte(" \"'", text[0]) >= 0 || strings.Contains(text, Mark) || text[0] == '-' || text[0] == '$' && !digit[text[1]] || isPlaceholder(text) || isTemplate(text) ||
		argumentWords[strings.ToLower(text)] || strings.ToUpper(text) == text && skipBytes(text, 0, &nameBytes) == len(text)
}

var (
	nameBytes     = newByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
	argumentWords = newWordSet("password passwd pass pwd token secret key value text string public word name file option options flag flags switch argument arguments parameter port the and for with from into that which when")
)

// startsCommand reports whether a command begins with the word at i: at the
// beginning of a line, after a prompt, a separator, a quote, or a program that runs
// others.
func startsCommand(s string, i int) bool {
	for k := skipBack(s, i, &pathBytes); k < i; k++ {
		if s[k] == '/' {
			i = k
			break
		}
	}
	before := escapedLine(s[lineStart(s, i):i])
	before = strings.TrimRight(before[min(len(before), skipMargin(before, 0)):], " \t")
	if n := len(before); before == "" || before[n-1] == ':' && n > 1 && digit[before[n-2]] || strings.IndexByte("$#%>;|&(\"'`{=", before[len(before)-1]) >= 0 {
		return true
	}
	last := before[skipBack(before, len(before), &dashed):]
	return runningWords[strings.ToLower(last)] || strings.Contains(before, "exec ") || strings.IndexByte(before[strings.LastIndexByte(before, ' ')+1:], '=') > 0
}

var (
	pathBytes    = newByteSet(letters + digits + "_-./")
	runningWords = newWordSet("ansible-vault vault kubectl oc gh az aws ssm secretsmanager dotnet security sudo exec run env time nice nohup then do else xargs cmd entrypoint timeout watch")
)

// readers are programs that read a password from a pipe, or from the string after
// <<<.
var readers = []string{"--password-stdin", "--with-token", "sudo -S", "chpasswd", "passwd --stdin", "passwd -stdin", "kinit", "cryptsetup ", "smbpasswd -s", "su - ", "| passwd ", "| sudo passwd ", "--passphrase-fd 0", "read -s", "vncpasswd -f",
	"secret create", "secret set", "secret put", "secrets create", "secrets versions add", "secret-tool store", "pass insert", "env add", "password=/dev/stdin", "token=/dev/stdin", "secret=/dev/stdin"}

func reads(text string) bool {
	return slices.ContainsFunc(readers, func(reader string) bool { return strings.Contains(text, reader) })
}

// pipedPassword finds the output of echo or printf for a program that reads a
// password.
func pipedPassword(s string, from, to int) span {
	if !wordBegins(s, from) {
		return span{}
	}
	c := commandLine{s: s, end: min(len(s), to+commandBytes)}
	i, last := to-1, span{}
	for range 8 {
		arg, next := c.nextArgument(i)
		if arg.to == 0 {
			i = next
			break
		}
		last, i = arg, next
	}
	i = skipBlanks(s, i)
	rest, _, _ := strings.Cut(s[i:min(len(s), i+256)], "\n")
	if last.to == 0 || byteAt(s, i) != '|' || !reads(rest) {
		if rest != "" && rest[0] == '>' && keepsPassword(rest) {
			return writtenPassword(s, last)
		}
		return span{}
	}
	return handedPassword(s, last, rest)
}

// keepsPassword reports whether text redirects to a file for a password.
func keepsPassword(text string) bool {
	file := strings.TrimLeft(text, "> \"'")
	if end := strings.IndexAny(file, " \"';&|"); end >= 0 {
		file = file[:end]
	}
	lower := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	return strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "token") || strings.Contains(file, "/run/secrets/")
}

// writtenPassword returns the text that is written to the file for a password.
func writtenPassword(s string, arg span) span {
	if text := s[arg.from:arg.to]; isNoArgument(text) || !unlikeWords(text) || strings.ContainsAny(text, "|<>=") {
		return span{}
	}
	return arg
}

// herePassword finds the string after <<< for a program that reads a password.
func herePassword(s string, from, to int) span {
	before := s[lineStart(s, from):from]
	if !reads(before) {
		return span{}
	}
	c := commandLine{s: s, end: min(len(s), to+commandBytes)}
	arg, _ := c.nextArgument(to)
	if arg.to == 0 {
		return span{}
	}
	return handedPassword(s, arg, before)
}

// handedPassword returns the part of a text that is a password for a program that
// may expect the user before it.
func handedPassword(s string, arg span, program string) span {
	if strings.Contains(program, "chpasswd") {
		n := strings.IndexByte(s[arg.from:arg.to], ':')
		if n < 1 {
			return span{}
		}
		arg.from += n + 1
	}
	if text := s[arg.from:arg.to]; isNoArgument(text) || strings.ContainsAny(text, "|<>") {
		return span{}
	}
	return arg
}

// sharePassword finds the password of net use and net user, of Windows.
func sharePassword(s string, from, to int) span {
	line, _, _ := strings.Cut(s[to:min(len(s), to+commandBytes)], "\n")
	lower := strings.ToLower(line)
	share := strings.HasSuffix(strings.ToLower(s[from:to]), "use ")
	if !startsCommand(s, from) || share && !strings.Contains(lower, "/user:") {
		return span{}
	}
	added := share || strings.Contains(lower, "/add")
	c := commandLine{s: s, end: to + len(line)}
	operands := 0
	for i := to - 1; ; {
		arg, next := c.nextArgument(i)
		if arg.to == 0 {
			return span{}
		}
		text := s[arg.from:arg.to]
		switch {
		case text == "" || text[0] == '/' || text[0] == '\\' || text == "*" || len(text) == 2 && text[1] == ':':
		case !share && operands == 0: // the user
			operands++
		case isNoArgument(text), !added && !unlikeWords(text):
			return span{}
		default:
			return arg
		}
		i = next
	}
}
