// Package page is the proxy's page for people: the conversations, how full their
// windows were, what each compaction did and kept, a search in the archive, and undo.
// It is HTML made on the server; a script only loads it again if something changes. No
// text of a conversation is trusted: it is escaped, and the policy of the page permits
// nothing that is not its own file.
package page

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/levels"
)

// Prefix is the path of the page.
const Prefix = "/_tiercompact/"

// A Session is a conversation, as the proxy knows it.
type Session struct {
	ID       string
	Parent   string // the conversation that it began as; "": none
	Used     time.Time
	Messages int
	Samples  []Sample // oldest first; none: the proxy was started anew, and has no file of them
}

// A Sample is how full the window was at one request.
type Sample struct {
	Time       time.Time         `json:"time"`
	Before     int               `json:"before"` // tokens that came, with the earlier rounds
	After      int               `json:"after"`  // tokens that went on
	Window     int               `json:"window"`
	Budget     int               `json:"budget"`
	Thresholds levels.Thresholds `json:"thresholds,omitempty"`
	Level      string            `json:"level,omitempty"`   // of a round made at this time; "": none
	Planned    bool              `json:"planned,omitempty"` // the round was made while an answer streamed
	Note       string            `json:"note,omitempty"`    // a warning
}

// Share returns the share of the window that went on.
func (s Sample) Share() float64 { return share(s.After, s.Window) }

func share(tokens, window int) float64 { return float64(tokens) / float64(max(window, 1)) }

// A Source has the conversations.
type Source interface {
	// Sessions returns all conversations, those used last first.
	Sessions(ctx context.Context) ([]Session, error)
	// Session returns one, ErrUnknown if there is none.
	Session(ctx context.Context, id string) (Session, error)
	// Rounds returns the numbers of the archive's steps that are in use, oldest first.
	Rounds(ctx context.Context, id string) ([]int, error)
	// Undo takes back the newest round, which must be step, else ErrChanged.
	Undo(ctx context.Context, id string, step int) error
}

// What a [Source] reports.
var (
	ErrUnknown = errors.New("there is no such conversation")
	ErrChanged = errors.New("the conversation has changed meanwhile; look at it again")
)

// Options are those of a [Page].
type Options struct {
	Source   Source
	Archive  archive.Store // nil: no compactions, and no search
	Upstream string        // shown
	Secret   string        // that the proxies of a team share; "": one of this process
	Now      func() time.Time
}

// A Page is an [http.Handler] for paths that begin with [Prefix]. Its caller checks the
// host, the origin and the token of each request.
type Page struct {
	o      Options
	store  *recall.IndexedStore
	key    []byte
	live   hub
	rounds roundCache
}

//go:embed assets
var assets embed.FS

// New returns a page.
func New(o Options) *Page {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Page{o: o, live: newHub()}
	if o.Archive != nil {
		p.store = recall.Indexed(o.Archive, "")
	}
	key := sha256.Sum256([]byte("page of tiercompact\x00" + cmp.Or(o.Secret, rand.Text())))
	p.key = key[:]
	return p
}

// Changed tells open pages to load again.
func (p *Page) Changed() { p.live.notify() }

// Close ends the connections of open pages.
func (p *Page) Close() { p.live.close() }

// policy permits the page's own files alone: no script, style or picture that a
// conversation could bring in.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	path := strings.TrimPrefix(r.URL.Path, Prefix)
	views := map[string]func(http.ResponseWriter, *http.Request){
		"": p.serveSessions, "session": p.serveSession, "round": p.serveRound, "search": p.serveSearch, "entry": p.serveEntry,
		"live": p.live.serve, "page.css": p.serveFile, "page.js": p.serveFile, "icon.svg": p.serveFile, "undo": p.serveUndo,
	}
	serve, ok := views[path]
	method := http.MethodGet
	if path == "undo" {
		method = http.MethodPost
	}
	switch {
	case !ok:
		p.fail(w, http.StatusNotFound, "There is nothing at this address.")
	case r.Method != method && !(method == http.MethodGet && r.Method == http.MethodHead):
		h.Set("Allow", method)
		p.fail(w, http.StatusMethodNotAllowed, "This address takes "+method+".")
	default:
		serve(w, r)
	}
}

func (p *Page) serveFile(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "assets/"+strings.TrimPrefix(r.URL.Path, Prefix))
}

// A view is a page before it is written.
type view struct {
	title   string
	query   string
	live    bool // loads again if something changes
	content markup
}

func (p *Page) render(w http.ResponseWriter, status int, v view) {
	out := string(p.document(v))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(out))
}

func (p *Page) fail(w http.ResponseWriter, status int, why string) {
	p.render(w, status, view{title: http.StatusText(status), content: join(element("p", class("warning"), why), paragraph(link(Prefix, "All conversations")))})
}

// failWith answers an error of the source or the archive.
func (p *Page) failWith(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, archive.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ErrChanged):
		status = http.StatusConflict
	}
	p.fail(w, status, err.Error())
}

func (p *Page) serveSessions(w http.ResponseWriter, r *http.Request) {
	all, err := p.o.Source.Sessions(r.Context())
	if err != nil {
		p.failWith(w, err)
		return
	}
	const shown = 200
	more := max(0, len(all)-shown)
	p.render(w, http.StatusOK, view{title: "Conversations", live: true, content: p.sessionsView(all[:len(all)-more], more)})
}

func (p *Page) serveSession(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	s, err := p.o.Source.Session(r.Context(), id)
	rounds, wrong := p.roundsOf(r.Context(), id)
	switch {
	case errors.Is(err, ErrUnknown) && len(rounds) > 0: // it is in the archive alone
		s.ID, err = id, nil
	case err == nil:
		err = wrong
	}
	if err != nil {
		p.failWith(w, err)
		return
	}
	p.render(w, http.StatusOK, view{title: clipText(s.ID, 2*maxName), live: true, content: p.sessionView(s, rounds)})
}

// newestFirst returns at most the newest n samples.
func newestFirst(all []Sample, n int) []Sample {
	out := slices.Clone(all[max(0, len(all)-n):])
	slices.Reverse(out)
	return out
}

// proof returns what shows that a form was read from this page: another site can send
// a form, but cannot read this one.
func (p *Page) proof(id string, step int) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte("undo\x00" + strconv.Itoa(step) + "\x00" + id))
	return hex.EncodeToString(mac.Sum(nil))
}

func (p *Page) serveUndo(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	if err := r.ParseForm(); err != nil {
		p.fail(w, http.StatusBadRequest, "The form is broken or too long.")
		return
	}
	id := r.PostForm.Get("id")
	step, err := strconv.Atoi(r.PostForm.Get("step"))
	if err != nil || !hmac.Equal([]byte(r.PostForm.Get("proof")), []byte(p.proof(id, step))) {
		p.fail(w, http.StatusForbidden, "The form is not of this page, or the proxy was started again. Load the conversation again, and then undo.")
		return
	}
	if err := p.o.Source.Undo(r.Context(), id, step); err != nil {
		p.failWith(w, err)
		return
	}
	p.Changed()
	http.Redirect(w, r, address("session", "id", id), http.StatusSeeOther)
}
