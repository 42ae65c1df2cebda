package embed

// bertCounts are texts with their tokens according to all-MiniLM's tokenizer,
// without the two that frame every text.
var bertCounts = []struct {
	name, text string
	tokens     int
}{
	{"prose", "The parser lost its token because the lexer had already read past the end of the line. We should keep one token of lookahead and give it back when the rule does not match.", 40},
	{"go", "func (s *Session) AddMessage(ctx context.Context, m chat.Message) (Report, error) {\n\tif err := m.Check(); err != nil {\n\t\treturn Report{}, fmt.Errorf(\"add message: %w\", err)\n\t}\n\treturn s.add(ctx, m)\n}\n", 81},
	{"json", "{\"path\": \"internal/server/handler_test.go\", \"offset\": 120, \"limit\": 40, \"old_string\": \"\\tif got != want {\\n\\t\\tt.Errorf(\\\"got %d\\\", got)\\n\", \"replace_all\": false}", 76},
	{"escaped json", "\"{\\\"text\\\": \\\"a \\\\\\\"quoted\\\\\\\" word\\\\n\\\\tand a tab\\\", \\\"n\\\": [1, 22, 333]}\"", 48},
	{"typescript", "export const useSessionStore = create<SessionState>((set, get) => ({\n  messages: [],\n  isStreaming: false,\n  appendDelta: (id, delta) => set(s => ({ messages: s.messages.map(m => m.id === id ? { ...m, text: m.text + delta } : m) })),\n}));", 98},
	{"log", "2026-03-04T05:06:07.890Z WARN  pool-3-thread-17 c.e.gateway.RetryFilter : attempt 2/5 for GET http://10.0.12.7:8443/api/v2/orders?id=99812 failed in 1503 ms (503)", 79},
	{"test output", "=== RUN   TestParseConfig/missing_key\n--- FAIL: TestParseConfig (0.00s)\n    config_test.go:88: got \"\", want \"debug\"\nFAIL\texample.com/app/internal/config\t0.012s\n", 68},
	{"listing", "drwxr-xr-x  2 dev dev  4096 Mar  4 05:06 testdata\n-rw-r--r--  1 dev dev 18231 Mar  4 05:06 session.go\n-rw-r--r--  1 dev dev   912 Mar  4 05:06 doc.go\n", 69},
	{"diff", "@@ -12,7 +12,9 @@ func main() {\n-\tlog.Fatal(run(os.Args))\n+\tif err := run(os.Args[1:]); err != nil {\n+\t\tos.Exit(1)\n+\t}\n", 65},
	{"hex", "1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f5302860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75", 90},
	{"base64", "Umd2iCLuYk1I/OFexcp5y9YCy39MIVelFlVpkfIu+Me173sY0f9BxZNw77CFhlHUSpNsEbexRMSP4E3zxqPo2qzCjbK+t7QrqhywJD1AHMtOP85E17AoeaUnmarf9UFSLYgiWYsvpmT51RVsAMkkgF11w4aL1Wwqy4HTfpjjWtw=", 120},
	{"uuid", "3f2b8c1e-9d47-4a60-b1f5-7c8e2d9a0b64 5e1d7f90-2b3c-4d8a-9e6f-0a1b2c3d4e5f", 64},
	{"digits", "3141592653589793 2384626433 83279 50288 4197169399375105820974944", 37},
	{"chinese", "我们应该在解析器里保留一个标记，否则下一条规则会丢失它。", 30},
	{"japanese", "パーサーがトークンを失う理由を調べて、テストを追加してください。", 15},
	{"russian", "Парсер теряет последний токен, потому что лексер уже прочитал конец строки.", 57},
	{"german", "Der Zerteiler verliert das letzte Zeichen, weil die Länge der Zeile nicht geprüft wird.", 30},
	{"markdown", "## Steps\n\n1. Run `make test` and read **all** of its output.\n2. See [the guide](docs/guide.md#tests).\n\n| name | value |\n|------|-------|\n| port | 9090 |\n", 67},
	{"box drawing", "│   ├── cmd\n│   │   └── main.go\n└── go.mod\n", 14},
	{"rule", "----------------------------------------===========================", 67},
	{"sql", "SELECT u.id, COUNT(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id WHERE o.created_at >= '2026-01-01' GROUP BY u.id HAVING COUNT(*) > 3;", 57},
	{"minified", "!function(e,t){\"object\"==typeof exports?module.exports=t():e.x=t()}(this,function(){return n={},r=function(e){return e&&e.__esModule?e:{default:e}}});", 78},
}
