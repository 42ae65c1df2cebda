package tokens

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A counter with a memo counts as without: for every model, and for texts that share
// lines.
func TestMemoCountsTheSame(t *testing.T) {
	t.Parallel()
	lines := rapid.OneOf(rapid.String(), rapid.StringMatching(`( |\t){0,3}(//|/|#|'s|"|[a-z]{1,9}|[0-9]{1,5}|[);]{1,3}){0,6}\r?`))
	for _, model := range []string{"", "gpt-4o", "qwen3", "text-davinci-003"} {
		c, err := ForModel(model)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			memo := c.WithMemo()
			shared := strings.Repeat(strings.Join(rapid.SliceOfN(lines, 1, 40).Draw(t, "lines"), "\n"), 20)
			for range 3 {
				text := rapid.String().Draw(t, "before") + shared + rapid.String().Draw(t, "after")
				if got, want := memo.Text(text), c.Text(text); got != want {
					t.Fatalf("%s: %d tokens, want %d, in %q", model, got, want, text)
				}
			}
		})
	}
}
