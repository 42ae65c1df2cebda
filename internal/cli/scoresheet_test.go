package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/screen"
)

func TestLargeSharesOfAScoreStandApart(t *testing.T) {
	var out bytes.Buffer
	s := &scoreSheet{doctorSheet: doctorSheet{w: &out, screen: screen.Screen{Width: 80}}}
	s.writeShare("identifiers", bench.Share{Part: 199_990, Whole: 199_990}, bench.Share{Part: 1, Whole: 1})
	if want := "199,990 of 199,990 1.000"; !strings.Contains(out.String(), want) {
		t.Errorf("%q has no %q", out.String(), want)
	}
}
