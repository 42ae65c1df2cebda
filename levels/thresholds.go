package levels

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Thresholds are the usages, as shares of the window, from which levels are due. A
// level without one is never due.
type Thresholds map[Name]float64

// WithDefaults returns a copy of t with the thresholds of a preset for the levels that
// t lacks.
func (t Thresholds) WithDefaults(preset string) Thresholds {
	all := maps.Clone(t)
	if all == nil {
		all = make(Thresholds)
	}
	for _, l := range All() {
		all[l.Name] = cmp.Or(t[l.Name], l.Threshold.OfPreset(preset))
	}
	return all
}

// Validate reports thresholds that do not rise, are not shares, or have no level.
func (t Thresholds) Validate() error {
	all := All()
	for _, l := range all {
		if share := t[l.Name]; !(share > 0 && share <= 1) {
			return fmt.Errorf("thresholds.%s must be above 0 and at most 1, is %g", l.Name, share)
		}
	}
	for i, l := range all[1:] {
		if low := all[i]; t[low.Name] >= t[l.Name] {
			return fmt.Errorf("thresholds must rise: thresholds.%s %g is not below thresholds.%s %g", low.Name, t[low.Name], l.Name, t[l.Name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if _, err := Parse(string(name)); err != nil {
			return fmt.Errorf("thresholds: %w", err)
		}
	}
	return nil
}

// Select returns the strongest level that is due at a usage. A threshold is inclusive.
func (t Thresholds) Select(usage float64) Name {
	for _, l := range slices.Backward(All()) {
		if share := t[l.Name]; share != 0 && usage >= share {
			return l.Name
		}
	}
	return None
}

// Lowest returns the threshold of the mildest level.
func (t Thresholds) Lowest() float64 { return t[All()[0].Name] }

// Rising returns the shares in the order of All.
func (t Thresholds) Rising() []float64 {
	var shares []float64
	for _, l := range All() {
		shares = append(shares, t[l.Name])
	}
	return shares
}

// MarshalJSON writes an object in the order of All.
func (t Thresholds) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, l := range All() {
		share, err := json.Marshal(t[l.Name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], l.Name, share)
	}
	return append(b.Bytes(), '}'), nil
}
