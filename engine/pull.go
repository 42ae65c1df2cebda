package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/tiercompact/tiercompact/internal/ollama"
)

// Wanted returns the models that o and a session would use and that Ollama lacks. session
// is the name of the session's model, "" for none.
func Wanted(ctx context.Context, o Options, session string) ([]string, error) {
	c, o, err := o.ollamaClient()
	if err != nil {
		return nil, err
	}
	if o.Kind == BuiltIn { // it asks nobody
		return nil, nil
	}
	var names []string
	if session != "" {
		names = append(names, session)
	}
	for _, r := range []modelRole{o.rankingRole(), o.summaryRole()} {
		if r.url == "" && r.named != r.builtIn {
			names = append(names, cmp.Or(r.named, r.standard))
		}
	}
	have, err := newLookup(c, o.Wait).have(ctx)
	if err != nil {
		return nil, err
	}
	var absent []string
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, has := ollama.Among(have, name); !has {
			absent = append(absent, name)
		}
	}
	return absent, nil
}

// Pull makes Ollama pull a model, and reports the progress to each: the step, and its
// number of bytes (0: unknown).
func Pull(ctx context.Context, o Options, name string, each func(status string, done, of int64)) error {
	c, _, err := o.ollamaClient()
	if err != nil {
		return err
	}
	return c.Pull(ctx, name, func(p ollama.Progress) error {
		each(p.Status, p.Done, p.Of)
		return nil
	})
}
