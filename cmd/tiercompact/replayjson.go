package main

import (
	"encoding/json"
	"io"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// jsonShower shows a replay as JSON lines.
type jsonShower struct{ e *json.Encoder }

func newJSONShower(w io.Writer) jsonShower {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return jsonShower{e}
}

func (s jsonShower) begin(tiercompact.Config) {}

func (s jsonShower) beat(b beat) {
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

func (s jsonShower) end(e ending) error {
	return s.e.Encode(struct {
		Type string `json:"type"`
		ending
	}{"end", e})
}
