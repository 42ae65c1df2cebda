package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

func matchSession(p probe) int {
	for _, v := range p.values {
		if v.hasMember("v") && (v.memberValue("session").hasMember("session") || v.hasMember("n") && v.hasMember("sum")) {
			return 95
		}
	}
	return 0
}

// decodeSessionFile reads the file of a tiercompact chat: the current conversation. Only
// package archive knows the meaning and the integrity checks of its records, so
// that both read the same.
func decodeSessionFile(src *source) ([]Conversation, error) {
	text := strings.NewReader(src.text + src.partialRune)
	state, err := archive.DecodeSession(text)
	if err != nil && src.lenient && !errors.Is(err, archive.ErrVersion) {
		var found archive.Recovery
		text.Reset(src.text + src.partialRune)
		if state, found, err = archive.DecodeDamagedSession(text); err == nil {
			src.skipped += len(found.Damages)
		}
	}
	if err != nil {
		return nil, src.brokenSession(err)
	}
	if state.Torn > 0 {
		src.unfinishedLine = 1 + strings.Count(src.text, "\n")
	}
	l := &messageLog{}
	for i, m := range state.Messages {
		if m, err = l.ofSession(m); err != nil {
			if err = src.skipRecord(src.sourceError(ErrField, 0, fmt.Sprintf("message %d", i+1), err.Error(), "leave such messages out with --lenient")); err != nil {
				return nil, err
			}
			continue
		}
		l.appendMessage(m)
	}
	return l.singleConversation(Conversation{Format: "session", Model: state.Meta.Model, Title: state.Meta.Session}), nil
}

// brokenSession returns the error for a session file that is damaged, or written by
// a newer tiercompact.
func (s *source) brokenSession(err error) *Error {
	problem, remedy, line := err, "leave such records out with --lenient", 0
	if at, ok := errors.AsType[*archive.RecordError](err); ok {
		problem, line = at.Err, at.Line
	}
	text, _, _ := strings.Cut(problem.Error(), ";")
	if errors.Is(err, archive.ErrVersion) {
		remedy = "read it with that tiercompact"
	}
	return s.sourceError(ErrBroken, line, "", text, remedy)
}

// ofSession returns a message of a session in the form of a read-only one. Its
// source before the session is no longer known.
func (l *messageLog) ofSession(m chat.Message) (chat.Message, error) {
	m.Source, m.Index, m.Changed = nil, 0, false
	m.ID = strings.ToValidUTF8(m.ID, "\uFFFD")
	parts := make([]chat.Part, len(m.Parts))
	for i, p := range m.Parts {
		p.Raw = ""
		for _, s := range []*string{&p.Text, &p.ID, &p.Name, &p.Args} {
			*s = strings.ToValidUTF8(*s, "\uFFFD")
		}
		switch {
		case (p.Kind == chat.Result) != (m.Role == chat.Tool && i == 0):
			return m, fmt.Errorf("a %s does not belong there in a message of role %s", p.Kind, m.Role)
		case p.Kind == chat.Call && m.Role != chat.Assistant:
			return m, fmt.Errorf("a call in a message of role %s", m.Role)
		case p.Kind == chat.Call:
			p.ID = l.calls.assignCallID(p.ID, p.Name)
			if !json.Valid([]byte(p.Args)) {
				p.Args = argumentsText(quotedJSON(p.Args))
			}
		case p.Kind == chat.Result:
			p.ID = l.calls.resultCallID(p.ID, p.Name)
		}
		parts[i] = p
	}
	if m.Parts = parts; m.Role == chat.Tool && len(parts) == 0 {
		return m, errors.New("a result is missing in a message of role tool")
	}
	return m, nil
}
