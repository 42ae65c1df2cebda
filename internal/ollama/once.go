package ollama

import (
	"context"
	"sync"

	"github.com/ollama/ollama/api"
)

// Once returns a context for a series of calls, during which no model changes. In
// it, a server is asked for each model once, by all clients, unless it fails. Such a
// context is returned unchanged.
func Once(ctx context.Context) context.Context {
	if _, ok := ctx.Value(memoryKey{}).(*memory); ok {
		return ctx
	}
	return context.WithValue(ctx, memoryKey{}, &memory{shown: make(map[string]shownModel)})
}

type memoryKey struct{}

// A memory has the answers of servers, by address and model.
type memory struct {
	mu    sync.Mutex
	shown map[string]shownModel
}

type shownModel struct {
	*api.ShowResponse
	verbose bool
}

func (m *memory) find(key string, verbose bool) (*api.ShowResponse, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.shown[key]
	return s.ShowResponse, ok && (s.verbose || !verbose)
}

func (m *memory) add(key string, verbose bool, s *api.ShowResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown[key] = shownModel{s, verbose}
}
