package embed

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// A chunk is cut at 90 % of the window, so an estimate may be a tenth too low.
func TestEstimateIsSafeForAllKindsOfText(t *testing.T) {
	for _, test := range bertCounts {
		got := estimateTokens(test.text)
		if low, high := test.tokens*9/10, test.tokens*9/4; got < low || got > high {
			t.Errorf("%s: %d tokens estimated, BERT counts %d", test.name, got, test.tokens)
		}
	}
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func TestChunkTokensLeaveRoomForThePrefix(t *testing.T) {
	for _, test := range []struct {
		window int
		prefix string
		want   int
	}{
		{0, "", 458}, {512, "", 458}, {2048, "", 1841}, {8192, "", 1898}, {1 << 30, "", 1898}, {-5, "", 458},
		{512, "search_document: ", 452}, {10, "", 8}, {512, strings.Repeat("long ", 1000), 8},
	} {
		if got := chunkTokens(test.window, test.prefix); got != test.want {
			t.Errorf("window %d, prefix %.20q: %d, want %d", test.window, test.prefix, got, test.want)
		}
	}
}

func TestSplitEndsChunksAtLinesThenSpacesThenRunes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		size       int
		want       []string
	}{
		{"nothing", "", 5, []string{""}},
		{"fits", "two words", 5, []string{"two words"}},
		{"lines", "aa bb\ncc dd\nee ff\n", 5, []string{"aa bb\ncc dd\n", "ee ff\n"}},
		{"a line end too far up", "a\nbb cc dd ee ff gg", 5, []string{"a\nbb cc dd ", "ee ff gg"}},
		{"spaces", "aa bb cc dd ee", 3, []string{"aa bb ", "cc dd ", "ee"}},
		{"runes", "日本語日本語", 2, []string{"日本", "語日", "本語"}},
		{"one rune is too much", "日本", 0, []string{"日", "本"}},
		{"no UTF-8", "\xff\xfe\xff", 2, []string{"\xff\xfe", "\xff"}},
	} {
		if got := splitChunks(test.text, test.size); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestALongTextKeepsItsHeadItsTailAndEvenStepsBetween(t *testing.T) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("%03d\n", i))
	}
	var got []string
	for _, c := range splitChunks(strings.Join(lines, ""), 2) {
		got = append(got, strings.TrimSpace(c))
	}
	want := "000 001 002 003 004 005 006 007 008 069 131 192 254 315 377 438 500 561 623 684 746 807 869 930 992 993 994 995 996 997 998 999"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("some words\nand a line", 3)
	f.Add("日本語\xff\x80\x80\x80\x80\x80", 1)
	f.Add(strings.Repeat("\n", 100), 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%500)
		chunks := splitChunks(text, size)
		if len(chunks) > maxChunks || len(chunks) == 0 {
			t.Fatalf("%d chunks", len(chunks))
		}
		if whole := strings.Join(chunks, ""); len(chunks) < maxChunks && whole != text {
			t.Errorf("the chunks are %q", whole)
		}
		for _, c := range chunks {
			if c == "" && text != "" || utf8.ValidString(text) && !utf8.ValidString(c) {
				t.Errorf("chunk %q", c)
			}
			if n := estimateTokens(c); n > size && utf8.RuneCountInString(c) > 1 {
				t.Errorf("%d tokens in %q, at most %d were asked for", n, c, size)
			}
			if len(c) < minChunk {
				continue
			}
			half := halveChunk(c)
			if half[0]+half[1] != c || len(half[0]) < len(c)/5 || len(half[1]) < len(c)/5 {
				t.Errorf("halves of %q: %q", c, half)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	var log strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&log, "2026-01-02 03:04:05 handler %d answered in %d ms\n", i%50, i)
	}
	for name, text := range map[string]string{
		"log": log.String()[:10_000_000], "base64": base64.StdEncoding.EncodeToString(noise(7_500_000)), "blank": strings.Repeat(" ", 10_000_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				splitChunks(text, 458)
			}
		})
	}
}
