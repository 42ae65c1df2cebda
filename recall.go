package tiercompact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/recall"
)

// Recall returns the messages that an outline, marker or summary replaced, by its
// recall id. Text that an active round of this process removed is returned unchanged,
// with its secrets; other text is returned from the archive, which is redacted.
func (s *Session) Recall(ctx context.Context, id string) (archive.Entry, error) {
	if e, ok := s.removedEntry(id); ok {
		return e, nil
	}
	e, err := s.cfg.Archive.Recall(ctx, s.id, id)
	if errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrDamaged) {
		return e, fmt.Errorf("recall %q: %w", id, ErrNotFound)
	}
	if err == nil {
		e.Messages = s.withSecrets(e.Messages)
	}
	return e, s.cfg.redactError(err)
}

// removedEntry returns the messages that an active round removed, by recall id.
func (s *Session) removedEntry(id string) (archive.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.rounds) {
		for _, e := range r.removed {
			if e.ID == id {
				return e, true
			}
		}
	}
	return archive.Entry{}, false
}

// Types of the search for removed text.
type (
	// A SearchQuery has Text and filters: File, Role, Tool, Since. Context is what the
	// conversation is about now. Tokens, Most (hits) and Neighbours bound the result.
	SearchQuery = recall.Query
	// A SearchResult has Hits, best first; Total and Passages count what matched and
	// what was searched. Its method Text returns what a model or a person reads.
	SearchResult = recall.Result
	// A SearchHit is a passage of a removed message: ID is its recall id, Message the
	// number of the message, Title says what it is, Text has the passage.
	SearchHit = recall.Hit
	// A DroppedMessage is a message that a round removed, with its recall ID.
	DroppedMessage = recall.Dropped
	// A Tool is in the form that OpenAI, Ollama or Anthropic want: see its methods.
	Tool = recall.Tool
)

// Search finds removed text, best first, at most n hits: see [Session.SearchBy].
func (s *Session) Search(ctx context.Context, text string, n int) ([]SearchHit, error) {
	if strings.TrimSpace(text) == "" || n <= 0 {
		return nil, ctx.Err()
	}
	r, err := s.SearchBy(ctx, recall.Query{Text: text, Max: n, Tokens: math.MaxInt})
	return r.Hits, errors.Join(err, s.cfg.redactError(r.Damaged))
}

// SearchBy finds removed passages, best first, that take at most q.Tokens if they are
// printed: by meaning, if Embed.Embedder answers within Deadlines.Ranking, otherwise by
// words. With Redact.Prompts no model is called. The text is that of the archive.
func (s *Session) SearchBy(ctx context.Context, q SearchQuery) (SearchResult, error) {
	if q.Embedder == nil && !s.cfg.Redact.Prompts && s.cfg.Embed.Embedder != nil {
		q.Embedder, q.Within = s.cfg.Embed.Embedder, s.cfg.Deadlines.Ranking
	}
	if q.Count == nil {
		q.Count = s.cfg.countText
	}
	if q.Context == "" {
		q.Context = recall.ContextOf(s.Messages())
	}
	r, err := recall.Indexed(s.cfg.Archive, "").Search(ctx, []string{s.id}, q)
	return r, s.cfg.redactError(err)
}

// RecallTool returns the tool by which a model gets removed text back;
// [Session.HandleRecall] answers its calls.
func RecallTool() Tool { return recall.RecallTool() }

// RecallPrompt is the sentence about the tool for a system prompt.
const RecallPrompt = recall.Prompt

// RecallTokens is the maximum size of an answer of [Session.HandleRecall], if that is
// less than a quarter of the window.
const RecallTokens = recall.DefaultTokens

// HandleRecall answers a call of [RecallTool] with the given arguments, JSON, in at most
// [RecallTokens] tokens. The text of an error is for the model too: it says what is
// right.
func (s *Session) HandleRecall(ctx context.Context, args string) (string, error) {
	a, err := recall.ParseArguments(args)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	limit := max(1, min(RecallTokens, s.cfg.Window/4))
	s.mu.Unlock()
	q := recall.Query{Text: a.Text, File: a.File, Tokens: limit, Count: s.cfg.countText}
	if id := cmp.Or(a.ID, a.Text); a.ID != "" || recallIDForm.MatchString(a.Text) {
		answer, err := s.recallByID(ctx, id, a.Message, q)
		if err == nil || !errors.Is(err, ErrNotFound) || a.Text == "" {
			return answer, err
		}
	}
	return s.recallByWords(ctx, q)
}

var recallIDForm = regexp.MustCompile(`^[0-9a-f]{8}$`)

func (s *Session) recallByID(ctx context.Context, id string, message int, q recall.Query) (string, error) {
	e, err := s.Recall(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("no removed text has the id %q; ids have eight digits, as in \"recall 3f9a1c2e\"; give words in \"text\" to search instead: %w", clipText(id, 40), ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	whole, err := recall.Indexed(s.cfg.Archive, "").Expand(ctx, s.id, e, s.Recall)
	if err != nil {
		return "", s.cfg.redactError(err)
	}
	if message > 0 {
		return printedMessage(whole, message, q)
	}
	const hint = "[%s; ask for one by id and message, or search for words]"
	full := q.Tokens
	q.Tokens = max(1, full-30)
	text, more := whole.Print(q)
	if more != "" {
		text += fmt.Sprintf(hint, more)
	}
	return text, nil
}

func printedMessage(e recall.Entry, number int, q recall.Query) (string, error) {
	full := q.Tokens
	q.Tokens = max(1, full-30)
	text, more, err := e.PrintMessage(number, q, false)
	if more != "" {
		text += fmt.Sprintf("\n[%s; search for words of the rest]", more)
	}
	return text, err
}

func (s *Session) recallByWords(ctx context.Context, q recall.Query) (string, error) {
	r, err := s.SearchBy(ctx, q)
	if err != nil {
		return "", err
	}
	if len(r.Hits) > 0 {
		return r.Text(), nil
	}
	if r.Passages == 0 {
		return "", errors.New("nothing was removed from this conversation yet; all of it is above")
	}
	return "", fmt.Errorf("no removed text has the words %q; try other words, a path, or a recall id that the conversation shows", clipText(cmp.Or(q.Text, q.File), 60))
}

func clipText(text string, size int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if r := []rune(text); len(r) > size {
		return string(r[:size]) + "…"
	}
	return text
}

// Dropped lists the messages that the newest round removed and that no earlier round had
// removed already, decisions first.
func (s *Session) Dropped(ctx context.Context) ([]DroppedMessage, error) {
	s.mu.Lock()
	step := 0
	if n := len(s.rounds); n > 0 {
		step = s.rounds[n-1].step
	}
	s.mu.Unlock()
	if step == 0 {
		return nil, nil
	}
	d, err := recall.Indexed(s.cfg.Archive, "").Dropped(ctx, s.id, step)
	return d, s.cfg.redactError(err)
}

// withSecrets returns messages of the archive in their original form, if active
// rounds of this process removed them.
func (s *Session) withSecrets(messages []chat.Message) []chat.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cfg.redacts() {
		return messages
	}
	messages = slices.Clone(messages)
	for _, r := range s.rounds {
		if !r.made {
			continue
		}
		for _, t := range r.out {
			for i, m := range messages {
				if m.ID == t.message.ID && m.State == t.message.State {
					messages[i] = t.message
				}
			}
		}
	}
	return messages
}
