package files

import (
	"encoding/json"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/logline"
)

// remarks are arguments with which a model explains a call: they do not change
// its effect.
var remarks = []string{"description", "explanation", "task_progress", "toolSummary", "toolAction"}

// SameCall reports whether two calls ask one tool for the same.
func SameCall(a, b chat.Part) bool {
	if a.Name != b.Name {
		return false
	}
	if a.Args == b.Args {
		return true
	}
	const most = 4 << 10 // of a call that is worth comparing further
	if len(a.Args) > most || len(b.Args) > most {
		return false
	}
	x, okX := plainArgs(a.Args)
	y, okY := plainArgs(b.Args)
	return okX && okY && x == y
}

// plainArgs returns arguments in one form, without remarks.
func plainArgs(args string) (string, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &all) != nil || all == nil {
		return "", false
	}
	for _, r := range remarks {
		delete(all, r)
	}
	data, err := json.Marshal(all) // sorts the keys
	return string(data), err == nil
}

// unlike is the maximum share of lines in which a similar result may differ.
const unlike = 0.1

// Alike reports whether two results of one call say nearly the same: lines
// that differ only in numbers and paths are alike, unless only one of them has
// an error.
func Alike(a, b string) bool {
	if a == b {
		return true
	}
	const most = 256 << 10
	if len(a) > most || len(b) > most {
		return false
	}
	x, y := readOutput(unixLines(a)), readOutput(unixLines(b))
	type line struct {
		form uint32
		kind logline.Kind
	}
	count := make(map[line]int)
	for _, l := range x.lines {
		count[line{l.form, l.kind}]++
	}
	for _, l := range y.lines {
		count[line{l.form, l.kind}]--
	}
	differ := 0
	for l, n := range count { // in any order: it is a sum
		if n != 0 && l.kind >= logline.Error {
			return false
		}
		differ += max(n, -n)
	}
	return float64(differ) <= unlike*float64(len(x.lines)+len(y.lines))
}
