package config

import (
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the suffixes of a number of tokens. Windows are powers of two: a window
// of 32k has 32,768 tokens.
var sizeUnits = map[string]float64{"k": 1 << 10, "m": 1 << 20}

// readSize returns a number of tokens: 8192, 8k, 1.5k, 1m.
func readSize(n node) (int, bool) {
	if i, ok := n.wholeValue(); ok {
		return i, true
	}
	s, ok := n.value.(string)
	s = strings.ToLower(strings.TrimSpace(s))
	if !ok || s == "" {
		return 0, false
	}
	unit, ok := sizeUnits[s[len(s)-1:]]
	if !ok {
		return 0, false
	}
	f, ok := plainNumber(s[:len(s)-1])
	f *= unit
	const most = 1 << 53 // larger numbers are not exact
	if !ok || f != math.Trunc(f) || f > most {
		return 0, false
	}
	return int(f), true
}

// readShare returns a share: 0.75, or 75%.
func readShare(n node) (float64, bool) {
	if f, ok := n.numberValue(); ok {
		return f, true
	}
	s, _ := n.value.(string)
	digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	if !percent {
		return 0, false
	}
	f, ok := plainNumber(digits)
	return f / 100, ok
}

// plainNumber parses digits with at most one decimal point, with optional blanks around
// them.
func plainNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
