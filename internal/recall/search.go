package recall

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/embed"
)

// A snapshot is the passages of some sessions while they are searched, in the order of
// their conversations.
type snapshot struct {
	indexes  []*index // by session
	segments []*segment
	owner    []int   // index of each segment's session
	base     []int32 // number of each segment's first passage
	lengths  []int32
	order    []int32 // passages, in the order of the conversations
	ordered  bool    // order is that of the passages
	code     bool    // messages of tools are among them

	table func() *fileTable // made by the first search of code
	last  struct {
		sync.Mutex
		context string
		scores  []float64 // of context
	}
}

func newSnapshot(indexes []*index, segments [][]*segment) *snapshot {
	s := &snapshot{indexes: indexes}
	tools, messages := 0, 0
	for i, list := range segments {
		for _, seg := range list {
			s.owner, s.base = append(s.owner, i), append(s.base, int32(len(s.lengths)))
			s.segments = append(s.segments, seg)
			for _, d := range seg.docs {
				s.lengths = append(s.lengths, d.length)
			}
			for _, m := range seg.messages {
				tools += flag(m.tool > 0)
			}
			messages += len(seg.messages)
		}
	}
	s.code = 5*tools > messages
	s.order = make([]int32, len(s.lengths))
	keys := make([]uint64, len(s.lengths))
	for k, seg := range s.segments {
		for at, d := range seg.docs {
			m := &seg.messages[d.message]
			keys[s.base[k]+int32(at)] = uint64(s.owner[k])<<56 | uint64(uint32(m.number))<<24 | uint64(min(m.piece, 1<<8-1))<<16 | uint64(min(d.part, 1<<16-1))
		}
	}
	sorted := true
	for i := range s.order {
		s.order[i] = int32(i)
		sorted = sorted && (i == 0 || keys[i-1] <= keys[i])
	}
	if s.ordered = sorted; !sorted {
		slices.SortFunc(s.order, func(a, b int32) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	}
	s.table = sync.OnceValue(s.newFileTable)
	return s
}

// place returns passage n, and the index of its session.
func (s *snapshot) place(n int32) (place, int) {
	k := s.segmentOf(n)
	return s.segments[k].place(n - s.base[k]), s.owner[k]
}

func (s *snapshot) segmentOf(n int32) int {
	k, found := slices.BinarySearch(s.base, n)
	if !found {
		k--
	}
	for len(s.segments[k].docs) == 0 || n-s.base[k] >= int32(len(s.segments[k].docs)) { // of several with one base, the one that has it
		k++
	}
	return k
}

func (s *snapshot) corpus() embed.Corpus {
	return embed.Corpus{Lengths: s.lengths, Postings: func(hash uint32, list []embed.Posting) []embed.Posting {
		for k, seg := range s.segments {
			list = seg.appendPostings(hash, s.base[k], list)
		}
		return list
	}}
}

// CodeWeights returns the weights of measures for what a coding session removed; see
// docs/RECALL.md. Those of a dialogue are [embed.DialogueWeights].
func CodeWeights() embed.Weights {
	return embed.Weights{Lexical: 0.5, Neighbour: 0.2, Nearby: 0.3, Recency: 0.1}
}

// A ranked passage.
type ranked struct {
	doc   int32
	at    int32 // in the order of the conversation
	score float64
	tier  int // of what it has verbatim; the highest is first
}

// scores are those of all passages in the order of the conversations.
type scores struct {
	words []float64 // of words alone
	fused []float64
	all   bool // all passages match
	reach int  // how far from a passage with a word others match
}

// scoresOf fuses scores in the order of passages; with cosines, all passages match.
func (s *snapshot) scoresOf(words string, lexical, cosines []float64) scores {
	w := embed.DialogueWeights()
	if s.code {
		w = CodeWeights()
	}
	out := scores{words: s.inOrder(lexical), all: cosines != nil || strings.TrimSpace(words) == "", reach: 1}
	if w.Further > 0 {
		out.reach = 2
	}
	out.fused = embed.Fuse(s.inOrder(cosines), out.words, w)
	return out
}

// matching yields the passages that match, as indices.
func (c scores) matching() iter.Seq[int] {
	return func(yield func(int) bool) {
		until, next := -1, 0 // the last passage near one with a word so far, and the first that was not looked at
		for i := range c.fused {
			for ; next < len(c.words) && next <= i+c.reach; next++ {
				if c.words[next] > 0 {
					until = next + c.reach
				}
			}
			if (c.all || i <= until) && !yield(i) {
				return
			}
		}
	}
}

// rank returns the passages that match and pass the filters of q.
func (s *snapshot) rank(q Query, c scores) []ranked {
	out := make([]ranked, 0, len(c.fused))
	for i := range c.matching() {
		if d := s.order[i]; s.passes(q, d) {
			out = append(out, ranked{doc: d, at: int32(i), score: c.fused[i]})
		}
	}
	return out
}

// first returns the best n passages that match, the best first.
func (s *snapshot) first(n int, c scores) []int32 {
	best := make([]ranked, 0, n+1)
	for i := range c.matching() {
		r := ranked{doc: s.order[i], at: int32(i), score: c.fused[i]}
		if len(best) == n && compareRanked(best[n-1], r) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, r, compareRanked)
		best = slices.Insert(best, at, r)
		best = best[:min(n, len(best))]
	}
	docs := make([]int32, len(best))
	for i, r := range best {
		docs[i] = r.doc
	}
	return docs
}

// inOrder returns the scores of passages in the order of the conversations.
func (s *snapshot) inOrder(scores []float64) []float64 {
	if s.ordered || scores == nil {
		return scores
	}
	out := make([]float64, len(scores))
	for i, d := range s.order {
		out[i] = scores[d]
	}
	return out
}

// maxMentioning is the number of passages in which names of files are looked for.
const maxMentioning = 4

// codeRanking returns what is known of files for a query of a coding session.
func (s *snapshot) codeRanking(ctx context.Context, store *readers, q Query, words string, lexical []float64, of scores) (*codeRanking, error) {
	c := &codeRanking{snapshot: s, table: s.table(), query: words, lexical: lexical, defines: s.definesOf(words)}
	if !announcesWork(words) {
		return c, nil
	}
	if q.Context == "" && len(s.indexes) == 1 {
		q.Context = s.indexes[0].newestContext(ctx, s.segments, store)
	}
	c.context = s.contextScores(q.Context)
	texts, err := s.read(ctx, store, s.first(maxMentioning, of))
	c.mentioned = make(map[string]bool)
	for _, text := range texts {
		for _, p := range pathLike.FindAllString(text, -1) {
			c.mentioned[path.Base(p)] = true
		}
	}
	if errors.Is(err, archive.ErrDamaged) {
		err = nil // the passages that are shown report it
	}
	return c, err
}

// passes reports whether a passage passes the filters.
func (s *snapshot) passes(q Query, d int32) bool {
	if q.File == "" && q.Role == "" && q.Tool == "" && q.Since.IsZero() {
		return true
	}
	p, _ := s.place(d)
	return (q.Role == "" || roles[p.msg.role] == q.Role) &&
		(q.Since.IsZero() || p.step().time >= q.Since.Unix()) &&
		(q.Tool == "" || strings.EqualFold(p.word(p.msg.tool), q.Tool)) &&
		(q.File == "" || isPathEnd(p.word(p.msg.file), q.File))
}

// isPathEnd reports whether end is path, or the last names in it.
func isPathEnd(path, end string) bool {
	end = strings.TrimPrefix(strings.ReplaceAll(end, "\\", "/"), "./")
	path = strings.ReplaceAll(path, "\\", "/")
	rest, ok := strings.CutSuffix(path, end)
	return ok && end != "" && (rest == "" || strings.HasSuffix(rest, "/") || strings.HasPrefix(end, "/"))
}

// compareRanked orders the better first, of equals the newer.
func compareRanked(a, b ranked) int {
	switch {
	case a.tier != b.tier:
		return b.tier - a.tier
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return int(b.at) - int(a.at)
}

// maxRanked is the number of passages that are put in order: an answer never has more.
const maxRanked = 2000

// sortRanked returns the best of all in order. The rest is only partitioned off, so that
// the time of a large archive is linear.
func sortRanked(all []ranked) []ranked {
	low, high := 0, len(all)
	for high-low > maxRanked && low < maxRanked {
		pivot := all[low+(high-low)/2]
		i, k := low, high-1
		for i <= k {
			for compareRanked(all[i], pivot) < 0 {
				i++
			}
			for compareRanked(all[k], pivot) > 0 {
				k--
			}
			if i <= k {
				all[i], all[k] = all[k], all[i]
				i, k = i+1, k-1
			}
		}
		if i < maxRanked {
			low = i
		} else {
			high = i
		}
	}
	best := all[:min(high, len(all))]
	slices.SortFunc(best, compareRanked)
	return best[:min(len(best), maxRanked)]
}

// What a query asks for verbatim.
type verbatim struct {
	phrases []string // in double quotes
	paths   []string
	ids     []string
}

var (
	quoted   = regexp.MustCompile(`"([^"\n]{2,})"|“([^”\n]{2,})”`)
	pathLike = regexp.MustCompile(`[A-Za-z0-9_.@~+-]*(?:/[A-Za-z0-9_.@+-]+)+|[A-Za-z0-9_-]+\.[A-Za-z][A-Za-z0-9]{0,9}`)
	idLike   = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
)

// verbatimOf returns what a query asks for verbatim, and its words.
func verbatimOf(text string) (v verbatim, words string) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		v.phrases = append(v.phrases, cmp.Or(m[1], m[2]))
	}
	v.ids = idLike.FindAllString(text, -1)
	for _, p := range pathLike.FindAllString(text, -1) {
		v.paths = append(v.paths, strings.TrimRight(p, "."))
	}
	return v, strings.NewReplacer(`"`, " ", "“", " ", "”", " ").Replace(text)
}

// maxChecked is the number of passages whose text is read for a phrase.
const maxChecked = 400

// promote puts the passages first that have what the query asks for verbatim. It reports
// whether there are any.
func (s *snapshot) promote(ctx context.Context, store *readers, v verbatim, all []ranked) (bool, error) {
	found := false
	if len(v.paths)+len(v.ids) > 0 {
		for i := range all {
			p, _ := s.place(all[i].doc)
			file := p.word(p.msg.file)
			if file != "" && slices.ContainsFunc(v.paths, func(path string) bool { return isPathEnd(file, path) || isPathEnd(path, file) }) ||
				slices.Contains(v.ids, p.ref().Entry) {
				all[i].tier, found = 1, true
			}
		}
	}
	if len(v.phrases) == 0 {
		return found, nil
	}
	best := sortRanked(all)
	checked := best[:min(len(best), maxChecked)]
	docs := make([]int32, len(checked))
	for i, r := range checked {
		docs[i] = r.doc
	}
	got, err := s.read(ctx, store, docs)
	for i, text := range got {
		if containsAll(text, v.phrases) {
			checked[i].tier, found = checked[i].tier+2, true
		}
	}
	return found, err
}

func containsAll(text string, phrases []string) bool {
	for _, p := range phrases {
		if !strings.Contains(text, p) && !strings.Contains(strings.ToLower(text), strings.ToLower(p)) {
			return false
		}
	}
	return true
}

// read returns the texts of passages, "" for one that cannot be read; the error then
// wraps archive.ErrDamaged.
func (s *snapshot) read(ctx context.Context, store *readers, docs []int32) ([]string, error) {
	messages, err := s.readMessages(ctx, store, docs)
	out := make([]string, len(docs))
	for i, text := range messages {
		p, _ := s.place(docs[i])
		if sp, ok := spanAt(text, p); ok {
			out[i] = text[sp.start:sp.end]
		}
	}
	return out, err
}

// maxCached is the size in bytes of the texts that an index keeps in memory: the next
// query of a session often has the same hits.
const maxCached = 1 << 20

func (x *index) cachedText(m *message) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	text, known := x.texts[m]
	return text, known
}

func (x *index) cacheTexts(places []place, texts []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, p := range places {
		if x.textSize > maxCached || x.texts == nil {
			x.texts, x.textSize = make(map[*message]string), 0
		}
		if text := texts[i]; text != "" && len(text) <= maxCached/8 {
			x.texts[p.msg] = text
			x.textSize += len(text)
		}
	}
}

// readers are open readers of removed text, by session, for one search.
type readers struct {
	store archive.Store
	open  map[string]*archive.RemovedReader
}

func newReaders(store archive.Store) *readers {
	return &readers{store, make(map[string]*archive.RemovedReader)}
}

func (r *readers) of(ctx context.Context, session string) (*archive.RemovedReader, error) {
	if reader := r.open[session]; reader != nil {
		return reader, nil
	}
	reader, err := archive.OpenRemoved(ctx, r.store, session)
	if err == nil {
		r.open[session] = reader
	}
	return reader, err
}

func (r *readers) close() {
	for _, reader := range r.open {
		reader.Close()
	}
}

// spanAt returns where a passage is in the text of its message.
func spanAt(text string, p place) (span, bool) {
	part := int(p.docs[p.at].part)
	spans := passagesOf(text)
	if part >= len(spans) {
		return span{}, false
	}
	return spans[part], true
}

// readMessages returns the texts of the messages of passages. Each is read once.
func (s *snapshot) readMessages(ctx context.Context, store *readers, docs []int32) ([]string, error) {
	type key struct {
		owner int
		msg   *message
	}
	at := make(map[key]int)
	out := make([]string, len(docs))
	wanted := make([][]place, len(s.indexes))
	keys := make([]key, len(docs))
	for i, d := range docs {
		p, owner := s.place(d)
		keys[i] = key{owner, p.msg}
		if text, known := s.indexes[owner].cachedText(p.msg); known {
			out[i], keys[i].msg = text, nil
			continue
		}
		if _, there := at[keys[i]]; !there {
			at[keys[i]] = len(wanted[owner])
			wanted[owner] = append(wanted[owner], p)
		}
	}
	var damaged error
	got := make([][]string, len(s.indexes))
	for owner, places := range wanted {
		if len(places) == 0 {
			continue
		}
		reader, err := store.of(ctx, s.indexes[owner].session)
		if err != nil {
			return nil, err
		}
		list, err := texts(ctx, reader, places)
		if list == nil {
			return nil, err
		}
		got[owner], damaged = list, errors.Join(damaged, err)
		s.indexes[owner].cacheTexts(places, list)
	}
	for i, k := range keys {
		if k.msg != nil {
			out[i] = got[k.owner][at[k]]
		}
	}
	return out, damaged
}

// hitOf returns the hit for passage d, in the text of its message.
func (s *snapshot) hitOf(d int32, message string) (Hit, bool) {
	p, owner := s.place(d)
	sp, ok := spanAt(message, p)
	if !ok {
		return Hit{}, false
	}
	h := Hit{
		Session: s.indexes[owner].session, ID: p.ref().Entry, Message: int(p.msg.number), Role: roles[p.msg.role],
		Tool: p.word(p.msg.tool), Args: p.word(p.msg.args), File: p.word(p.msg.file), Failed: p.msg.failed,
		Part: int(p.docs[p.at].part) + 1, Parts: int(p.msg.passages), msg: p.msg,
	}
	text := message[sp.start:sp.end]
	h.Text = strings.TrimRight(text, "\n")
	h.blank = max(0, len(text)-len(h.Text)-1)
	h.Time = timeOf(p.step().time)
	from, numbered := firstLine(message, sp)
	if h.From = from; numbered {
		h.Text = withoutNumbers(h.Text)
	}
	h.To = h.From + strings.Count(h.Text, "\n")
	h.Title = h.title()
	return h, true
}
