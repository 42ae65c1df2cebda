package tiercompact

import (
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/summarize"
)

// recordWork adds the messages since the last round to the record of the work, and
// returns a copy and the number of messages ever added that are in it. cfg is that of
// the round.
func (s *Session) recordWork(cfg *settings) (*summarize.Record, int) {
	s.recording.Lock() // a dry run and a round may plan at the same time
	defer s.recording.Unlock()
	s.mu.Lock()
	fresh, added := s.fresh, s.t.added
	s.fresh = nil
	if s.work == nil {
		s.work = summarize.NewRecord("")
	}
	work := s.work
	s.mu.Unlock()
	request := summarize.Request{Messages: fresh}
	if cfg.known != nil {
		request = request.Redacted(cfg.safely(cfg.secrets))
	}
	for _, m := range request.Messages {
		work.Add(m)
	}
	return work.Clone(), added
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
