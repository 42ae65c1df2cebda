package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// createModel creates m on the server. The files are named by their paths in the
// model's folder: by their base names, as ollama create sends them, one config.json
// would replace another.
func createModel(ctx context.Context, url string, m image) error {
	files := make(map[string]string)
	for name, file := range m.files {
		blob, err := uploadFile(ctx, url, file)
		if err != nil {
			return err
		}
		files[name] = blob
	}
	// Not all requests can set the number of threads: /v1 cannot.
	parameters := map[string]any{"num_thread": ollamatest.Threads}
	request := map[string]any{"model": m.name, "files": files, "stream": false, "parameters": parameters}
	if m.template != "" {
		request["template"] = m.template
	}
	if m.ends != nil {
		parameters["stop"] = m.ends
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := sendRequest(ctx, http.MethodPost, url+"/api/create", bytes.NewReader(body))
	if err != nil {
		return err
	}
	var last struct{ Status, Error string }
	if err := json.Unmarshal(answer, &last); err != nil || last.Status != "success" {
		return fmt.Errorf("the server says: %s", answer)
	}
	return nil
}

// uploadFile uploads a file and returns its name on the server. It first checks for
// the file, because the server closes the connection on a duplicate.
func uploadFile(ctx context.Context, url, file string) (string, error) {
	sum, err := fileDigest(file)
	if err != nil {
		return "", err
	}
	name := "sha256:" + sum
	if _, err := sendRequest(ctx, http.MethodHead, url+"/api/blobs/"+name, nil); err == nil {
		return name, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = sendRequest(ctx, http.MethodPost, url+"/api/blobs/"+name, f)
	return name, err
}

// sendRequest returns the answer to a request; a status other than success is an
// error.
func sendRequest(ctx context.Context, method, url string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d, %s", method, url, answer.StatusCode, bytes.TrimSpace(b))
	}
	return b, err
}
