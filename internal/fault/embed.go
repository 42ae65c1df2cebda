package fault

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"unicode"
)

type embedRequest struct {
	Model    string
	Input    json.RawMessage
	Truncate *bool
}

// inputTexts returns the texts to embed; ok is false if Input has other values.
func (q embedRequest) inputTexts() (texts []string, ok bool) {
	if json.Unmarshal(q.Input, &texts) == nil {
		return texts, true
	}
	var one string
	if json.Unmarshal(q.Input, &one) != nil {
		return nil, false
	}
	return []string{one}, true
}

func (s *Server) serveEmbed(w http.ResponseWriter, r *http.Request) {
	var q embedRequest
	if !decodeRequest(w, r, &q) {
		return
	}
	texts, textual := q.inputTexts()
	m, ok := s.findModel(q.Model)
	switch {
	case !textual:
		refuseRequest(w, r, http.StatusBadRequest, "invalid input type")
		return
	case !ok:
		refuseRequest(w, r, http.StatusNotFound, fmt.Sprintf("model %q not found, try pulling it first", q.Model))
		return
	case !m.hasCapability(Embedding):
		refuseRequest(w, r, http.StatusNotImplemented, "this model does not support embeddings")
		return
	}
	window := s.loadWindow(m, 0)
	total := 0
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		size := 2 + len(text)/4 // begin and end
		if size > window {
			if q.Truncate != nil && !*q.Truncate {
				refuseRequest(w, r, http.StatusBadRequest, tooLong)
				return
			}
			text, size = text[:(window-2)*4], window
		}
		total += size
		vectors[i] = wordVector(text, m.Dimensions)
	}
	replyVectors(w, r, q.Model, vectors, total)
}

func replyVectors(w http.ResponseWriter, r *http.Request, model string, vectors [][]float32, total int) {
	if !isOpenAIPath(r.URL.Path) {
		writeReply(w, http.StatusOK, map[string]any{"model": model, "embeddings": vectors, "total_duration": 2_000_000, "load_duration": 1_000_000, "prompt_eval_count": total})
		return
	}
	data := []any{}
	for i, v := range vectors {
		data = append(data, map[string]any{"object": "embedding", "embedding": v, "index": i})
	}
	writeReply(w, http.StatusOK, map[string]any{"object": "list", "data": data, "model": model, "usage": map[string]any{"prompt_tokens": total, "total_tokens": total}})
}

// wordVector returns the words of a text as a vector of length 1: texts with common
// words are close to each other.
func wordVector(text string, dimensions int) []float32 {
	v := make([]float64, dimensions)
	v[0] = 0.1 // words add whole numbers, so that every text has a direction
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New32a()
		h.Write([]byte(word))
		sum := h.Sum32()
		v[int(sum%uint32(dimensions))] += 1 - 2*float64(sum>>31)
	}
	var norm float64
	for _, x := range v {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	out := make([]float32, dimensions)
	for i, x := range v {
		out[i] = float32(x / norm)
	}
	return out
}
