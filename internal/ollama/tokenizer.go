package ollama

import "context"

func (c *Client) Tokenizer(ctx context.Context, name string) (func(string) int, error) {
	return nil, nil
}
