package recall

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/philippgille/chromem-go"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/embed"
)

// pieceVectors are the vectors of the pieces of an index.
type pieceVectors interface {
	// cosines returns that of each piece with a query.
	cosines(ctx context.Context, query []float32) ([]float64, error)
}

// memoryVectors are in memory alone.
type memoryVectors [][]float32

func (v memoryVectors) cosines(_ context.Context, query []float32) ([]float64, error) {
	for _, one := range v {
		if len(one) != len(query) {
			return nil, fmt.Errorf("a query has %d dimensions, the entries have %d", len(query), len(one))
		}
	}
	return embed.Cosine(query, v), nil
}

// storedVectors are in a collection on disk. It holds vectors alone, under the
// hashes of their places and texts.
type storedVectors struct {
	stored *chromem.Collection
	ids    []string // of the pieces
}

func (v *storedVectors) cosines(ctx context.Context, query []float32) ([]float64, error) {
	results, err := v.stored.QueryEmbedding(ctx, query, v.stored.Count(), nil, nil)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]float64, len(results))
	for _, r := range results {
		byID[r.ID] = float64(r.Similarity)
	}
	cosines := make([]float64, len(v.ids))
	for i, id := range v.ids {
		cosines[i] = byID[id]
	}
	return cosines, nil
}

// embedTexts returns a vector for each text.
func embedTexts(ctx context.Context, e Embedder, texts []string) (memoryVectors, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

func (q Query) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if q.Within <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, q.Within)
}

// queryVector returns the vector of the query's words.
func (q Query) queryVector(ctx context.Context, words string) ([]float32, error) {
	ctx, stop := q.withTimeout(ctx)
	defer stop()
	if e, ok := q.Embedder.(interface {
		EmbedQuery(ctx context.Context, text string) ([]float32, error)
	}); ok {
		return e.EmbedQuery(ctx, words)
	}
	vectors, err := embedTexts(ctx, q.Embedder, []string{words})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// cosines returns the cosine of each passage with the words of the query.
func (s *snapshot) cosines(ctx context.Context, store *readers, q Query, words string) ([]float64, error) {
	if q.Embedder == nil || strings.TrimSpace(words) == "" || len(s.lengths) == 0 {
		return nil, nil
	}
	within, stop := q.withTimeout(ctx)
	defer stop()
	parts := make([]pieceVectors, len(s.indexes))
	docs := s.docsBySession()
	for i := range s.indexes {
		var err error
		if parts[i], err = s.vectorsOf(within, store, q.Embedder, i, docs[i]); err != nil {
			return nil, err
		}
	}
	query, err := q.queryVector(ctx, words)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(s.lengths))
	for i, v := range parts {
		if len(docs[i]) == 0 {
			continue
		}
		cosines, err := v.cosines(ctx, query)
		if err != nil {
			return nil, err
		}
		for k, d := range docs[i] {
			out[d] = cosines[k]
		}
	}
	return out, nil
}

func (s *snapshot) docsBySession() [][]int32 {
	docs := make([][]int32, len(s.indexes))
	for k, seg := range s.segments {
		for at := range seg.docs {
			docs[s.owner[k]] = append(docs[s.owner[k]], s.base[k]+int32(at))
		}
	}
	return docs
}

// vectorsOf returns the vectors of a session's passages. If the embedder has a folder for
// them, like [embed.Model] with a cache on disk, they are kept there. If the folder
// cannot be used, they are only computed anew.
func (s *snapshot) vectorsOf(ctx context.Context, store *readers, e Embedder, session int, docs []int32) (pieceVectors, error) {
	keys := make([]string, len(docs))
	for i, d := range docs {
		p, _ := s.place(d)
		keys[i] = hashOf(fmt.Sprintf("%d/%08x/%d", p.msg.number, p.msg.hash, p.docs[p.at].part))
	}
	read := func(which []int) ([]string, error) {
		wanted := make([]int32, len(which))
		for i, k := range which {
			wanted[i] = docs[k]
		}
		texts, err := s.read(ctx, store, wanted)
		if texts == nil && err != nil {
			return nil, err
		}
		for i, d := range wanted {
			p, _ := s.place(d)
			texts[i] = indexedText(roles[p.msg.role], callInfo{file: p.word(p.msg.file), args: p.word(p.msg.args)}, texts[i])
		}
		return texts, nil
	}
	if f, ok := e.(interface{ IndexFolder() string }); ok && f.IndexFolder() != "" {
		_, address := archive.Where(store.store, s.indexes[session].session, 1)
		folder := filepath.Join(f.IndexFolder(), hashOf(address+"\n"+s.indexes[session].session))
		if v, err := keepVectors(ctx, e, folder, keys, read); err == nil {
			return v, nil
		} else if errors.Is(err, errStale) {
			return nil, err
		}
	}
	all := make([]int, len(docs))
	for i := range all {
		all[i] = i
	}
	texts, err := read(all)
	if err != nil {
		return nil, err
	}
	return embedTexts(ctx, e, texts)
}

// keepVectors brings the collection in a folder up to date with the passages that have
// the keys; read returns the texts of some.
func keepVectors(ctx context.Context, e Embedder, folder string, keys []string, read func(which []int) ([]string, error)) (_ *storedVectors, err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(folder + ".lock")
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	v := &storedVectors{ids: keys}
	kept := readVectors(ctx, folder, keys)
	missing := make(map[string]bool)
	var ids []string
	var which []int
	for i, id := range keys {
		if !missing[id] && kept[id] == nil {
			missing[id] = true
			ids, which = append(ids, id), append(which, i)
		}
	}
	texts, err := read(which)
	if err != nil {
		return nil, err
	}
	made, err := embedTexts(ctx, e, texts)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		kept[id] = made[i]
	}
	if !haveOneDimension(kept) {
		return nil, errors.Join(errors.New("vectors of several dimensions"), os.RemoveAll(folder))
	}
	v.stored, err = writeVectors(ctx, folder, ids, kept)
	return v, err
}

// readVectors returns what a folder has of some vectors. If one of them is damaged,
// all are removed.
func readVectors(ctx context.Context, folder string, ids []string) map[string][]float32 {
	kept := make(map[string][]float32)
	db, err := chromem.NewPersistentDB(folder, false)
	if err != nil {
		os.RemoveAll(folder) // if the removal fails, so does the next write
		return kept
	}
	stored := db.GetCollection(collectionName, neverEmbed)
	if stored == nil {
		return kept
	}
	for _, id := range ids {
		if d, err := stored.GetByID(ctx, id); err == nil && d.Metadata[checksumKey] == checksumOf(id, d.Embedding) {
			kept[id] = d.Embedding
		}
	}
	if stored.Count() > len(kept) || !haveOneDimension(kept) { // damaged, pruned since, or of other weights
		os.RemoveAll(folder)
		clear(kept)
	}
	return kept
}

// writeVectors adds vectors to the collection in a folder.
func writeVectors(ctx context.Context, folder string, ids []string, vectors map[string][]float32) (*chromem.Collection, error) {
	db, err := chromem.NewPersistentDB(folder, false)
	if err != nil {
		return nil, err
	}
	stored, err := db.GetOrCreateCollection(collectionName, nil, neverEmbed)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := stored.AddDocument(ctx, chromem.Document{ID: id, Embedding: vectors[id], Metadata: map[string]string{checksumKey: checksumOf(id, vectors[id])}}); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

const (
	collectionName = "removed"
	checksumKey    = "checksum" // chromem has none
)

func checksumOf(id string, vector []float32) string {
	data := []byte(id)
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return hashOf(string(data))
}

func haveOneDimension(vectors map[string][]float32) bool {
	first := -1
	for _, v := range vectors {
		if first < 0 {
			first = len(v)
		}
		if len(v) != first {
			return false
		}
	}
	return true
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// neverEmbed takes the place of a service that chromem would call.
func neverEmbed(context.Context, string) ([]float32, error) {
	panic("recall: every document has its vector") // this package adds a vector to each one
}
