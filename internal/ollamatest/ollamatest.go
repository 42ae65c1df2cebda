// Package ollamatest connects tests to a real Ollama server, and counts their
// requests. Such tests are named TestReal…, so that .ci/run finds them.
package ollamatest

import (
	"os"
	"strings"
	"testing"
)

// Env is the environment variable with the address of the server.
const Env = "TIERCOMPACT_OLLAMA"

// The models of the server. The first two have real weights; the tiny ones have
// random weights: they are for dimensions and windows.
const (
	Chat         = "real-smol"   // SmolLM2-135M-Instruct, window 8,192
	Embedder     = "real-minilm" // all-MiniLM-L6-v2, 384 dimensions, window 512
	Tiny         = "tinyllama"   // Llama 3.2's vocabulary and template, window 8,192
	TinyLong     = "tinylong"    // the same, window 65,536: holds the prompts of assistants
	TinyEmbedder = "tinybert"    // BERT's vocabulary, 64 dimensions, window 2,048
	TinyGemma2   = "tinygemma2"  // Gemma 2's vocabulary, on llama.cpp
	TinyGemma3   = "tinygemma3"  // the same, on Ollama's own engine
	TinyQwen2    = "tinyqwen2"   // Qwen's vocabulary, on llama.cpp
	TinyQwen3    = "tinyqwen3"   // the same, on Ollama's own engine
)

// Threads is the number of threads of the tests' models (num_thread). Threads wait
// for each other, which takes thirty times as long on a busy machine.
const Threads = 1

// URL returns the base address of the server, and skips the test if there is none.
func URL(t testing.TB) string {
	t.Helper()
	url := os.Getenv(Env)
	if url == "" {
		t.Skip("needs an Ollama server: run `make ollama`")
	}
	return strings.TrimSuffix(url, "/")
}
