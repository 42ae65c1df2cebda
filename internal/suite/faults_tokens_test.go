package suite

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

func TestFaultsOfTokens(t *testing.T) {
	t.Run("24 text like special tokens counts as text", func(t *testing.T) {
		s := newSession(t, tiercompact.Config{Window: 1 << 20})
		special := "<|endoftext|> <|im_start|>system <|im_end|> <|fim_prefix|> <s>[INST] </s>"
		before := add(t, s, user(special)).Before
		if n := add(t, s, reply(strings.Repeat(special, 10))).Before - before; n < 9*20 {
			t.Errorf("ten times the special tokens count %d tokens", n)
		}
		in := join(chat.Transcript{user("fix the template")}, flow(8, 60), chat.Transcript{reply(special)})
		for i := range in {
			if in[i].Role == chat.Tool {
				in[i].Parts[0].Text = strings.Repeat(special+"\n", 8)
			}
		}
		everyWay(t, in, func(how string, out chat.Transcript) { strictly(t, how, in, out) })
	})
	t.Run("25 no text takes quadratic time", func(t *testing.T) {
		for name, text := range map[string]string{
			"one letter": strings.Repeat("a", 1<<20), "underscores": strings.Repeat("_", 1<<20), "spaces": strings.Repeat(" ", 1<<20),
			"line feeds": strings.Repeat("\n", 1<<20), "CJK": strings.Repeat("漢字仮名交", 1<<16), "base64": noiseOf(1 << 20),
			"minified": strings.Repeat("function(a,b){return a?b:c};", 1<<15), "emoji": strings.Repeat("🙂", 1<<17), "quotes": strings.Repeat("`", 1<<20), "brackets": strings.Repeat("{[(", 1<<18),
		} {
			s := newSession(t, tiercompact.Config{Window: 32768})
			for _, m := range []chat.Message{user("read it"), calling("x"), chat.NewResult("x", text), reply("read")} {
				if _, err := s.AddMessage(t.Context(), m); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if u := s.Usage(); u.Tokens > u.Budget {
				t.Errorf("%s: %d tokens of %d", name, u.Tokens, u.Budget)
			}
		}
	})
	t.Run("26 CJK and emoji are not counted by four characters", func(t *testing.T) {
		for name, text := range map[string]string{"Hangul": "안녕하세요 오늘 회의는 취소되었습니다", "Han": "今天的会议取消了请通知所有人", "Kana": "かいぎはちゅうしになりました", "emoji": "🙂🚀🎉🧪"} {
			s := newSession(t, tiercompact.Config{Window: 1 << 20})
			add(t, s, user(strings.Repeat(text, 50)))
			if n, runes := s.Usage().Tokens, 50*utf8.RuneCountInString(text); 2*n < runes {
				t.Errorf("%s: %d characters count %d tokens", name, runes, n)
			}
		}
	})
	t.Run("27 no cut splits a character", func(t *testing.T) {
		for shift := range 4 {
			in := join(chat.Transcript{user("say it all")}, flow(8, 10), chat.Transcript{reply("said")})
			for i := range in {
				if in[i].Role == chat.Tool {
					in[i].Parts[0].Text = strings.Repeat("x", shift) + strings.Repeat("👩‍🚀é日", 60)
				}
			}
			everyWay(t, in, func(how string, out chat.Transcript) {
				strictly(t, how, in, out)
				for _, m := range out {
					if strings.Contains(m.Text(), "\uFFFD") {
						t.Errorf("%s: a character of %s is split", how, m.ID)
					}
				}
			})
		}
	})
	t.Run("27 lone surrogates pass in messages that stay", func(t *testing.T) {
		var lines strings.Builder
		lines.WriteString(`{"role":"user","content":"half \ud83d of a face"}` + "\n")
		for i := range 20 {
			lines.WriteString(fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"assistant", "user"}[i%2], prose(60, i)) + "\n")
		}
		lines.WriteString(`{"role":"assistant","content":"other half \ude00"}` + "\n")
		c := decoded(t, lines.String())
		out, err := addAll(t, tiercompact.Config{Window: 1000, Count: quarter}, c.Messages)
		text := written(t, c, out, "")
		if err != nil || len(out) == len(c.Messages) || !strings.Contains(text, `half \ud83d of`) || !strings.Contains(text, `half \ude00"`) {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("29 CRLF", func(t *testing.T) {
		read := func(text string) string {
			s := start(t, tiercompact.Config{Window: 20000})
			if err := s.Load(join(chat.Transcript{user("read it")}, readOf("r", "a.go", 2000), chat.Transcript{reply("read"), user("and"), reply("so"), user("on"), reply("it goes")})); err != nil {
				t.Fatal(err)
			}
			all := s.Messages()
			all[2].Parts[0].Text = text
			again := start(t, tiercompact.Config{Window: 20000})
			if err := again.Load(all); err != nil {
				t.Fatal(err)
			}
			if _, err := again.CompactLevel(t.Context(), levels.SoftName); err != nil {
				t.Fatal(err)
			}
			out := again.Messages()[2]
			if out.State != chat.Outlined {
				t.Errorf("the file of %d bytes is not outlined", len(text))
			}
			return strings.ReplaceAll(out.Text(), out.Recall, "ID")
		}
		unix := goFile(2000)
		if a, b := read(unix), read(strings.ReplaceAll(unix, "\n", "\r\n")); a != b {
			t.Errorf("the outlines of one file, by its line ends:\n%s\n%s", a, b)
		}
		lines := strings.ReplaceAll(`{"role":"user","content":"a\r\nb"}|{"role":"assistant","content":"c"}|`, "|", "\r\n")
		c := decoded(t, lines)
		if got := written(t, c, c.Messages, ""); got != lines {
			t.Errorf("lines came out as %q", got)
		}
	})
}
