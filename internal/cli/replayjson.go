package cli

import (
	"io"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// jsonView shows a replay as JSON lines.
type jsonView struct{ w io.Writer }

func newJSONShower(w io.Writer) jsonView { return jsonView{w} }

func (s jsonView) showStart(tiercompact.Config) {}

func (s jsonView) showMessage(b replayStep) {
	failed := ""
	if b.err != nil {
		failed = b.err.Error()
	}
	_ = writeJSONLine(s.w, struct { // end reports the errors of stdout too
		Type     string             `json:"type"`
		Index    int                `json:"index"`
		Role     chat.Role          `json:"role"`
		Standing int                `json:"standing"`
		Left     int                `json:"left"`
		Error    string             `json:"error,omitempty"`
		Report   tiercompact.Report `json:"report"`
	}{"message", b.index + 1, b.message.Role, b.messages, b.left, failed, b.report})
}

func (s jsonView) showEnding(e ending) error {
	return writeJSONLine(s.w, struct {
		Type string `json:"type"`
		ending
	}{"end", e})
}
