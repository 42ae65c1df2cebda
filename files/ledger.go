package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// ledgerHead begins the line that holds a ledger.
const ledgerHead = "also: "

// ledgerLine returns the identifiers of ledger that body does not show, as many
// as size bytes hold, or the empty string.
func ledgerLine(ledger []string, body string, size int) string {
	if len(ledger) == 0 {
		return ""
	}
	shown := make(map[uint32]bool)
	eachIdent(body, func(start, end int) { shown[hashIdent(body[start:end])] = true })
	var b strings.Builder
	for _, id := range ledger {
		if shown[hashIdent(id)] || b.Len()+len(id)+len(ledgerHead) >= size {
			continue
		}
		if b.Len() == 0 {
			b.WriteString(ledgerHead)
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(id)
	}
	return b.String()
}

// LedgerOf returns the identifiers that removed messages name and no kept
// message does, the most recently mentioned first, as many as maxTokens hold
// when they are joined by blanks. removed and kept stand in the order of the
// conversation.
func LedgerOf(removed, kept []chat.Message, maxTokens int, count func(string) int) []string {
	known := make(map[string]bool)
	for _, m := range kept {
		eachText(m, func(text string) {
			eachIdent(text, func(start, end int) { known[text[start:end]] = true })
		})
	}
	var out []string
	for i := len(removed) - 1; i >= 0; i-- {
		eachText(removed[i], func(text string) {
			eachIdent(text, func(start, end int) {
				if id := text[start:end]; !known[id] && end-start <= 200 {
					known[id] = true
					out = append(out, id)
				}
			})
		})
	}
	return fitting(out, maxTokens, count)
}

// fitting returns as many of ids, from the first on, as limit tokens hold.
func fitting(ids []string, limit int, count func(string) int) []string {
	if limit <= 0 || len(ids) == 0 {
		return nil
	}
	low, high := 0, min(len(ids), limit)
	for low < high {
		mid := (low + high + 1) / 2
		if count(strings.Join(ids[:mid], " ")) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return ids[:low]
}

// eachText calls yield with the texts of a message that a ledger is made of.
func eachText(m chat.Message, yield func(text string)) {
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Text, chat.Result, chat.Summary:
			yield(p.Text)
		case chat.Call:
			yield(p.Name)
			if all := leaves(p.Args); all != nil {
				for _, l := range all {
					yield(l.value)
				}
			} else {
				yield(p.Args)
			}
		}
	}
}
