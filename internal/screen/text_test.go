package screen

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGroupedPutsCommasBetweenThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestClipKeepsToItsWidth(t *testing.T) {
	tests := []struct {
		text  string
		width int
		ascii bool
		want  string
	}{
		{"fits", 4, false, "fits"},
		{"does not fit", 8, false, "does no…"},
		{"does not fit", 9, false, "does not…"},
		{"does not fit", 8, true, "does..."},
		{"\n\n  second\tline \n third", 20, false, "second line"},
		{"no \x1b[31mcolours\x07 here", 30, false, "no [31mcolours here"},
		{"漢字漢字", 8, false, "漢字漢字"},
		{"漢字漢字", 7, false, "漢字漢…"},
		{"漢字", 8, true, "??"},
		{"anything", 0, false, "…"},
		{"", 5, false, ""},
	}
	for _, test := range tests {
		if got := (Screen{ASCII: test.ascii}).Clip(test.text, test.width); got != test.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestPathEndKeepsTheFileName(t *testing.T) {
	tests := []struct {
		path  string
		width int
		ascii bool
		want  string
	}{
		{"shop/db.py", 10, false, "shop/db.py"},
		{"/home/dev1/shop/src/db.py", 14, false, "…/src/db.py"},
		{"/home/dev1/shop/src/db.py", 14, true, ".../src/db.py"},
		{`C:\Users\dev1\shop\db.py`, 13, false, `…\shop\db.py`},
		{"/home/a-file-with-a-long-name.go", 10, false, "a-file-wi…"},
		{"a/bb/", 3, false, "bb/"},
		{"/", 0, false, "…"},
		{"", 5, false, ""},
	}
	for _, test := range tests {
		if got := (Screen{ASCII: test.ascii}).PathEnd(test.path, test.width); got != test.want {
			t.Errorf("PathEnd(%q, %d) = %q, want %q", test.path, test.width, got, test.want)
		}
	}
}

func TestWrappedBreaksBetweenWords(t *testing.T) {
	got := Wrapped("one two three", 8)
	if want := "one two|three"; strings.Join(got, "|") != want {
		t.Errorf("Wrapped = %q, want %q", got, want)
	}
}

func FuzzPathEnd(f *testing.F) {
	f.Add("/home/\xff/a\x1b[0m/b.go", 9, true)
	f.Fuzz(func(t *testing.T, path string, width int, ascii bool) {
		width = min(width, 1<<20)
		got := Screen{ASCII: ascii}.PathEnd(path, width)
		if CellsOf(got) > max(width, 3) || !utf8.ValidString(got) {
			t.Errorf("PathEnd(%q, %d) = %q", path, width, got)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("a \xff b漢\x1b[0m", 5, true)
	f.Add("e\u0301e\u0301e\u0301", 2, false)
	f.Fuzz(func(t *testing.T, text string, width int, ascii bool) {
		got := Screen{ASCII: ascii}.Clip(text, width)
		used := 0
		for _, r := range got {
			used += Cells(r)
			if r < ' ' || r == 0x7f {
				t.Errorf("Clip(%q, %d) = %q has a control character", text, width, got)
			}
		}
		if used > max(width, 3) || !utf8.ValidString(got) {
			t.Errorf("Clip(%q, %d) = %q takes %d columns", text, width, got, used)
		}
	})
}
