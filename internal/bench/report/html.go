package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/internal/screen"
)

//go:embed page.html
var page string

// A table is a table of the page. Its cells are texts; the first column has the
// names of the rows.
type table struct {
	Title   string
	About   string
	Columns []head
	Rows    [][]string
}

// A head is the name of a column, and its unit; words have none.
type head struct{ Name, Unit string }

// HTML writes r as one self-contained page, without external scripts, fonts or
// styles. Its colours follow the reader's theme, and a click on the head of a
// column sorts a table.
func HTML(w io.Writer, r bench.Report) error {
	body, err := pageBody(r)
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer("{{name}}", html.EscapeString(r.Set.Name), "{{sheet}}", chart.Sheet(), "{{body}}", body).WriteString(w, page)
	return err
}

// pageBody writes by hand what a template would: a program that links
// html/template keeps every exported method of every type, megabytes of them.
func pageBody(r bench.Report) (string, error) {
	var links, plots, tables strings.Builder
	for i, p := range measuredParts(r) {
		svg, err := renderSVG(r, []part{p}, false) // which escapes all texts in it
		if err != nil {
			return "", err
		}
		title := html.EscapeString(p.title)
		fmt.Fprintf(&links, `<a href="#plot%d">%s</a> `, i, title)
		fmt.Fprintf(&plots, "\n<h2 id=\"plot%d\">%s</h2>\n<p>%s</p>\n<figure role=\"img\" aria-label=\"%s\">%s</figure>\n",
			i, title, html.EscapeString(p.about), title, svg[bytes.Index(svg, []byte("<svg")):])
	}
	for i, t := range pageTables(r) {
		fmt.Fprintf(&links, `<a href="#table%d">%s</a> `, i, html.EscapeString(t.Title))
		t.writeHTML(&tables, i)
	}
	var b strings.Builder
	b.WriteString("<ul>")
	for _, fact := range describeSet(r.Set) {
		b.WriteString("\n<li>" + html.EscapeString(fact) + "</li>")
	}
	b.WriteString("\n</ul>\n")
	if command := benchCommand(r.Set); command != "" {
		b.WriteString("<p>Made by <code>" + html.EscapeString(command) + "</code></p>\n")
	}
	b.WriteString("<nav>" + links.String() + "<a href=\"#measures\">The measures</a></nav>\n" + plots.String() + tables.String())
	b.WriteString("\n<h2 id=\"measures\">The measures</h2>\n<dl>")
	for _, m := range measures() {
		b.WriteString("\n<dt>" + html.EscapeString(m.Name) + "</dt><dd>" + html.EscapeString(m.Means) + "</dd>")
	}
	b.WriteString("\n</dl>\n")
	return b.String(), nil
}

// writeHTML writes t as table number i of the page.
func (t table) writeHTML(b *strings.Builder, i int) {
	class := func(column int) string {
		if t.Columns[column].Unit == "" {
			return ` class="words"`
		}
		return ""
	}
	fmt.Fprintf(b, "\n<h2 id=\"table%d\">%s</h2>\n<p>%s</p>\n<div class=\"wide\"><table>\n<thead><tr>", i, html.EscapeString(t.Title), html.EscapeString(t.About))
	for column, h := range t.Columns {
		fmt.Fprintf(b, `<th scope="col"%s><button>%s</button><small>%s</small></th>`, class(column), html.EscapeString(h.Name), html.EscapeString(h.Unit))
	}
	b.WriteString("</tr></thead>\n<tbody>")
	for _, row := range t.Rows {
		b.WriteString("\n<tr>")
		for column, cell := range row {
			fmt.Fprintf(b, "<td%s>%s</td>", class(column), html.EscapeString(cell))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("\n</tbody></table></div>\n")
}

// describeSet describes the measured set, in a few texts.
func describeSet(s bench.Set) []string {
	texts := []string{
		fmt.Sprintf("%d sessions, %s messages, %s tokens (cl100k_base unless a model was named)", s.Sessions, screen.Grouped(s.Messages), screen.Grouped(s.Tokens)),
		fmt.Sprintf("hard ranks by %s, emergency summarises by %s", s.Ranking, s.Summarizer),
	}
	if s.Facts > 0 {
		texts = append(texts, fmt.Sprintf("%s planted facts", screen.Grouped(s.Facts)))
	}
	if len(s.Short) > 0 {
		texts = append(texts, fmt.Sprintf("%d of the sessions have fewer than 40 messages: they count for planted facts alone", len(s.Short)))
	}
	if s.Quick {
		texts = append(texts, "a quick run: fewer windows, shorter lengths")
	}
	return texts
}

// benchCommand is the command that produces such a page, "" if there is none.
func benchCommand(s bench.Set) string {
	if len(s.Command) == 0 {
		return ""
	}
	words := make([]string, len(s.Command))
	for i, word := range s.Command {
		words[i] = shellQuoted(word)
	}
	return strings.Join(append(words, "--html report.html"), " ")
}

// plainWord matches words that need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w./:,=@%+-]+$`)

// shellQuoted returns a word quoted for a shell.
func shellQuoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// A measured is a measure and its meaning.
type measured struct{ Name, Means string }

func measures() []measured {
	return []measured{
		{"The ways", "Alone: one level, once, on a conversation that fits its window. Replay: a conversation message by message, in a window whose size, as a share of its tokens, is in the name; auto chooses the level by the usage of the window, soft, hard or emergency uses only that level. Baseline: a simple way to shorten a conversation; its number is the share of the tokens that it leaves, or how many of the newest messages keep the results of tools. Fit frees the last tokens if a level has not freed enough."},
		{"Tokens freed", "Tokens before less tokens after, counted once over whole sessions, and as a share of those before."},
		{"Identifiers", "A session is cut at 60 % of its messages. Of the paths, names, hashes and tickets that the assistant uses afterwards, and that occur before the cut, but neither in the five messages before it nor in the first: the share that remains after compaction."},
		{"In place", "The share of the same identifiers that remains on a line with at least half of the words of a line that had it before. A path counts on a line with at most two others."},
		{"False lines", "Of the lines that summaries and outlines show of files: the share that the file no longer holds, or whose file was removed, by the reads, writes, edits and commands before the cut. Lines of files with unknown content do not count."},
		{"Edits", "A session is cut at 30, 40 … 90 %. Of the edits that follow, whose old lines all occur before the cut and whose file is not read again: the share whose lines remain, word for word. Those are possible without another read."},
		{"Size", "The share of the tokens that is left, at the cuts of the share beside it. A share means nothing without its size."},
		{"Planted facts", "Rules, decisions, errors, open tasks and the like, planted in made-up sessions: the share that can still be found. Only level hard receives questions, and only their facts count."},
		{"Orphans", "Tool calls and results that lost their partner. Servers reject such conversations: it must be 0."},
		{"Re-prefill", "The tokens that a server with a prompt cache must read again over a session, one request before each assistant message, divided by the same without compaction. 1 is as much as without. A baseline is applied before each request over 0.60 of the window."},
		{"Rounds", "Compactions a session, on average."},
		{"Time, memory", "Milliseconds for a whole session, and the maximum growth of the heap, without models that run elsewhere."},
	}
}
