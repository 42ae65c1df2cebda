package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/internal/screen"
)

const maxName = 60 // characters of a conversation's id that are shown

// document returns a whole page.
func (p *Page) document(v view) markup {
	head := []any{
		element("meta", attributes{"charset", "utf-8"}),
		element("meta", attributes{"name", "viewport", "content", "width=device-width, initial-scale=1"}),
		element("meta", attributes{"name", "color-scheme", "content", "light dark"}),
		element("title", nil, v.title, " – tiercompact"),
		element("link", attributes{"rel", "stylesheet", "href", Prefix + "page.css"}),
		element("link", attributes{"rel", "icon", "href", Prefix + "icon.svg"}),
	}
	top := []any{element("a", class("name", "href", Prefix), "tiercompact"), element("span", class("dim"), "in front of ", p.o.Upstream)}
	if v.live {
		head = append(head, element("script", attributes{"src", Prefix + "page.js", "defer", ""}))
		top = append(top, element("span", class("dim", "id", "live", "role", "status")))
	}
	if p.store != nil {
		top = append(top, element("form", class("search", "action", Prefix+"search", "role", "search"),
			element("input", attributes{"type", "search", "name", "q", "value", v.query, "maxlength", strconv.Itoa(maxQuery), "placeholder", "words, a path, or a recall id", "aria-label", "Search in the archive"}),
			element("button", nil, "Search")))
	}
	return join(markup("<!doctype html>\n"), element("html", attributes{"lang", "en"},
		element("head", nil, head...), "\n",
		element("body", nil, element("header", nil, top...), "\n", element("main", attributes{"id", "main"}, element("h1", nil, v.title), v.content))), "\n")
}

func nameOf(id string) string { return clipText(id, maxName) }

func sessionLink(id string) markup { return link(address("session", "id", id), nameOf(id)) }

func entryLink(session, id string, content ...any) markup {
	return link(address("entry", "session", session, "id", id), content...)
}

// sessionsView lists conversations.
func (p *Page) sessionsView(all []Session, more int) markup {
	if len(all) == 0 {
		return paragraph("There is no conversation yet. Point your assistant at this proxy; its first request appears here.")
	}
	list := element("ul", class("cards"), eachOf(all, p.sessionCard))
	if more > 0 {
		return join(list, dimmed("and ", more, " that were used before these"))
	}
	return list
}

func (p *Page) sessionCard(s Session) markup {
	usage := dimmed("no request since the proxy was started")
	if n := len(s.Samples); n > 0 {
		newest := s.Samples[n-1]
		usage = join(newBar(newest).view(), paragraph(shareText(newest), " of the window: ", countText(newest)))
	}
	about := []any{screen.Plural(s.Messages, "message"), ", ", screen.Plural(roundsIn(s.Samples), "compaction"), ", ", p.agoView(s.Used)}
	if s.Parent != "" {
		about = append(about, element("br", nil), "a branch of ", nameOf(s.Parent))
	}
	return element("li", class("card"), element("h2", nil, sessionLink(s.ID)), usage, dimmed(about...))
}

func shareText(s Sample) markup { return element("strong", nil, screen.Percent(s.Share())) }

func countText(s Sample) string {
	return screen.Grouped(s.After) + " of " + screen.Grouped(s.Window) + " tokens"
}

func (p *Page) agoView(t time.Time) markup {
	return element("time", attributes{"datetime", t.UTC().Format(time.RFC3339)}, ago(p.o.Now().Sub(t)))
}

func clockText(t time.Time) string { return t.UTC().Format(time.DateTime) }

// sessionView describes a conversation.
func (p *Page) sessionView(s Session, rounds []roundView) markup {
	about := []any{"It is in the archive; the proxy does not remember its requests."}
	if s.Messages > 0 {
		about = []any{screen.Plural(s.Messages, "message"), ", the newest request ", p.agoView(s.Used)}
	}
	if s.Parent != "" {
		about = append(about, "; a branch of ", sessionLink(s.Parent))
	}
	var cards []markup
	undo := true // the newest one in use
	for _, r := range rounds {
		cards = append(cards, p.roundCard(s.ID, r, undo && r.InUse))
		undo = undo && !r.InUse
	}
	if len(cards) == 0 {
		cards = append(cards, dimmed("There was none."))
	}
	return join(dimmed(about...), element("h2", nil, "How full the window was"), usageView(s.Samples),
		element("h2", nil, "What each compaction did and kept"), cards)
}

func usageView(samples []Sample) markup {
	if len(samples) == 0 {
		return dimmed("There is no chart: no request came since the proxy was started, and its state has no earlier ones.")
	}
	newest := samples[len(samples)-1]
	return join(element("p", class("now"), shareText(newest), countText(newest)),
		element("div", class("scroll", "tabindex", "0", "role", "region", "aria-label", "Chart, scrolls sideways on a narrow screen"), newChart(samples).view()),
		element("details", attributes{"id", "numbers"}, element("summary", nil, "The same as numbers"),
			element("div", class("scroll", "tabindex", "0"), samplesTable(newestFirst(samples, 30)))))
}

func samplesTable(samples []Sample) markup {
	number := class("n")
	head := element("tr", nil, element("th", nil, "time (UTC)"), element("th", number, "tokens that came"), element("th", number, "that went on"),
		element("th", number, "of the window"), element("th", nil, "compaction"), element("th", nil, "note"))
	rows := eachOf(samples, func(s Sample) markup {
		level := s.Level
		if s.Planned {
			level += " (while an answer streamed)"
		}
		return element("tr", nil, element("td", nil, clockText(s.Time)), element("td", number, screen.Grouped(s.Before)), element("td", number, screen.Grouped(s.After)),
			element("td", number, screen.Percent(s.Share())), element("td", nil, level), element("td", nil, s.Note))
	})
	return element("table", nil, element("thead", nil, head), element("tbody", nil, rows))
}

// tagOf says whether a compaction is in use.
func tagOf(r roundView) markup {
	switch {
	case r.Undone:
		return join(" ", element("span", class("tag"), "undone"))
	case r.InUse:
		return join(" ", element("span", class("tag"), "in use"))
	}
	return ""
}

func (p *Page) roundCard(session string, r roundView, undo bool) markup {
	step := strconv.Itoa(r.Number)
	name := "card"
	if r.Undone {
		name += " undone"
	}
	content := []any{
		element("h3", nil, link(address("round", "id", session, "step", step), step, ": ", r.Level), tagOf(r)),
		dimmed(clockText(r.Time), " UTC, ", screen.Why(r.Reason), noteText(r.StepInfo)),
	}
	if r.Damaged != nil {
		content = append(content, element("p", class("warning"), "The archive cannot read this step: ", r.Damaged))
	}
	if r.Details != nil {
		content = append(content, r.Details.keptView())
	}
	if undo {
		hidden := func(name, value string) markup {
			return element("input", attributes{"type", "hidden", "name", name, "value", value})
		}
		content = append(content, element("form", attributes{"method", "post", "action", Prefix + "undo"},
			hidden("id", session), hidden("step", step), hidden("proof", p.proof(session, r.Number)), element("button", nil, "Undo"), " ",
			element("span", class("dim"), "The next request goes on with what this compaction removed. If it does not fit then, there is a new one.")))
	}
	return element("article", class(name), content...)
}

func noteText(info archive.StepInfo) string {
	if info.Note == "" {
		return ""
	}
	return "; " + info.Note
}

func (d *roundDetails) keptView() markup {
	were := "they were"
	if d.Kept == 1 {
		were = "it was"
	}
	left := ""
	if d.Roles != "" {
		left = " What is left: " + d.Roles + "."
	}
	return paragraph(fmt.Sprintf("%s kept as %s, %d shortened, %d removed, %d added.%s", screen.Plural(d.Kept, "message"), were, d.Shortened, d.Removed, d.Added, left))
}

// roundPage describes one compaction.
func roundPage(session string, r roundView) markup {
	parts := []any{
		paragraph(sessionLink(session), tagOf(r)),
		dimmed(r.Level, ", ", clockText(r.Time), " UTC, ", screen.Why(r.Reason), "; ", screen.Plural(r.Messages, "message"), " before"),
	}
	d := r.Details
	if d == nil {
		return join(append(parts, element("p", class("warning"), "The archive cannot read this step."))...)
	}
	parts = append(parts, d.keptView())
	if d.Summary != "" {
		parts = append(parts, element("h2", nil, "Summary"), element("pre", nil, d.Summary))
	}
	parts = append(parts, element("h2", nil, "What was replaced"))
	for _, c := range d.Changes {
		parts = append(parts, c.view(session))
	}
	return join(parts...)
}

func (c change) view(session string) markup {
	why, recalled, now := c.Why, markup(""), runView(c.Now)
	if why == "" {
		why = "replaced"
	}
	if c.Recall != "" {
		recalled = paragraph(entryLink(session, c.Recall, "all of what was removed: ", c.Recall))
	}
	if len(c.Now) == 0 {
		now = dimmed("nothing")
	}
	return element("article", class("card"), element("h3", nil, why), recalled,
		element("div", class("two"), element("div", nil, element("h4", nil, "before"), runView(c.Was)), element("div", nil, element("h4", nil, "after"), now)))
}

func runView(lines []messageLine) markup {
	return element("ul", class("run"), eachOf(lines, func(l messageLine) markup {
		text := element("span", class("text"), l.Text)
		if l.Role == "" {
			return element("li", nil, text)
		}
		return element("li", nil, element("b", nil, l.Role), " ", element("span", class("dim"), screen.Grouped(l.Bytes), " bytes"), element("br", nil), text)
	}))
}

// searchView shows what a search found.
func (p *Page) searchView(found recall.Result) markup {
	parts := []any{dimmed(screen.Plural(found.Total, "match"), " among ", screen.Grouped(found.Passages), " passages, the best first")}
	if found.Damaged != nil {
		parts = append(parts, element("p", class("warning"), "Some removed text could not be searched: ", found.Damaged))
	}
	if len(found.Hits) == 0 {
		parts = append(parts, paragraph("Nothing was found."))
	}
	for _, h := range found.Hits {
		parts = append(parts, p.hitView(h))
	}
	return join(parts...)
}

func (p *Page) hitView(h recall.Hit) markup {
	title := h.Title
	if title == "" {
		title = h.ID
	}
	var about strings.Builder
	about.WriteString(string(h.Role))
	for _, more := range []string{h.Tool, h.File} {
		if more != "" {
			about.WriteString(", " + clipText(more, 120))
		}
	}
	return element("article", class("card"), element("h2", nil, entryLink(h.Session, h.ID, clipText(title, 120))),
		dimmed(about.String(), ", message ", h.Message, " of ", sessionLink(h.Session), ", removed ", p.agoView(h.Time)), element("pre", nil, h.Text))
}

// entryView shows what a recall id stands for.
func entryView(session string, e archive.Entry) markup {
	parts := []any{paragraph(sessionLink(session))}
	if e.Text != "" {
		parts = append(parts, element("pre", nil, e.Text))
	}
	parts = append(parts, eachOf(e.Messages, func(m chat.Message) markup {
		return element("article", class("card"), element("h2", nil, m.Role), element("pre", nil, textOf(m)))
	}))
	if len(e.Below) > 0 {
		parts = append(parts, element("h2", nil, "Removed before, and listed in this"),
			element("ul", nil, eachOf(e.Below, func(id string) markup { return element("li", nil, entryLink(session, id, id)) })))
	}
	return join(parts...)
}
