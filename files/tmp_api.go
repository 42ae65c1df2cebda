package files

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

type shape struct{}

// Scan …
func Scan(m chat.Message, call *chat.Part) *Facts { return &Facts{} }

// Index …
type Index struct {
	t     chat.Transcript
	facts []*Facts
}

// NewIndex …
func NewIndex(t chat.Transcript, facts []*Facts) *Index { return &Index{t, facts} }

// Stale …
func (x *Index) Stale(i int, c Copy, after int) bool { return false }

// OutlineOptions …
type OutlineOptions struct {
	Max    int                   // tokens, all included
	Count  func(text string) int // tokens of a text
	Recall string                // recall id
	Focus  []string              // identifiers of recent messages
	Edited []string              // texts that were edited before: their lines are kept verbatim
	Note   string                // for example "changed since, message 12"
	Ledger []string              // identifiers that would be gone from the conversation
}

// Outline …
func Outline(path, text string, o OutlineOptions) string { return text }

// DigestOptions …
type DigestOptions struct {
	Max    int
	Count  func(text string) int
	Recall string
	Focus  []string
	Ledger []string
}

// Digest …
func Digest(text string, o DigestOptions) string { return text }

// Identifiers …
func Identifiers(text string) []string { return nil }

// LedgerOf …
func LedgerOf(removed, kept []chat.Message, maxTokens int, count func(string) int) []string {
	return nil
}

// AttachText returns …
func AttachText(path, text string) string {
	return "<file path=\"" + strings.ReplaceAll(path, `"`, "&quot;") + "\">\n" + text + "\n</file>"
}

// RecallID …
func RecallID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}
