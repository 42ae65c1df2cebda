package tiercompact

import (
	"maps"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// recordWork adds the messages that are not yet in the record of the work, and returns a
// copy and the number of messages ever added that are in it. cfg is that of the round.
func (s *Session) recordWork(cfg *settings) (*summarize.Record, int) {
	s.recording.Lock() // a dry run and a round may plan at the same time
	defer s.recording.Unlock()
	var secrets func(string) string
	if cfg.known != nil {
		secrets = cfg.safely(cfg.secrets)
	}
	work, added := s.recordFresh(secrets)
	return work.Clone(), added
}

// recordArrived adds new messages to the record of the work, so that a round need not. A
// caller's redaction is left to the rounds: only they wait for it.
func (s *Session) recordArrived(messages []chat.Message) {
	if s.cfg.ownRedact {
		return
	}
	plain := s.learnSecrets(messages)
	var secrets func(string) string
	if s.cfg.known != nil {
		secrets = s.cfg.secretsBeside(plain)
	}
	s.recording.Lock()
	s.recordFresh(secrets)
	s.recording.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = withTexts(s.plain, plain)
}

// recordFresh adds the messages that are not yet in the record of the work, without
// secrets; nil leaves them as they are. Its caller holds s.recording.
func (s *Session) recordFresh(secrets func(string) string) (work *summarize.Record, added int) {
	s.mu.Lock()
	fresh, added := s.fresh, s.t.added
	s.fresh = nil
	if s.work == nil {
		s.work = summarize.NewRecord("")
	}
	work = s.work
	s.mu.Unlock()
	request := summarize.Request{Messages: fresh}
	if secrets != nil {
		request = request.Redacted(secrets)
	}
	for _, m := range request.Messages {
		work.Add(m)
	}
	return work, added
}

// withoutLearnt returns text without the secrets that the session has learnt: a message
// may have been recorded before another one showed that it holds one.
func (cfg *settings) withoutLearnt(text string) string {
	if cfg.known == nil {
		return text
	}
	return cfg.known.Remembered(text)
}

// withTexts returns all with more.
func withTexts(all, more map[string]bool) map[string]bool {
	if len(all) == 0 {
		return more
	}
	maps.Copy(all, more)
	return all
}

// restoreWork continues the record of the work in a session file. Without one, it
// begins with the conversation.
func (s *Session) restoreWork(st archive.State) {
	s.work = summarize.NewRecord(st.Work.Text)
	since := len(st.Messages)
	if st.Work.Text != "" {
		since = min(since, max(0, st.Added-st.Work.Added))
	}
	s.fresh = slices.Clone(st.Messages[len(st.Messages)-since:])
}

// beginWork begins the record of the work anew with the conversation, after messages
// were taken back. Its caller holds the lock.
func (s *Session) beginWork() {
	s.work, s.fresh = nil, slices.Clone(s.t.messages)
}
