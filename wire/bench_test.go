package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// session returns the JSON of a chat of n turns, each with a call and a result
// of about 2 kB with escapes in it.
func session(n int) string {
	code := strings.Repeat(`\tif err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n`, 25)
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"system","content":"You write code."}`)
	for i := range n {
		fmt.Fprintf(&b, `,
 {"role":"user","content":"please read file%d.go"},
 {"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"file%d.go\"}"}}]},
 {"role":"tool","tool_call_id":"call_%d","content":"%s"},
 {"role":"assistant","content":"It returns the error, wrapped with the name."}`, i, i, i, i, code)
	}
	b.WriteString("]}\n")
	return b.String()
}

var lengths = []int{100, 1000, 10000}

func messages(n int) string { return fmt.Sprint("messages=", n) }

func BenchmarkDecode(b *testing.B) {
	for _, n := range lengths {
		data := []byte(session(n / 4))
		b.Run(messages(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeBytes(data, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range lengths {
		text := session(n / 4)
		c := decoded(b, text)
		for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
			b.Run(messages(n)+"/"+to, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := Encode(io.Discard, c, to); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkHostile reads inputs that would take forever if any step were quadratic.
func BenchmarkHostile(b *testing.B) {
	call := `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	calls := `{"role":"assistant","content":null,"tool_calls":[` + strings.Repeat(call+",", 20000) + call + `]}`
	result := `,{"role":"tool","tool_call_id":"a","content":"r"}`
	for name, text := range map[string]string{
		"open brackets":   strings.Repeat("[", 1<<20),
		"broken lines":    strings.Repeat("{\"role\":[\n", 1<<17),
		"backslashes":     `[{"role":"user","content":"` + strings.Repeat(`\\`, 1<<19) + `"}]`,
		"quotes":          `[{"role":"user","content":"` + strings.Repeat(`\"`, 1<<19) + `"}]`,
		"bad elements":    `[` + strings.Repeat("{},\n", 1<<18) + `{}]`,
		"keys":            `{"messages":[],` + strings.Repeat(`"a":1,`, 1<<17) + `"b":1}`,
		"calls of one id": "[" + calls + strings.Repeat(result, 20000) + "]",
		"results first":   `[{"role":"user","content":"a"}` + strings.Repeat(result, 1<<14) + "]",
		"blocks":          `[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 1<<15) + `"x"]}]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c, err := DecodeBytes([]byte(text), Options{Lenient: true, Format: "openai"})
				if err != nil {
					c, err = DecodeBytes([]byte(text), Options{Lenient: true, Format: "jsonl"})
				}
				if err != nil {
					continue
				}
				for i := range c.Messages {
					c.Messages[i].Changed = true
				}
				for _, to := range []string{"openai", "anthropic", "ollama"} {
					if err := Encode(io.Discard, c, to); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
