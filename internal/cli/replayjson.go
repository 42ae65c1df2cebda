package cli

import (
	"encoding/json"
	"io"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// jsonView shows a replay as JSON lines.
type jsonView struct{ e *json.Encoder }

func newJSONShower(w io.Writer) jsonView {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return jsonView{e}
}

func (s jsonView) showStart(tiercompact.Config) {}

func (s jsonView) showMessage(b replayStep) {
	failed := ""
	if b.err != nil {
		failed = b.err.Error()
	}
	_ = s.e.Encode(struct { // what stdout refuses, end finds too
		Type     string             `json:"type"`
		Index    int                `json:"index"`
		Role     chat.Role          `json:"role"`
		Standing int                `json:"standing"`
		Left     int                `json:"left"`
		Error    string             `json:"error,omitempty"`
		Report   tiercompact.Report `json:"report"`
	}{"message", b.index + 1, b.message.Role, b.standing, b.left, failed, b.report})
}

func (s jsonView) showEnding(e ending) error {
	return s.e.Encode(struct {
		Type string `json:"type"`
		ending
	}{"end", e})
}
