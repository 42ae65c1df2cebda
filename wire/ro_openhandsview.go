package wire

import (
	"cmp"
	"slices"
	"strconv"
)

// openHandsView returns the events that the model saw, and the summary that is
// before view[at]: not those that a condensation forgets. at is -1 if there is no
// summary.
func openHandsView(events []peek) (view []peek, summary string, at int) {
	var f forgotten
	at = -1
	for _, e := range events {
		if e.stringValue("kind") == "Condensation" {
			f.addCondensation(e)
		} else if e.stringValue("action") == "condensation" {
			f.addCondensation(e.memberValue("args"))
			e = e.memberValue("args")
		} else {
			continue
		}
		if text := e.stringValue("summary"); text != "" {
			summary = text
			at, _ = strconv.Atoi(e.fields["summary_offset"])
		}
	}
	f.mergeRanges()
	for _, e := range events {
		if isSentToModel(e) && !f.isForgotten(e) {
			view = append(view, e)
		}
	}
	return view, summary, at
}

// isSentToModel reports whether events of this kind are part of the history: states of
// the program and condensations are not.
func isSentToModel(e peek) bool {
	switch cmp.Or(e.stringValue("kind"), e.stringValue("action"), e.stringValue("observation")) {
	case "ConversationStateUpdateEvent", "PauseEvent", "Condensation", "CondensationRequest",
		"condensation", "condensation_request", "change_agent_state", "agent_state_changed", "null":
		return false
	}
	return true
}

// forgotten is the set of events that condensations removed, by id or range of ids.
type forgotten struct {
	ids    map[string]bool // raw ids, or the text of ids
	ranges [][2]int64      // inclusive; sorted and disjoint after mergeRanges
}

func (f *forgotten) addCondensation(c peek) {
	for _, id := range c.listValue("forgotten_event_ids") {
		if f.ids == nil {
			f.ids = make(map[string]bool)
		}
		f.ids[cmp.Or(id.ownString(), id.raw)] = true
	}
	from, err := strconv.ParseInt(c.fields["forgotten_events_start_id"], 10, 64)
	to, err2 := strconv.ParseInt(c.fields["forgotten_events_end_id"], 10, 64)
	if err == nil && err2 == nil && from <= to {
		f.ranges = append(f.ranges, [2]int64{from, to})
	}
}

// mergeRanges sorts the ranges and joins those that overlap.
func (f *forgotten) mergeRanges() {
	slices.SortFunc(f.ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var apart [][2]int64
	for _, r := range f.ranges {
		if n := len(apart); n > 0 && r[0] <= apart[n-1][1] {
			apart[n-1][1] = max(apart[n-1][1], r[1])
			continue
		}
		apart = append(apart, r)
	}
	f.ranges = apart
}

func (f *forgotten) isForgotten(e peek) bool {
	raw := e.fields["id"]
	if f.ids[cmp.Or(e.stringValue("id"), raw)] {
		return true
	}
	id, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return false
	}
	i, _ := slices.BinarySearchFunc(f.ranges, id, func(r [2]int64, id int64) int {
		if r[1] < id {
			return -1
		}
		return 1
	})
	return i < len(f.ranges) && f.ranges[i][0] <= id
}

// goneHalves returns the actions that were forgotten without their observation, and
// vice versa: OpenHands then sends neither.
func goneHalves(events, view []peek) map[string]bool {
	inView := make(map[string]bool) // by event
	for _, e := range events {
		inView[openHandsEventID(e)] = false
	}
	for _, e := range view {
		inView[openHandsEventID(e)] = true
	}
	gone := make(map[string]bool)
	for _, e := range events {
		action := cmp.Or(e.stringValue("action_id"), e.fields["cause"])
		if shown, ok := inView[action]; ok && isSentToModel(e) && shown != inView[openHandsEventID(e)] {
			gone[action] = true
		}
	}
	return gone
}
