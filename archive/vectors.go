package archive

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
	"time"

	"github.com/gofrs/flock"
	"github.com/philippgille/chromem-go"

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
// hashes of their texts, which are those of the archive: redacted.
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
func embedTexts(ctx context.Context, e embed.Embedder, texts []string) (memoryVectors, error) {
	vectors, err := e.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

// newVectors returns the vectors of a session's pieces. If the embedder has a
// folder for them, like [embed.Model] with a cache on disk, they are stored there.
// If the folder cannot be used, they are only computed anew.
func newVectors(ctx context.Context, e embed.Embedder, session string, texts []string) (pieceVectors, error) {
	f, ok := e.(interface{ IndexFolder() string })
	if !ok || f.IndexFolder() == "" {
		return embedTexts(ctx, e, texts)
	}
	folder := filepath.Join(f.IndexFolder(), hashOf(session))
	if v, err := keepVectors(ctx, e, folder, texts); err == nil {
		return v, nil
	}
	return embedTexts(ctx, e, texts)
}

// keepVectors brings the collection in a folder up to date with texts.
func keepVectors(ctx context.Context, e embed.Embedder, folder string, texts []string) (_ *storedVectors, err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(folder + ".lock")
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	v := &storedVectors{ids: make([]string, len(texts))}
	for i, text := range texts {
		v.ids[i] = hashOf(text)
	}
	kept := readVectors(ctx, folder, v.ids)
	missing := make(map[string]string)
	var ids, wanted []string
	for i, id := range v.ids {
		if missing[id] == "" && kept[id] == nil {
			missing[id] = texts[i]
			ids, wanted = append(ids, id), append(wanted, texts[i])
		}
	}
	made, err := embedTexts(ctx, e, wanted)
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
	panic("archive: every document has its vector") // this package adds a vector to each one
}
