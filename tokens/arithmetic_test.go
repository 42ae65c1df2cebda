package tokens_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/tokens"
)

func TestBudgetLeavesTheBufferAndTheReserve(t *testing.T) {
	for _, c := range []struct {
		name                    string
		window, buffer, reserve int
		set                     bool
		want                    int
	}{
		{"contract", 128_000, 0, 0, false, 126_500},
		{"reserve", 128_000, 0, 4096, false, 122_404},
		{"buffer at an eighth", 12_000, 0, 0, false, 10_500},
		{"small window", 4096, 0, 0, false, 3584},
		{"another default", 128_000, 3000, 0, false, 125_000},
		{"set buffer is taken as it is", 4096, 1500, 0, true, 2596},
		{"set to none", 4096, 0, 0, true, 4096},
		{"negative", 4096, -5, -5, true, 4096},
		{"nothing left", 1000, 900, 200, true, 0},
		{"no window", 0, 0, 0, false, 0},
		{"negative window", -10, 0, 0, false, 0},
	} {
		if got := tokens.NewBudget(c.window, c.buffer, c.reserve, c.set).Limit(); got != c.want {
			t.Errorf("%s: limit %d, want %d", c.name, got, c.want)
		}
	}
}

func TestObserveRefusesTruncatedPrompts(t *testing.T) {
	for _, c := range []struct {
		name                     string
		estimate, prompt, window int
		taken, truncated         bool
	}{
		{"as estimated", 1000, 1000, 8192, true, false},
		{"fewer", 1000, 700, 8192, true, false},
		{"many more", 1000, 2500, 8192, true, false},
		{"full window, rightly", 8192, 8192, 8192, true, false},
		{"half of the window, rightly", 4300, 4098, 8192, true, false},
		{"half of a small window, rightly", 260, 258, 512, true, false},
		{"half of the window, estimated a quarter too high", 5120, 4098, 8192, true, false},
		{"half of the window, far below", 6000, 4000, 8192, true, false},
		{"just not far below", 1000, 600, 0, true, false},
		{"no count", 1000, 0, 8192, false, false},
		{"negative count", 1000, -1, 8192, false, false},
		{"no estimate", 0, 10, 8192, false, false},

		// Ollama 0.17 drops messages from the front, and keeps the rest.
		{"messages dropped, 1480 in 512", 1480, 445, 512, false, true},
		{"a message or two dropped", 8400, 7900, 8192, false, false},
		{"a message dropped, estimate a little above", 8300, 8150, 8192, false, false},
		{"nearly full window, estimate a little higher", 9000, 8190, 8192, false, false},
		// Then it cuts the last remaining message to the window.
		{"one message cut, 3000 in 512", 3010, 512, 512, false, true},
		{"cut to the window", 10_650, 8192, 8192, false, true},
		{"cut just below the window", 12_000, 8100, 8192, false, true},
		// Newer versions keep half of the window and two tokens.
		{"cut to half of the window, 0.32", 65_550, 32_770, 65_536, false, true},
		{"cut to half of 4096, 0.32.9", 7900, 2050, 4096, false, true},
		{"cut to half of the window, estimate below it", 6000, 4098, 8192, false, true},
		{"issue ollama#3839", 160_689, 16_387, 32_768, false, true},
		{"far below the estimate", 1000, 599, 0, false, true},
	} {
		before := tokens.Calibration{Ratio: 1, Weight: 500, Anchor: 77, Base: 70}
		after, s := before.Observe(c.estimate, c.prompt, c.window)
		if s.Taken != c.taken || s.Truncated != c.truncated || (s.Reason == "") != c.taken {
			t.Errorf("%s: %+v", c.name, s)
		}
		if !c.taken && after != before {
			t.Errorf("%s: refused, but %+v", c.name, after)
		}
		if c.taken && (after.Anchor != c.prompt || after.Base != c.estimate) {
			t.Errorf("%s: %+v, want anchor %d", c.name, after, c.prompt)
		}
	}
}

func TestCalibrationEstimatesOnlyWhatFollowsTheAnchor(t *testing.T) {
	var c tokens.Calibration
	if got := c.Tokens(1000, 0); got != 1000 {
		t.Errorf("nothing seen: %d tokens, want 1000", got)
	}
	c, _ = c.Observe(1000, 1200, 8192)
	if got := c.Tokens(1000, 1000); got != 1200 {
		t.Errorf("at the anchor: %d tokens, want 1200", got)
	}
	if got := c.Tokens(1500, 1000); got != 1800 {
		t.Errorf("500 behind the anchor: %d tokens, want 1800", got)
	}
	if got := c.Tokens(900, 1000); got != 1080 {
		t.Errorf("100 gone: %d tokens, want 1080", got)
	}
	c, _ = c.Observe(2000, 2200, 8192)
	if got := c.Tokens(3000, 2000); got != 3300 {
		t.Errorf("after a second sample: %d tokens, want 3300", got)
	}
	c = c.WithoutAnchor()
	if got := c.Tokens(1000, 2000); got != 1100 {
		t.Errorf("void: %d tokens, want 1100", got)
	}
}

func TestRatioExcludesTheBeginningOfTheTemplate(t *testing.T) {
	const preamble = 30
	c, _ := tokens.Calibration{}.Observe(8, 8+preamble, 8192)
	for n := 400; n <= 2000; n += 400 {
		c, _ = c.Observe(8+n, 8+n+preamble, 8192)
	}
	if c.Ratio > 1.005 {
		t.Errorf("ratio %.3f: the template's %d tokens are in it", c.Ratio, preamble)
	}
}

func TestCalibrationForgetsSlowlyAndTakesLongTextsForMore(t *testing.T) {
	c := tokens.Calibration{Ratio: 1.2, Weight: 4096}
	small, _ := c.Observe(40, 40, 0)
	large, _ := c.Observe(40_000, 40_000, 0)
	if small.Ratio < 1.19 || large.Ratio > 1.02 || large.Weight != 4096 {
		t.Errorf("after 40 tokens %+v, after 40,000 %+v", small, large)
	}
}

func TestCalibrationRestartsForAnotherConversation(t *testing.T) {
	c := tokens.Calibration{Ratio: 1, Weight: 100, Anchor: 5000, Base: 5000}
	for _, s := range [][2]int{{300, 300}, {5000, 5100}, {5100, 4900}} {
		got, sample := c.Observe(s[0], s[1], 8192)
		if !sample.Taken || got.Anchor != s[1] || got.Ratio < 0.95 || got.Ratio > 1.05 {
			t.Errorf("%v after 5000: %+v, %+v", s, got, sample)
		}
	}
}

func TestCalibrationIsJSON(t *testing.T) {
	data, err := json.Marshal(tokens.Calibration{Ratio: 1.25, Weight: 700, Anchor: 9, Base: 8})
	if err != nil || string(data) != `{"ratio":1.25,"weight":700,"anchor":9,"base":8}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestCalibrationStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := tokens.Calibration{Ratio: rapid.Float64().Draw(t, "ratio"), Weight: rapid.Int().Draw(t, "weight")}
		size := rapid.IntRange(-10, 1_000_000)
		for range rapid.IntRange(1, 20).Draw(t, "samples") {
			var s tokens.Sample
			c, s = c.Observe(size.Draw(t, "estimate"), size.Draw(t, "prompt"), size.Draw(t, "window"))
			if s.Taken && (c.Ratio < 0.7 || c.Ratio > 1.6) {
				t.Fatalf("ratio %v", c.Ratio)
			}
		}
		n := rapid.IntRange(0, 1_000_000).Draw(t, "n")
		if got := c.WithoutAnchor().Tokens(n, 0); float64(got) < math.Floor(0.7*float64(n)) || float64(got) > math.Ceil(1.6*float64(n))+1 {
			t.Fatalf("%d tokens for an estimate of %d, ratio %v", got, n, c.Ratio)
		}
		if got := c.Tokens(n, 1_000_000); got < 0 {
			t.Fatalf("%d tokens", got)
		}
	})
}

func TestAModelThatCountsAThirdLessRaisesNoAlarm(t *testing.T) {
	var c tokens.Calibration
	var sample tokens.Sample
	for estimate := 300; estimate < 3900; estimate += 300 { // through half of the window of 4,096
		if c, sample = c.Observe(estimate, estimate*100/132, 4096); !sample.Taken {
			t.Fatalf("estimate %d: %+v", estimate, sample)
		}
	}
	if _, sample = c.Observe(5400, 2050, 4096); !sample.Truncated {
		t.Errorf("a prompt that was cut to half: %+v", sample)
	}
}

func TestToolsOmittedByATemplateAreReported(t *testing.T) {
	for _, c := range []struct {
		name                    string
		estimate, tools, prompt int
		want                    bool
	}{
		{"llama.cpp, a template without tools", 173, 103, 70, true},
		{"its next turn", 244, 103, 133, true},
		{"with the tools", 173, 103, 170, false},
		{"with the tools, by a tokenizer that counts a quarter less", 173, 103, 130, false},
		{"no tools", 173, 0, 70, false},
		{"a long conversation gives no sample", 5000, 103, 4900, false},
		{"cut", 173, 103, 20, false},
		{"cut, a long conversation", 5000, 103, 2050, false},
		{"no count", 173, 103, 0, false},
		{"only tools", 103, 103, 0, false},
	} {
		if got := (tokens.Calibration{}).ToolsLeftOut(c.estimate, c.tools, c.prompt); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
