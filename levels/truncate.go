package levels

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

func truncateLevel() Level {
	return Level{Name: FitName, Work: Cutting, Color: "silver", Steps: []Planner{func(_ context.Context, v View) (Plan, error) {
		return Plan{Edits: Truncate(v, v.Settings.Budget), Releases: ^protection.Protected}, nil
	}}}
}

// Truncate proposes the last resort if a conversation exceeds limit tokens: it cuts
// unprotected tool results, file bodies and strings in call arguments to head, errors
// and tail, largest first; then the summary, and the prose of other kept messages;
// then it drops all but the newest groups. Only if that is not enough, it cuts the
// middle of the first user message, no deeper than needed. It goes on, if it can, until
// an eighth of the tokens that are not fixed is free. Of what was cut, the newest
// message that the model has not read gets what is free beyond that.
func Truncate(v View, limit int) []edit.Edit {
	f := newTruncation(v)
	f.truncateTo(limit, true)
	best := f.truncationEdits()
	left := v.tokensAfter(best, v.Separator(FitName))
	for n, tries := left, 0; left > limit && tries < maxTries; tries++ {
		total := f.total
		lower := total - (n - limit) // dropped messages may leave markers, which take room too
		if f.truncateTo(lower, false); f.total >= total {
			break
		}
		edits := f.truncationEdits()
		if n = v.tokensAfter(edits, v.Separator(FitName)); n < left {
			best, left = edits, n
		}
	}
	return best
}

// maxTries limits how often a truncation makes room for its markers: a group that it
// drops may leave one more.
const maxTries = 16

// Floor returns the minimum number of tokens to which [Fit] can reduce v: system,
// tools, protected messages, the user messages that stay, and stubs. If limit is
// clearly enough, it returns at once the tokens that do not change.
func Floor(v View, limit int) int {
	if most := v.protectedTokens(); most <= limit {
		return most
	}
	return v.tokensAfter(Truncate(v, limit), v.Separator(FitName))
}

// maxMarkerTokens is the maximum number of tokens of a marker before a message.
const maxMarkerTokens = 30

// protectedTokens returns the tokens of the messages that stay, with their whole
// groups, if nothing is cut.
func (v View) protectedTokens() int {
	sum := v.Fixed
	groups, _ := chat.Groups(v.Messages)
	for g, members := range groups {
		size, held := maxMarkerTokens, g == len(groups)-1
		for _, i := range members {
			size += v.Sizes[i]
			held = held || v.Protections[i]&^protection.Unread != 0
		}
		if held {
			sum += size
		}
	}
	return sum
}

// tokensAfter returns the tokens of v after edits and the required separators.
func (v View) tokensAfter(edits []edit.Edit, marker edit.Marker) int {
	separated, err := edit.Separate(v.Messages, edits, marker)
	if err != nil {
		separated = edits // they do not fit v, and will be rejected
	}
	sum := v.Total()
	for _, e := range separated {
		for _, n := range v.Sizes[e.Start:e.End] {
			sum -= n
		}
		for _, m := range e.New {
			sum += v.Size(m)
		}
	}
	return sum
}

// A truncation is a conversation that is being cut.
type truncation struct {
	v     View
	now   []chat.Message
	sizes []int
	gone  []bool
	total int
	fill  bool // texts are cut to the limit, not to what is most wanted
}

func newTruncation(v View) *truncation {
	return &truncation{
		v: v, now: slices.Clone(v.Messages), sizes: slices.Clone(v.Sizes),
		gone: make([]bool, len(v.Messages)), total: v.Total(),
	}
}

// spared returns limit without an eighth of what messages that are not fixed may have
// of it.
func (f *truncation) spared(limit int, fixed protection.Protection) int {
	left := limit - f.v.Fixed
	for i, h := range f.v.Protections {
		if h&fixed != 0 {
			left -= f.sizes[i]
		}
	}
	return limit - max(0, left)/8
}

// truncateTo cuts until the total is at most limit, and, with spare, until there is room
// for the next message. If the first user message does not fit beside the stubs of the
// rest, it begins again with its middle: the message keeps half of limit, or what the
// rest leaves; down to a fifth only if the rest cannot be cut further.
func (f *truncation) truncateTo(limit int, spare bool) {
	target := limit
	if spare {
		target = f.spared(limit, protection.Pinned)
	}
	f.cutRest(limit, target)
	if f.total <= limit || f.firstUser() < 0 {
		return
	}
	*f = *newTruncation(f.v)
	if spare {
		target = f.spared(limit, protection.Protected)
	}
	f.cutFirstUser(target, limit/2)
	f.cutRest(limit, target)
	f.cutFirstUser(limit, limit/5)
}

// cutRest cuts all but the first user message. Prose is cut to a useful length; more of
// it, the summary and groups are cut only while the total is above limit.
func (f *truncation) cutRest(limit, target int) {
	for _, most := range []int{800, 400, 200, 100, 50, 0} {
		f.cutMessages(target, most, isBulkPart)
	}
	f.cutSummary(limit, 2)
	f.cutSummary(limit, 1)
	f.cutMessages(target, 200, isProsePart)
	f.cutMessages(limit, 60, isProsePart)
	f.cutMessages(limit, 0, isProsePart)
	for _, keep := range []int{4, 2, 1} {
		f.dropGroups(limit, keep)
	}
	f.cutSummary(limit, 0)
	f.cutMessages(limit, 0, isCorrectionPart)
	f.refillNewest(target)
}

// refillNewest gives the newest message that was cut, if the model has not read it,
// what is free below target: the next answer is probably about it.
func (f *truncation) refillNewest(target int) {
	i := len(f.now) - 1
	for i >= 0 && (f.gone[i] || f.v.Protections[i]&protection.Unread == 0 || edit.Same(f.now[i], f.v.Messages[i])) {
		i--
	}
	if i < 0 || target <= f.total {
		return
	}
	cut, size, total := f.now[i], f.sizes[i], f.total
	for _, share := range []int{100, 90, 75} { // tokens of parts are not those of the message
		f.now[i], f.sizes[i], f.total = f.v.Messages[i], f.v.Sizes[i], total-size+f.v.Sizes[i]
		f.fill = true
		m := f.cutParts(i, (size+target-total)*share/100/bulkParts(f.now[i]), isBulkPart)
		f.fill = false
		if f.setMessage(i, m); f.total <= target && f.sizes[i] >= size {
			return
		}
	}
	f.now[i], f.sizes[i], f.total = cut, size, total
}

// bulkParts returns the number of parts that isBulkPart selects, at least 1.
func bulkParts(m chat.Message) int {
	n := 0
	for _, p := range m.Parts {
		if isBulkPart(m, p.Kind, 0) {
			n++
		}
	}
	return max(1, n)
}

func (f *truncation) setMessage(i int, m chat.Message) {
	n := f.v.Size(m)
	if n >= f.sizes[i] {
		return
	}
	f.total += n - f.sizes[i]
	f.now[i], f.sizes[i] = m, n
}

// isBulkPart: the texts of tool results, of attached files and machine-made user
// messages, and the string leaves of arguments.
func isBulkPart(m chat.Message, k chat.Kind, h protection.Protection) bool {
	return k == chat.Result || k == chat.Call || k == chat.Text && m.Role == chat.User && m.Machine
}

// isProsePart: text of user and assistant, except the user messages that stay.
func isProsePart(m chat.Message, k chat.Kind, h protection.Protection) bool {
	return k == chat.Text && h&(protection.First|protection.Latest|protection.Session|protection.Correction) == 0 && m.State != chat.Marked
}

// isCorrectionPart: corrections of a message that stays, the last to be cut.
func isCorrectionPart(_ chat.Message, k chat.Kind, h protection.Protection) bool {
	return k == chat.Text && h&protection.Correction != 0 && h&protection.Latest == 0
}

// cutMessages cuts the parts that which selects, the largest messages first, each to
// at most most tokens, until the total is at most target.
func (f *truncation) cutMessages(target, most int, which func(chat.Message, chat.Kind, protection.Protection) bool) {
	if f.total <= target {
		return
	}
	order := make([]int, 0, len(f.now))
	for i := range f.now {
		if !f.gone[i] && f.v.Protections[i]&protection.Protected == 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.sizes[b], f.sizes[a]) })
	for _, i := range order {
		if f.total <= target || f.sizes[i] <= most {
			return
		}
		f.setMessage(i, f.cutParts(i, most, which))
	}
}

// cutParts returns message i with its parts cut.
func (f *truncation) cutParts(i, most int, which func(chat.Message, chat.Kind, protection.Protection) bool) chat.Message {
	m, was := f.now[i], f.v.Messages[i]
	if was.HasOpaque() {
		return m
	}
	parts := slices.Clone(m.Parts)
	recall := f.v.recallID(was.ID, "fit", was.Text())
	options := files.DigestOptions{Max: most, Count: f.v.Count, Recall: recall, Fill: f.fill}
	changed := false
	for k, p := range parts {
		if !which(m, p.Kind, f.v.Protections[i]) {
			continue
		}
		q := p
		if p.Kind == chat.Call {
			q.Args = files.LeaveOutArgs(was.Parts[k].Args, func(_, leaf string) string { return f.shorterText(leaf, leaf, options) })
		} else {
			options.Prose = p.Kind == chat.Text && !m.Machine
			q.Text = f.shorterText(was.Parts[k].Text, p.Text, options)
		}
		if q != p {
			q.Raw = ""
			parts[k], changed = q, true
		}
	}
	if !changed {
		return m
	}
	m = m.With(chat.Outlined, parts...)
	m.Recall = recall
	return m
}

// minCut is the size, in tokens, up to which a text is not worth cutting: a path, a command.
const minCut = 24

// shorterText returns text cut under o, or now if the result is no longer than that.
func (f *truncation) shorterText(text, now string, o files.DigestOptions) string {
	if f.v.Count(now) <= max(o.Max, minCut) {
		return now
	}
	short := files.Digest(text, o)
	if o.Max == 0 || short == "" { // no room even for a head
		short = fmt.Sprintf("[digest; recall %s]", o.Recall)
	}
	if len(short) >= len(now) {
		return now
	}
	return short
}

// cutSummary reduces the session summary: to its facts and names (2), to its facts
// (1), to a stub (0).
func (f *truncation) cutSummary(limit, stage int) {
	for i, m := range f.now {
		if f.total <= limit || !m.IsSummary() || f.gone[i] || f.v.Protections[i]&protection.Protected != 0 {
			continue
		}
		told := slices.IndexFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.Summary || p.Kind == chat.Text })
		if told < 0 {
			continue
		}
		n, content := protection.SummaryContent(m)
		_, facts, names := summarize.Split(content)
		if stage < 2 {
			names = nil
		}
		short := summarize.Finish("", facts, names, f.sizes[i], f.v.Count)
		if stage == 0 || short == "" {
			short = "earlier messages are in the archive"
		}
		was := f.v.Messages[i]
		cut := protection.NewSummary(n, m.Role, short, f.v.recallID(was.ID, "fit", was.Text()))
		m.Parts = slices.Clone(m.Parts)
		m.Parts[told].Text, m.Parts[told].Raw, m.Changed = cut.Parts[0].Text, "", true
		m.Recall = cut.Recall
		f.setMessage(i, m)
	}
}

// dropGroups drops all but the newest keep groups, oldest first, until the total is at
// most limit.
func (f *truncation) dropGroups(limit, keep int) {
	groups, _ := chat.Groups(f.v.Messages)
	for _, members := range groups[:max(0, len(groups)-keep)] {
		if f.total <= limit {
			return
		}
		free := true
		for _, i := range members {
			free = free && f.v.Protections[i]&^protection.Unread == 0 && !f.gone[i]
		}
		if !free {
			continue
		}
		for _, i := range members {
			f.gone[i] = true
			f.total -= f.sizes[i]
		}
	}
}

// truncationEdits returns the changes as edits: dropped runs, and one for each cut message.
func (f *truncation) truncationEdits() []edit.Edit {
	out := gapEdits(f.v, f.gone, 0, 0, "does not fit")
	for i, m := range f.now {
		if !f.gone[i] && !edit.Same(m, f.v.Messages[i]) {
			why := "cut to fit the budget"
			if i == f.firstUser() {
				why = "middle of the first user message cut out"
			}
			out = append(out, edit.Edit{Start: i, End: i + 1, New: []chat.Message{m}, Why: why, Recall: m.Recall})
		}
	}
	return edit.Sorted(out)
}
