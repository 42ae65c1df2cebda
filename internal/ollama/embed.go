package ollama

import (
	"context"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/internal/remote"
)

// Embed returns one vector for each text, in order, all of one dimension. The texts
// are sent unchanged: the caller adds a model's prefixes. If one text is too long
// for the model, the whole call fails with [model.ErrTooLong]. The server's
// truncation is not used, because it fails if the truncated text has more tokens
// than before.
func (c *Client) Embed(ctx context.Context, name string, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	const what = "embed with"
	whole := false
	var r *api.EmbedResponse
	err := c.makeCall(ctx, name, what, func(a *api.Client) (err error) {
		// Not /api/embeddings, which accepts one text, and does not normalise.
		r, err = a.Embed(ctx, &api.EmbedRequest{Model: name, Input: texts, Truncate: &whole, KeepAlive: c.kept(), Options: c.options()})
		return err
	})
	if err != nil {
		return nil, err
	}
	if bad := remote.CheckVectors(r.Embeddings, len(texts)); bad != nil {
		return nil, c.callError(name, what, bad)
	}
	return r.Embeddings, nil
}
