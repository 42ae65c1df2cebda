package wire

import "slices"

// How Claude Code records a compaction, as its own loader of sessions reads
// it (known from public descriptions of that loader's relinking of the
// preserved segment, from other programs that read these files, and from the
// records of the versions 2.1.220 to 2.1.239 that they quote):
//
//   - A record of type system and subtype compact_boundary has no parent. Its
//     logicalParentUuid is the last record before it.
//   - The summary follows: a user's record with isCompactSummary, whose parent is
//     the boundary.
//   - The records that were kept word for word are before the boundary, with their
//     old parents: the file is only appended to. The boundary names them in
//     compactMetadata, older versions as preservedSegment{headUuid, anchorUuid,
//     tailUuid}, newer ones as preservedMessages{anchorUuid, uuids, allUuids} too.
//   - anchorUuid is the record that the kept records follow: the summary, or the
//     boundary, if the end of the session was summarised and its beginning kept.
//     Then the summary follows the kept records.
//   - The next prompt has the last kept record as its parent, so that its parents
//     lead past the boundary into what was compacted away.
//   - Only the newest boundary counts. One without either field keeps nothing.
//   - Some versions write kept records, and older boundaries among them, again
//     after the summary, with the ids that they had.
//
// A microcompact_boundary is not a boundary: it only clears the results it names.

// A compaction is one boundary with its records.
type compaction struct {
	boundary int
	summary  int   // -1 if it is missing
	kept     []int // in order
	named    bool  // the boundary lists the kept records
	first    bool  // the kept records are before the summary
}

// The maximum number of boundaries for one view, and of views for the results of
// earlier compactions.
const (
	maxTried    = 16
	maxReplayed = 16
)

// viewAtRecord returns what the model saw when record leaf was the newest,
// considering the boundaries before record end.
func (s *claudeSession) viewAtRecord(leaf, end int) []int {
	way := s.tree.pathToLeaf(leaf, s.isBoundary)
	tried := 0
	for b := end - 1; b >= 0 && tried < maxTried; b-- {
		if !s.isBoundary(b) {
			continue
		}
		tried++
		c := s.compaction(b)
		if rest, ok := s.recordsAfter(c, way); ok {
			return c.viewAfterwards(rest)
		}
	}
	return way
}

func (s *claudeSession) isBoundary(i int) bool {
	return s.records[i].stringValue("subtype") == "compact_boundary"
}

// compaction returns the compaction of boundary b.
func (s *claudeSession) compaction(b int) compaction {
	about := s.records[b].memberValue("compactMetadata")
	messages, segment := about.memberValue("preservedMessages"), about.memberValue("preservedSegment")
	c := compaction{boundary: b, summary: -1}
	anchor, anchored := s.tree.newest[messages.stringValue("anchorUuid")]
	if !anchored {
		anchor, anchored = s.tree.newest[segment.stringValue("anchorUuid")]
	}
	c.summary = s.summaryOf(b, anchor, anchored)
	c.first = anchored && anchor == b && c.summary > b
	c.kept = s.keptRecords(messages)
	if c.kept == nil {
		c.kept = s.keptSegment(segment, b)
	}
	c.named = len(c.kept) > 0 || segment.hasMember("tailUuid")
	c.kept = slices.DeleteFunc(c.kept, func(i int) bool { return i == b || i == c.summary })
	return c
}

// summaryOf returns the summary of boundary b: its anchor, or the next one after
// it.
func (s *claudeSession) summaryOf(b, anchor int, anchored bool) int {
	if anchored && s.isSummary(anchor) {
		return anchor
	}
	for i := b + 1; i < len(s.records) && !s.isBoundary(i); i++ {
		if s.isSummary(i) {
			return i
		}
	}
	return -1
}

func (s *claudeSession) isSummary(i int) bool { return s.records[i].boolValue("isCompactSummary") }

// keptRecords returns the records of a list of kept messages, without missing ones.
func (s *claudeSession) keptRecords(messages peek) []int {
	uuids := messages.listValue("uuids")
	if len(uuids) == 0 {
		uuids = messages.listValue("allUuids")
	}
	var kept []int
	have := make(map[int]bool)
	for _, id := range uuids {
		if i, ok := s.tree.newest[id.ownString()]; ok && !have[i] {
			have[i] = true
			kept = append(kept, i)
		}
	}
	return kept
}

// keptSegment returns the records from the head of a kept segment to its tail. They
// are found by their parents or, if those lead past an earlier boundary, in what
// the model saw before boundary b. If one end is missing, the segment is unknown,
// and only the summary is used.
func (s *claudeSession) keptSegment(of peek, b int) []int {
	head, ok := s.tree.newest[of.stringValue("headUuid")]
	if !ok {
		return nil
	}
	tail, ok := s.tree.newest[of.stringValue("tailUuid")]
	if !ok {
		if tail, ok = s.tree.newest[s.records[b].stringValue("logicalParentUuid")]; !ok {
			return nil
		}
	}
	if way := s.tree.pathToLeaf(tail, func(i int) bool { return i == head }); way[0] == head {
		return way
	}
	if s.replayed++; s.replayed > maxReplayed {
		return nil
	}
	before := s.viewAtRecord(tail, b)
	if at := slices.Index(before, head); at >= 0 {
		return before[at:]
	}
	return nil
}

// recordsAfter returns the records of way after compaction c, and whether way
// continues from there: through the boundary or the summary, or from a record that
// was kept or was the last one before. If the boundary lists the kept records, way
// continues from no other older record.
func (s *claudeSession) recordsAfter(c compaction, way []int) ([]int, bool) {
	for at, i := range slices.Backward(way) {
		if i == c.summary || i == c.boundary {
			return way[at+1:], true
		}
	}
	last, ok := s.tree.newest[s.records[c.boundary].stringValue("logicalParentUuid")]
	if !ok {
		last = c.boundary - 1
		for last >= 0 && !isConversation(s.records[last]) {
			last--
		}
	}
	kept := make(map[int]bool, len(c.kept))
	for _, i := range c.kept {
		kept[i] = true
	}
	newest := way[len(way)-1]
	for at, i := range slices.Backward(way) {
		if kept[i] || i < c.boundary {
			return way[at+1:], newest > c.boundary && (c.named || i == last || kept[i])
		}
	}
	return nil, false
}

// viewAfterwards returns what the model saw if rest came after the compaction.
func (c compaction) viewAfterwards(rest []int) []int {
	after := make(map[int]bool, len(rest))
	for _, i := range rest {
		after[i] = true
	}
	kept := slices.DeleteFunc(slices.Clone(c.kept), func(i int) bool { return after[i] })
	var summary []int
	if c.summary >= 0 && !after[c.summary] {
		summary = []int{c.summary}
	}
	if c.first {
		return slices.Concat(kept, summary, rest)
	}
	return slices.Concat(summary, kept, rest)
}
