package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// What the proxy notices of a conversation's next request.
const (
	isNew     = "new"       // no request before began like it
	continues = ""          // the usual case
	branches  = "branch"    // an earlier message was edited, or the client went back
	sideTask  = "side task" // a request for a title, say: the conversation itself goes on without it
	changed   = "changed"   // another system prompt, or other tools
)

// chainOf returns the links of a history, without system messages: those may hold a
// clock.
func chainOf(t chat.Transcript, digests *digestCache) (chain []Link, roles []chat.Role) {
	sent := make(chat.Transcript, 0, len(t))
	for _, m := range t {
		if m.Role != chat.System && m.Role != chat.Developer {
			m.Parts = withoutThinking(m.Parts)
			sent = append(sent, m)
		}
	}
	chain, roles = make([]Link, len(sent)), make([]chat.Role, len(sent))
	var both [2 * len(Link{})]byte
	for i, own := range digests.of(sent) {
		copy(both[len(own):], own[:])
		chain[i], roles[i] = Link(first16(both[:])), sent[i].Role
		copy(both[:], chain[i][:])
	}
	return chain, roles
}

// withoutThinking returns parts without thinking, which clients drop from earlier turns.
func withoutThinking(parts []chat.Part) []chat.Part {
	for i, p := range parts {
		if p.Kind == chat.Thinking {
			out := append([]chat.Part(nil), parts[:i]...)
			for _, p := range parts[i+1:] {
				if p.Kind != chat.Thinking {
					out = append(out, p)
				}
			}
			return out
		}
	}
	return parts
}

func first16(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// signatureOf identifies the system prompt and the tools.
func signatureOf(t chat.Transcript, tools []byte) Link {
	h := sha256.New()
	for _, m := range t {
		if m.Role == chat.System || m.Role == chat.Developer {
			d := edit.MessageDigest(m)
			h.Write(d[:])
		}
	}
	h.Write(tools)
	return Link(h.Sum(nil)[:16])
}

// classify says how a request goes on from tip, with which it has the first common
// links in common. The messages since the newest answer may have changed if an answer
// follows them: a reminder is in the newest request alone.
func classify(chain []Link, roles []chat.Role, signature Link, tip Tip, common int) string {
	switch {
	case common == 0:
		return isNew
	case common < len(tip.Chain) && !(common >= tip.Answered && slices.Contains(roles[common:], chat.Assistant)):
		return branches
	case common < len(tip.Chain), len(chain) == common, roles[common] == chat.Assistant, roles[common-1] == chat.Assistant:
		if signature != tip.Signature {
			return changed
		}
		return continues
	case signature != tip.Signature: // no answer between, and another system prompt or other tools
		return sideTask
	}
	return continues
}

// A place is the conversation that a request belongs to.
type place struct {
	tip     Tip    // as it is after the request
	was     Tip    // its last request, or its parent's; zero: none
	from    string // the id of the conversation whose rounds it repeats; "": none
	noticed string
}

// placeOf finds the conversation of a request.
func placeOf(ctx context.Context, s State, digests *digestCache, r *request) (place, error) {
	t := r.doc.messages()
	chain, roles := chainOf(t, digests)
	p, taken, err := placeIn(ctx, s, r, chain, roles)
	if err == nil && taken { // by another request that came at the same time, perhaps
		p, _, err = placeIn(ctx, s, r, chain, roles)
	}
	return p, err
}

// placeIn finds the place of a chain. It reports whether the client's name was taken by
// a conversation that begins otherwise.
func placeIn(ctx context.Context, s State, r *request, chain []Link, roles []chat.Role) (p place, taken bool, err error) {
	signature := signatureOf(r.doc.messages(), r.doc.tools())
	tip, common, err := s.Find(ctx, r.session, chain)
	if err != nil {
		return place{}, false, fmt.Errorf("find the conversation: %w", err)
	}
	p = place{was: tip, from: tip.ID, noticed: classify(chain, roles, signature, tip, common)}
	p.tip = Tip{ID: tip.ID, Space: r.session, Parent: tip.Parent, Chain: chain, Signature: signature, Window: tip.Window}
	for i, role := range roles {
		if role == chat.Assistant {
			p.tip.Answered = i + 1
		}
	}
	switch p.noticed {
	case isNew:
		if p.tip.ID, taken, err = newID(ctx, s, r.session, chain); err != nil {
			return place{}, false, fmt.Errorf("find the conversation: %w", err)
		}
	case branches, sideTask:
		root, _, _ := strings.Cut(tip.ID, branchMark)
		at := min(common, len(chain)-1)
		p.tip.ID, p.tip.Parent = root+branchMark+hex.EncodeToString(chain[at][:8]), tip.ID
	}
	return p, taken, nil
}

// branchMark separates the id of a conversation and what tells a branch of it.
const branchMark = "~"

// newID returns the id of a conversation that no request began like: the client's name,
// if it is not taken.
func newID(ctx context.Context, s State, name string, chain []Link) (id string, taken bool, err error) {
	if len(chain) == 0 {
		return cmp.Or(name, "auto"), false, nil
	}
	own := hex.EncodeToString(chain[len(chain)-1][:8])
	if name == "" {
		return "auto-" + own, false, nil
	}
	taken, err = s.Has(ctx, name)
	if taken {
		return name + branchMark + own, true, err
	}
	return name, false, err
}
