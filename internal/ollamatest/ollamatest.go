// Package ollamatest leads tests to a real Ollama server, and counts what they
// ask of it. Such tests are named TestReal…, so that .ci/run finds them.
package ollamatest

import (
	"os"
	"strings"
	"testing"
)

// Env names the environment variable that holds the address of the server.
const Env = "TIERCOMPACT_OLLAMA"

// The models that the server has. The first two have real weights, the tiny
// ones have random weights: they are for shapes and windows.
const (
	Chat         = "real-smol"   // SmolLM2-135M-Instruct, window 8,192
	Embedder     = "real-minilm" // all-MiniLM-L6-v2, 384 dimensions, window 512
	Tiny         = "tinyllama"   // Llama 3.2's vocabulary and template, window 8,192
	TinyEmbedder = "tinybert"    // BERT's vocabulary, 64 dimensions, window 2,048
)

// Threads is how many the models of tests compute with (num_thread). Several
// wait for each other in turn, and where the machine is busy that takes thirty
// times as long.
const Threads = 1

// URL returns the base address of the server, and skips the test where there
// is none.
func URL(t testing.TB) string {
	t.Helper()
	url := os.Getenv(Env)
	if url == "" {
		t.Skip("needs an Ollama server: run `make ollama`")
	}
	return strings.TrimSuffix(url, "/")
}
