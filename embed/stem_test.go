package embed_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/embed"
)

// meet reports whether two words have one hash.
func meet(a, b string) bool {
	return embed.Score(embed.TermsOfText(a), []embed.Terms{embed.TermsOfText(b)})[0] > 0
}

func TestFormsOfAWordMeet(t *testing.T) {
	for forms := range strings.SplitSeq(`read reads reading reader
study studies studied studying
story stories
carry carries carried carrying carrier
try tries tried trying
play plays played playing player
box boxes
class classes
movie movies
happy happier
answer answers answered answering
plan plans planned planning
run runs ran running
move moves moved moving movement
adopt adopted adoption adoptions
celebrate celebrated celebration
treat treatment treatments
teach taught teacher
buy buying bought
write writes wrote written writing
make made making
take took taken
break broke broken
drive drove driven driving
fly flies flew flown flying
win won winning
meet met meeting
leave leaves left leaving
use used using uses
child children
apply applies applied
family families`, "\n") {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			if !meet(words[0], w) {
				t.Errorf("%s and %s do not meet", words[0], w)
			}
		}
	}
}

func TestOtherWordsStayApart(t *testing.T) {
	for pair := range strings.SplitSeq(`movie move
string str
speed spend
bring br
early ear
story store
family fame
bus busy`, "\n") {
		if a, b, _ := strings.Cut(pair, " "); meet(a, b) {
			t.Errorf("%s and %s meet", a, b)
		}
	}
}

func TestPartsOfANameAreStemmedEachForItself(t *testing.T) {
	for _, query := range []string{"readers", "write", "wrote_files", "file"} {
		if !meet(query, "wroteFiles reader") {
			t.Errorf("%s does not meet wroteFiles or reader", query)
		}
	}
}
