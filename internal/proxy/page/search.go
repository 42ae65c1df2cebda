package page

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/recall"
)

const (
	maxQuery     = 400 // characters
	searchTokens = 12_000
	searchHits   = 30
	searchWithin = 20 * time.Second
)

func (p *Page) serveSearch(w http.ResponseWriter, r *http.Request) {
	words, session := clipText(r.URL.Query().Get("q"), maxQuery), r.URL.Query().Get("session")
	content := paragraph(`Search in what compactions removed: words, a path, a recall id, or a "phrase in quotes".`)
	if p.store == nil {
		p.fail(w, http.StatusNotFound, "There is no archive to search in.")
		return
	}
	if words != "" {
		ctx, stop := context.WithTimeout(r.Context(), searchWithin)
		defer stop()
		found, err := p.search(ctx, session, words)
		if err != nil {
			p.failWith(w, err)
			return
		}
		content = p.searchView(found)
	}
	p.render(w, http.StatusOK, view{title: "Search", query: words, content: content})
}

func (p *Page) search(ctx context.Context, session, words string) (recall.Result, error) {
	sessions := []string{session}
	if session == "" {
		var err error
		if sessions, err = archive.Sessions(ctx, p.store); err != nil {
			return recall.Result{}, err
		}
	}
	return p.store.Search(ctx, sessions, recall.Query{Text: words, Tokens: searchTokens, Max: searchHits})
}

// serveEntry shows what a recall id stands for.
func (p *Page) serveEntry(w http.ResponseWriter, r *http.Request) {
	session, id := r.URL.Query().Get("session"), r.URL.Query().Get("id")
	if p.store == nil {
		p.fail(w, http.StatusNotFound, "There is no archive.")
		return
	}
	e, err := p.store.Recall(r.Context(), session, id)
	if err != nil {
		p.failWith(w, err)
		return
	}
	p.render(w, http.StatusOK, view{title: "Removed text " + id, content: entryView(session, e)})
}

func (p *Page) serveRound(w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("id")
	number, err := strconv.Atoi(r.URL.Query().Get("step"))
	if err != nil {
		p.fail(w, http.StatusBadRequest, "The address names no step.")
		return
	}
	rounds, err := p.roundsOf(r.Context(), session)
	if err != nil {
		p.failWith(w, err)
		return
	}
	for _, v := range rounds {
		if v.Number == number {
			if v.Details == nil {
				v.Details = p.detailsOf(r.Context(), v.StepInfo)
			}
			p.render(w, http.StatusOK, view{title: "Compaction " + strconv.Itoa(number), content: roundPage(session, v)})
			return
		}
	}
	p.failWith(w, archive.ErrNotFound)
}

// address returns the path of a view with its parameters.
func address(name string, pairs ...string) string {
	q := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return Prefix + name + "?" + q.Encode()
}
