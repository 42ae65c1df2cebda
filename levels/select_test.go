package levels_test

import (
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
	tests := []struct {
		t    levels.Thresholds
		want []string
	}{
		{levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}, nil},
		{levels.Thresholds{levels.SoftName: 0.1, levels.HardName: 0.2, levels.Emergency: 1}, nil},
		{levels.Thresholds{levels.HardName: 0.75, levels.Emergency: 0.9}, []string{"thresholds.soft", "is 0"}},
		{levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 1.7, levels.Emergency: 0.9}, []string{"thresholds.hard", "is 1.7"}},
		{levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: -1}, []string{"thresholds.emergency", "is -1"}},
		{levels.Thresholds{levels.SoftName: math.NaN(), levels.HardName: 0.75, levels.Emergency: 0.9}, []string{"thresholds.soft", "NaN"}},
		{levels.Thresholds{levels.SoftName: 0.75, levels.HardName: 0.75, levels.Emergency: 0.9}, []string{"must rise", "thresholds.soft 0.75", "thresholds.hard 0.75"}},
		{levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.95, levels.Emergency: 0.9}, []string{"must rise", "thresholds.hard 0.95", "thresholds.emergency 0.9"}},
	}
	for _, test := range tests {
		err := test.t.Validate()
		if (err != nil) != (test.want != nil) {
			t.Errorf("%v: error %v, want %q", test.t, err, test.want)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not say %q", test.t, err, want)
			}
		}
	}
}

func TestParseKnowsTheLevelsOfTheContract(t *testing.T) {
	for _, name := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency} {
		if got, err := levels.Parse(string(name)); got != name || err != nil {
			t.Errorf("%s: %s, error %v", name, got, err)
		}
	}
	for _, name := range []string{"", "none", "fit", "layers", "SOFT"} {
		if got, err := levels.Parse(name); got != "" || err == nil || !strings.Contains(err.Error(), "soft, hard or emergency") {
			t.Errorf("%q: %q, error %v", name, got, err)
		}
	}
}

func TestStrongerRises(t *testing.T) {
	order := []levels.Name{levels.None, levels.SoftName, levels.HardName, levels.Emergency, levels.TruncateName}
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
