package levels_test

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/levels"
)

func TestSelectTakesTheStrongestLevelDue(t *testing.T) {
	contract, eager := levels.Thresholds{levels.SoftName: 0.60, levels.HardName: 0.75, levels.Emergency: 0.90}, levels.Thresholds{levels.SoftName: 0.50, levels.HardName: 0.65, levels.Emergency: 0.80}
	tests := []struct {
		t     levels.Thresholds
		usage float64
		want  levels.Name
	}{
		{contract, 0, levels.None},
		{contract, 0.5999, levels.None},
		{contract, 0.60, levels.SoftName},
		{contract, 0.7499, levels.SoftName},
		{contract, 0.75, levels.HardName},
		{contract, 0.8999, levels.HardName},
		{contract, 0.90, levels.Emergency},
		{contract, 7, levels.Emergency},
		{contract, math.NaN(), levels.None},
		{eager, 0.55, levels.SoftName},
		{eager, 0.65, levels.HardName},
		{eager, 0.80, levels.Emergency},
	}
	for _, test := range tests {
		if got := test.t.Select(test.usage); got != test.want {
			t.Errorf("%v at %g: %s, want %s", test.t, test.usage, got, test.want)
		}
	}
}

func TestValidateNamesTheFields(t *testing.T) {
	names := levels.Names()
	first, second, last := levels.Name(names[0]), levels.Name(names[1]), levels.Name(names[len(names)-1])
	tests := []struct {
		set  levels.Thresholds
		want []string
	}{
		{nil, nil},
		{levels.Thresholds{first: 0.01, last: 1}, nil},
		{levels.Thresholds{first: 0}, []string{"thresholds.soft", "is 0"}},
		{levels.Thresholds{second: 1.7}, []string{"thresholds." + string(second), "is 1.7"}},
		{levels.Thresholds{last: -1}, []string{"thresholds." + string(last), "is -1"}},
		{levels.Thresholds{first: math.NaN()}, []string{"thresholds.soft", "NaN"}},
		{levels.Thresholds{first: 0.3, second: 0.3}, []string{"must rise", "thresholds.soft 0.3", "thresholds." + string(second) + " 0.3"}},
		{levels.Thresholds{second: 0.95}, []string{"must rise", "thresholds." + string(second) + " 0.95"}},
		{levels.Thresholds{"mild": 0.5}, []string{"thresholds: ", `"mild"`}},
	}
	for _, test := range tests {
		all := levels.Thresholds{}.WithDefaults("")
		maps.Copy(all, test.set)
		err := all.Validate()
		if (err != nil) != (test.want != nil) {
			t.Errorf("%v: error %v, want %q", test.set, err, test.want)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not say %q", test.set, err, want)
			}
		}
	}
}

func TestThresholdsAreWrittenInTheOrderOfTheList(t *testing.T) {
	got, err := json.Marshal(levels.Thresholds{levels.Emergency: 0.9, levels.SoftName: 0.6, levels.HardName: 0.75}.WithDefaults("eager"))
	if want := `"soft":0.6,`; err != nil || !strings.HasPrefix(string(got), "{"+want) || !strings.HasSuffix(string(got), `"emergency":0.9}`) {
		t.Errorf("%s, error %v", got, err)
	}
	var back levels.Thresholds
	if err := json.Unmarshal(got, &back); err != nil || back[levels.HardName] != 0.75 {
		t.Errorf("%v, error %v", back, err)
	}
}

func TestParseKnowsTheLevelsOfTheList(t *testing.T) {
	for _, name := range levels.Names() {
		if got, err := levels.Parse(name); string(got) != name || err != nil {
			t.Errorf("%s: %s, error %v", name, got, err)
		}
	}
	for _, name := range []string{"", "none", "fit", "layers", "SOFT"} {
		if got, err := levels.Parse(name); got != "" || err == nil || !strings.Contains(err.Error(), "must be soft, ") || !strings.Contains(err.Error(), " or emergency, is ") {
			t.Errorf("%q: %q, error %v", name, got, err)
		}
	}
}

func TestStrongerRises(t *testing.T) {
	order := []levels.Name{levels.None, levels.SoftName, levels.HardName, levels.Emergency, levels.FitName}
	for i, a := range order {
		for k, b := range order {
			if got := levels.Stronger(a, b); got != (i > k) {
				t.Errorf("%s stronger than %s: %t", a, b, got)
			}
		}
	}
	if levels.Stronger(levels.LayerName, levels.Emergency) || levels.Stronger(levels.Emergency, levels.LayerName) {
		t.Error("the layers are as strong as emergency")
	}
}
