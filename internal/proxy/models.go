package proxy

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/levels"
)

// A modelCache holds the compactors of models.
type modelCache struct {
	open func(context.Context, string) (tiercompact.Config, error)
	mu   sync.Mutex
	of   map[string]*openedModel
}

// An openedModel is what all conversations with a model share.
type openedModel struct {
	once       sync.Once
	compactor  *tiercompact.Compactor
	cfg        tiercompact.Config
	thresholds levels.Thresholds // every sample of the page shares their maps
	err        error
	at         time.Time
}

const (
	maxModels  = 64
	retryModel = 10 * time.Second // after an error
)

// get returns the settings of a model, opened at most once at a time.
func (c *modelCache) get(ctx context.Context, model string) (*openedModel, error) {
	c.mu.Lock()
	if c.of == nil || len(c.of) >= maxModels && c.of[model] == nil {
		c.of = make(map[string]*openedModel) // clients may name any number of models
	}
	m := c.of[model]
	if m == nil || m.err != nil && time.Since(m.at) > retryModel {
		m = &openedModel{}
		model = strings.Clone(model) // it is a part of the request
		c.of[model] = m
	}
	c.mu.Unlock()
	m.once.Do(func() {
		cfg, err := c.open(context.WithoutCancel(ctx), model)
		if err == nil || errors.Is(err, ErrNoWindow) {
			made, wrong := tiercompact.New(cfg)
			m.compactor, err = made, cmp.Or(wrong, err)
		}
		thresholds := cfg.Thresholds.WithDefaults(string(cfg.Preset))
		c.mu.Lock()
		defer c.mu.Unlock()
		m.cfg, m.thresholds, m.err, m.at = cfg, thresholds, err, time.Now()
	})
	return m, m.err
}

// forget drops what the model's compactor and its archive have in memory of a
// conversation. An archive that is in memory alone keeps it.
func (m *openedModel) forget(id string) {
	if m == nil || m.compactor == nil || m.cfg.Archive == nil {
		return
	}
	if adapter, _ := archive.Where(m.cfg.Archive, id, 1); adapter != "memory" {
		m.compactor.Forget(id)
	}
}
