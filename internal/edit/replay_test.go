package edit_test

import (
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

func TestReplay(t *testing.T) {
	full := talk("u a u a u a u a")
	first := edit.Round{Seen: 4, Sum: edit.Sum(full[:4]), Steps: [][]edit.Edit{{drop(0, 2)}, {put(0, 1, named("x", message("u")))}}}
	second := edit.Round{Seen: 6, Sum: edit.Sum(full[:6]), Steps: [][]edit.Edit{{drop(1, 3)}}} // of x 3 4 5
	changed := func(i int) chat.Transcript {
		out := slices.Clone(full)
		out[i] = with(full, i, says("other"))
		return out
	}
	renamed := slices.Clone(full)
	for i := range renamed {
		renamed[i].ID += "'"
	}
	bad := edit.Round{Seen: 6, Sum: second.Sum, Steps: [][]edit.Edit{{drop(3, 9)}}}
	less := edit.Round{Seen: 2, Sum: edit.Sum(full[:2])}
	tests := []struct {
		name   string
		t      chat.Transcript
		rounds []edit.Round
		want   string
		fit    int
	}{
		{"no rounds", full, nil, "01234567", 0},
		{"nothing", nil, nil, "", 0},
		{"grown", full, []edit.Round{first, second}, "x567", 2},
		{"as last seen", full[:6], []edit.Round{first, second}, "x5", 2},
		{"taken back behind the first round", full[:5], []edit.Round{first, second}, "x34", 1},
		{"taken back before the first round", full[:3], []edit.Round{first, second}, "012", 0},
		{"changed behind all rounds", changed(6), []edit.Round{first, second}, "x567", 2},
		{"changed late", changed(5), []edit.Round{first, second}, "x34567", 1},
		{"changed early", changed(0), []edit.Round{first, second}, "01234567", 0},
		{"other ids", renamed, []edit.Round{first, second}, "x5'6'7'", 2},
		{"a new conversation", talk("s u a"), []edit.Round{first, second}, "012", 0},
		{"edits that do not fit", full, []edit.Round{first, bad}, "x34567", 1},
		{"a round that saw less than the one before", full, []edit.Round{first, less}, "x34567", 1},
	}
	for _, test := range tests {
		before := ids(test.t)
		out, fit := edit.Replay(test.t, test.rounds)
		if ids(out) != test.want || len(fit) != test.fit {
			t.Errorf("%s: %s by %d rounds, want %s by %d", test.name, ids(out), len(fit), test.want, test.fit)
		}
		if ids(test.t) != before {
			t.Errorf("%s: the original was changed", test.name)
		}
	}
}

func TestSumDistinguishesContents(t *testing.T) {
	base := talk("u c1 r1 a")
	image := slices.Clone(base)
	image[0].Parts = append(slices.Clone(image[0].Parts), chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: "AA"}})
	url := slices.Clone(base)
	url[0].Parts = append(slices.Clone(url[0].Parts), chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", URL: "AA"}})
	change := func(i int, f func(*chat.Part)) chat.Transcript {
		out := slices.Clone(base)
		out[i] = with(base, i, f)
		return out
	}
	sums := make(map[string]int)
	for i, other := range []chat.Transcript{
		nil, base, base[:3], image, url, talk("u c1 r1 s"), talk("u c2 r2 a"),
		change(0, says("other")), change(1, args("{}")),
		change(1, func(p *chat.Part) { p.Name = "rm" }), change(2, func(p *chat.Part) { p.Kind = chat.Thinking }),
		change(1, func(p *chat.Part) { p.Name, p.Args = "run{", p.Args[1:] }),
	} {
		sum := edit.Sum(other)
		if k, twice := sums[sum]; twice {
			t.Errorf("conversations %d and %d have one sum", k, i)
		}
		sums[sum] = i
	}
}

func TestSumOfOneContentIsOne(t *testing.T) {
	base := talk("u a")
	renamed := talk("s u a")[1:] // other ids
	marked := talk("u a")
	marked[0].Protected, marked[1].State, marked[1].Parts[0].Raw = true, chat.Outlined, "{}"
	block, text := talk("u a"), talk("u a")
	block[1].Parts[0] = chat.Part{Kind: chat.Summary, Text: "<COMPACT-SUMMARY v1>\nso far"}
	text[1].Parts[0] = chat.Part{Kind: chat.Text, Text: "<COMPACT-SUMMARY v1>\nso far"} // as decoded
	for name, pair := range map[string][2]chat.Transcript{
		"ids": {base, renamed}, "marks": {base, marked}, "a summary as block and as text": {block, text},
	} {
		if edit.Sum(pair[0]) != edit.Sum(pair[1]) {
			t.Errorf("%s: two sums", name)
		}
	}
}
