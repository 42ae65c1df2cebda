package ollama

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// specials finds special tokens in a text as servers do: for each token in order,
// from the beginning of the text, if it does not overlap one that was found before.
type specials struct {
	tokens  []string // in the order of the search
	places  map[string]int
	lengths [256][]int // of the tokens that begin with a byte
}

// addSpecial adds a token after the others; a token that is there stays.
func (s *specials) addSpecial(token string) {
	if _, there := s.places[token]; there || token == "" {
		return
	}
	if s.places == nil {
		s.places = make(map[string]int)
	}
	s.places[token] = len(s.tokens)
	s.tokens = append(s.tokens, token)
	if lengths := &s.lengths[token[0]]; !slices.Contains(*lengths, len(token)) {
		*lengths = append(*lengths, len(token))
	}
}

// sortByLength has the longest token searched first.
func (s *specials) sortByLength() {
	slices.SortStableFunc(s.tokens, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i, token := range s.tokens {
		s.places[token] = i
	}
}

// A textPart is a special token, or the text between two.
type textPart struct {
	text    string
	special bool
}

// splitText returns the parts of text, none of them empty.
func (s *specials) splitText(text string) iter.Seq[textPart] {
	return func(yield func(textPart) bool) {
		owner := s.ownersOf(text)
		for begin := 0; begin < len(text); {
			end := len(text)
			special := owner != nil && owner[begin] != 0
			switch {
			case special:
				end = begin + len(s.tokens[owner[begin]-1])
			case owner != nil:
				for end = begin + 1; end < len(text) && owner[end] == 0; {
					end++
				}
			}
			if !yield(textPart{text[begin:end], special}) {
				return
			}
			begin = end
		}
	}
}

// ownersOf returns the special token at each byte of text, its place + 1; 0 for
// none. It is nil if there is no special token.
func (s *specials) ownersOf(text string) []int32 {
	present := s.presentIn(text)
	if len(present) == 0 {
		return nil
	}
	owner := make([]int32, len(text))
	for _, place := range present {
		token := s.tokens[place]
		for from := 0; ; {
			at := strings.Index(text[from:], token)
			if at < 0 {
				break
			}
			from += at
			if taken := slices.IndexFunc(owner[from:from+len(token)], func(o int32) bool { return o != 0 }); taken >= 0 {
				from += taken + 1
				continue
			}
			for i := range len(token) {
				owner[from+i] = int32(place) + 1
			}
			from += len(token)
		}
	}
	return owner
}

// presentIn returns the places of the tokens that text contains, in order.
func (s *specials) presentIn(text string) []int {
	var present []int
	seen := make(map[int]bool)
	for i := range len(text) {
		for _, n := range s.lengths[text[i]] {
			if i+n > len(text) {
				continue
			}
			if place, ok := s.places[text[i:i+n]]; ok && !seen[place] {
				seen[place] = true
				present = append(present, place)
			}
		}
	}
	slices.Sort(present)
	return present
}
