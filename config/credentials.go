package config

import (
	"slices"
	"strings"
)

// isCredential reports whether a name is typical of credentials: api_key, accessToken,
// password. Names that only count tokens, such as max_tokens, are not.
func isCredential(name string) bool {
	name = name[strings.LastIndexByte(name, '.')+1:]
	words := strings.FieldsFunc(strings.ToLower(snakeCase(name)), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	for len(words) > 1 && slices.Contains(credentialTails, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if last == "key" || last == "keys" {
		return len(words) > 1 && slices.Contains(keyOwners, words[len(words)-2])
	}
	if strings.HasSuffix(last, "token") {
		return !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(countingWords, w) })
	}
	return slices.ContainsFunc(credentialWords, func(w string) bool { return strings.HasSuffix(last, w) })
}

var (
	// credentialWords end the names of credentials.
	credentialWords = []string{"secret", "password", "passwd", "passphrase", "credential", "credentials", "bearer", "apikey", "accesskey", "secretkey", "privatekey", "authorization"}
	// credentialTails may follow them.
	credentialTails = []string{"id", "value", "file", "path", "env"}
	// keyOwners precede key in names of credentials.
	keyOwners = []string{"api", "access", "secret", "private", "auth", "account", "master", "signing", "aws", "openai", "anthropic", "server"}
	// countingWords accompany tokens that a model reads.
	countingWords = []string{"max", "min", "limit", "budget", "count", "num", "per", "context", "window", "input", "output", "prompt", "total", "summary"}
)

func remedyFor(name string) string {
	low := strings.ToLower(name)
	if strings.Contains(low, "archive") || strings.Contains(low, "s3") || strings.Contains(low, "access") || strings.Contains(low, "secret") {
		return "S3 takes them from the standard chain: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared credentials file, the role of the machine"
	}
	return "put the key of a server into the environment, as COMPACT_API_KEY"
}
