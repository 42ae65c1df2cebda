// Package embedtest checks implementations of [embed.Embedder] in their tests.
package embedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/embed"
)

// Check returns every violation of [embed.Embedder] by e, nil if there is none.
func Check(ctx context.Context, e embed.Embedder) error {
	texts := []string{"red apples", "the build fails", "red apples", "", "日本語のテキスト", "\xff\x00", strings.Repeat("long ", 3000)}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	var errs []error
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			errs = append(errs, fmt.Errorf("vector %d has %d dimensions, the first has %d", i, len(v), len(vectors[0])))
		}
		if n := vectorLength(v); !(math.Abs(n-1) < 1e-3) {
			errs = append(errs, fmt.Errorf("vector %d has length %.3f, not 1", i, n))
		}
	}
	if !slices.Equal(vectors[0], vectors[2]) {
		errs = append(errs, errors.New("two vectors for one text"))
	}
	return errors.Join(append(errs, checkCalls(ctx, e, texts[0], vectors[0])...)...)
}

// checkCalls compares the results of later calls with the first.
func checkCalls(ctx context.Context, e embed.Embedder, text string, want []float32) (errs []error) {
	again, err := e.Embed(ctx, []string{text})
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("embed a text again: %w", err))
	case len(again) != 1 || !nearlyEqual(again[0], want):
		errs = append(errs, errors.New("a text alone has another vector than in a batch"))
	}
	if none, err := e.Embed(ctx, nil); err != nil || len(none) != 0 {
		errs = append(errs, fmt.Errorf("no texts: %d vectors, error %v", len(none), err))
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Embed(done, []string{text}); err == nil {
		errs = append(errs, errors.New("a cancelled context gives no error"))
	}
	return errs
}

// nearlyEqual allows for servers that sum a batch in another order.
func nearlyEqual(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-3 })
}

func vectorLength(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}
