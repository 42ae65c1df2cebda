package fault

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

const day = "2026-01-02T03:04:05.678901234Z" // when all models were made

func (m Model) modelDigest() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(m.Name))) }

func (m Model) modelDetails() map[string]any {
	m = m.withDefaults()
	return map[string]any{
		"parent_model": "", "format": "gguf", "family": m.Family, "families": []string{m.Family},
		"parameter_size": "3.2B", "quantization_level": "Q4_K_M",
	}
}

func (m Model) listEntry() map[string]any {
	return map[string]any{"name": m.Name, "model": m.Name, "size": int64(2 << 30), "digest": m.modelDigest(), "details": m.modelDetails()}
}

func (s *Server) serveTags(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := []any{}
	for _, m := range s.Models {
		e := m.listEntry()
		e["modified_at"] = day
		entries = append(entries, e)
	}
	writeReply(w, http.StatusOK, map[string]any{"models": entries})
}

func (s *Server) serveLoaded(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := []any{}
	for _, m := range s.Models {
		window, ok := s.loaded[m.Name]
		if !ok {
			continue
		}
		e := m.listEntry()
		e["expires_at"], e["size_vram"], e["context_length"] = day, 0, window
		entries = append(entries, e)
	}
	writeReply(w, http.StatusOK, map[string]any{"models": entries})
}

func (s *Server) serveShow(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Model, Name string }
	if !decodeRequest(w, r, &asked) {
		return
	}
	m, ok := s.findModel(asked.Model + asked.Name) // clients send one of them
	if !ok {
		refuseRequest(w, r, http.StatusNotFound, fmt.Sprintf("model '%s' not found", asked.Model+asked.Name))
		return
	}
	body := map[string]any{
		"modelfile": "FROM " + m.Name + "\n", "template": "{{ .Prompt }}", "details": m.modelDetails(),
		"model_info": map[string]any{
			"general.architecture": m.Family, m.Family + ".context_length": m.Window, m.Family + ".embedding_length": m.Dimensions,
			"tokenizer.ggml.tokens": nil, "tokenizer.ggml.merges": nil,
		},
		"capabilities": m.Capabilities, "modified_at": day,
	}
	if m.RemoteHost != "" {
		body["remote_host"] = m.RemoteHost
	}
	if m.NumCtx > 0 {
		body["parameters"] = fmt.Sprintf("num_ctx                        %d\nstop                           \"<|eot_id|>\"", m.NumCtx)
	}
	writeReply(w, http.StatusOK, body)
}

func (s *Server) servePull(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model, Name string
		Stream      *bool
	}
	if !decodeRequest(w, r, &asked) {
		return
	}
	name := asked.Model + asked.Name
	s.mu.Lock()
	i := slices.IndexFunc(s.Pullable, func(m Model) bool { return m.Name == name || m.Name == name+":latest" })
	var m Model
	if i >= 0 {
		m = s.Pullable[i]
		s.Models = append(slices.DeleteFunc(s.Models, func(have Model) bool { return have.Name == m.Name }), m)
	}
	s.mu.Unlock()
	lines := []any{map[string]any{"status": "pulling manifest"}}
	if i < 0 {
		lines = append(lines, map[string]any{"error": "pull model manifest: file does not exist"})
	} else {
		lines = append(lines, pullLayers(m)...)
	}
	if asked.Stream != nil && !*asked.Stream {
		lines = lines[len(lines)-1:]
	}
	for _, line := range lines {
		streamPart(w, "application/x-ndjson", encodeLine(line))
	}
}

// pullLayers returns the progress of a pull that finds its model.
func pullLayers(m Model) []any {
	const total = 2 << 30
	var lines []any
	for _, done := range []int64{0, total / 4, total / 2, total} {
		lines = append(lines, map[string]any{"status": "pulling " + m.modelDigest()[:12], "digest": "sha256:" + m.modelDigest(), "total": int64(total), "completed": done})
	}
	for _, status := range []string{"verifying sha256 digest", "writing manifest", "success"} {
		lines = append(lines, map[string]any{"status": status})
	}
	return lines
}

func (s *Server) serveModelList(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := []any{}
	for _, m := range s.Models {
		entries = append(entries, map[string]any{"id": m.Name, "object": "model", "created": 1767323045, "owned_by": "library"})
	}
	writeReply(w, http.StatusOK, map[string]any{"object": "list", "data": entries})
}

func (s *Server) serveProps(w http.ResponseWriter, _ *http.Request) {
	if s.Props == 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	writeReply(w, http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{"id": 0, "n_ctx": s.Props}, "total_slots": 1, "model_path": "/models/model.gguf",
	})
}

// streamPart writes a part of an answer and flushes it.
func streamPart(w http.ResponseWriter, form string, part []byte) {
	w.Header().Set("Content-Type", form)
	w.Write(part)
	http.NewResponseController(w).Flush() // a recorder of a test may not flush
}

// Outline is the answer of a test server to any prompt: its last lines with
// content, as a record.
func Outline(prompt string) string {
	var lines []string
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(line); len(line) >= 20 && len(line) <= 160 && line[0] != '=' && line[0] != '[' {
			lines = append(lines, line)
		}
	}
	var b bytes.Buffer
	b.WriteString("## State\n")
	for _, line := range lines[max(0, len(lines)-6):] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n- done so far."
}

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
