package tokens

import (
	"fmt"
	"sync"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// retiredPieces is how the encodings before cl100k_base split a text.
const retiredPieces = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

var (
	loadP50K = sync.OnceValues(func() (*Encoding, error) { return newRetired(P50K) })
	loadR50K = sync.OnceValues(func() (*Encoding, error) { return newRetired(R50K) })
)

// newRetired has tiktoken-go count. Its GetEncoding is not used: it takes the
// vocabulary from a loader that all of the program shares, and downloads it
// unless somebody has set another one.
func newRetired(name string) (*Encoding, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("load ranks of %s: %w", name, err)
	}
	bpe, err := tiktoken.NewCoreBPE(ranks, map[string]int{}, retiredPieces)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", name, err)
	}
	encoding := &tiktoken.Encoding{Name: name, PatStr: retiredPieces, MergeableRanks: ranks}
	return &Encoding{retired: tiktoken.NewTiktoken(bpe, encoding, map[string]any{})}, nil
}

// retiredBytes bounds what tiktoken-go counts at once: it takes time quadratic in
// the length of a piece.
const retiredBytes = 4096

// countRetired counts text part by part. It is exact if every part ends in front
// of a blank between two words; a piece longer than a part counts a few more.
func countRetired(t *tiktoken.Tiktoken, text string) int {
	n := 0
	for text != "" {
		end := retiredPart(text)
		n += len(t.EncodeOrdinary(text[:end]))
		text = text[end:]
	}
	return n
}

// retiredPart returns where the first part of text ends.
func retiredPart(text string) int {
	if len(text) <= retiredBytes {
		return len(text)
	}
	for i := retiredBytes; i > retiredBytes/2; i-- {
		if text[i] == ' ' && isVisibleASCII(text[i-1]) && isVisibleASCII(text[i+1]) {
			return i
		}
	}
	end := retiredBytes
	for text[end]&0xC0 == 0x80 { // inside a character
		end--
	}
	return end
}

func isVisibleASCII(c byte) bool { return ' ' < c && c < 0x7F }
