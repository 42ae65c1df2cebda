package recall

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/redacttest"
	"github.com/tiercompact/tiercompact/redact"
)

// secretStep removes messages with a secret of each kind in each form: in texts,
// commands and results.
func secretStep(t *testing.T, secrets []redacttest.Secret) archive.Step {
	t.Helper()
	var messages chat.Transcript
	for i, s := range secrets {
		id := fmt.Sprintf("m%d", 2*i+1)
		args, err := json.Marshal(map[string]string{"command": s.Text, "path": "settings/" + id + ".env"})
		must(t, err)
		m := chat.NewText(chat.User, s.Text)
		if i%3 == 1 {
			m = chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "Bash", Args: string(args)}}}
		}
		m.ID = id
		r := chat.NewResult(id, "the output is\n"+s.Text)
		if i%3 != 1 {
			r = chat.NewText(chat.Assistant, "you said: "+s.Text)
		}
		r.ID = fmt.Sprintf("m%d", 2*i+2)
		messages = append(messages, m, r)
	}
	return archive.Step{Session: "s", Number: 1, Before: messages, Removed: []archive.Entry{{ID: "0123abcd", Messages: messages}}}
}

// No secret that is redacted in the archive is in a file of it, of its index or of
// vectors, nor in a hit, and no word of an index is of one.
func TestNoSecretIsInAnIndexAHitOrAVector(t *testing.T) {
	secrets := redacttest.Secrets()
	root, k := t.TempDir(), &keeping{folder: t.TempDir()}
	d, err := archive.OpenDir(root, archive.DirOptions{})
	must(t, err)
	s := Indexed(d, "")
	must(t, archive.Redacted(s, redact.Default().String).Put(t.Context(), secretStep(t, secrets)))
	_, err = s.Search(t.Context(), []string{"s"}, Query{Text: "something", Embedder: k})
	must(t, err)

	var texts []string // of everything that can be read
	kinds, words := make(map[string]bool), make(map[uint32]bool)
	for _, folder := range []string{root, k.folder} {
		must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			texts = append(texts, string(data))
			return err
		}))
	}
	must(t, archive.Removals(t.Context(), s, "s", 0, func(step archive.Step, err error) error {
		for _, m := range step.Before {
			text := textOf(m)
			texts = append(texts, text)
			for hash := range embed.TermsOfText(text).Counts() {
				words[hash] = true
			}
		}
		return err
	}))
	data, err := os.ReadFile(d.IndexPath("s"))
	must(t, err)
	segments, _ := decodeFile(data)
	for _, seg := range segments {
		texts = append(texts, seg.words()...)
	}
	texts = append(texts, k.made...)
	for _, secret := range secrets {
		kinds[secret.Kind] = true
		r, err := s.Search(t.Context(), []string{"s"}, Query{Text: secret.Value, Tokens: 300})
		must(t, err)
		shown, err := json.Marshal(r)
		must(t, err)
		for _, text := range append(texts, r.Text(), string(shown)) {
			if leak := secret.Leaks(text); leak != "" {
				t.Errorf("%s in %s: %q can be read", secret.Kind, secret.Form, leak)
				break
			}
		}
		for hash := range embed.TermsOfText(secret.Value).Counts() {
			for _, seg := range segments {
				if !words[hash] && len(seg.postingsOf(hash)) > 0 {
					t.Errorf("%s in %s: the index has a word of %q", secret.Kind, secret.Form, secret.Value)
				}
			}
		}
	}
	if len(kinds) < 20 || len(k.made) < 100 || len(segments) != 1 {
		t.Errorf("%d kinds, %d texts for vectors, %d segments", len(kinds), len(k.made), len(segments))
	}
	must(t, s.Close())
}
