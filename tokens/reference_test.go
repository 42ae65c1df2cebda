package tokens_test

import (
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/tiercompact/tiercompact/tokens"
)

// reference returns tiktoken-go's counter of an encoding.
var reference = map[string]func() *tiktoken.Tiktoken{
	tokens.CL100K: sync.OnceValue(func() *tiktoken.Tiktoken { return mustTiktoken(tokens.CL100K) }),
	tokens.O200K:  sync.OnceValue(func() *tiktoken.Tiktoken { return mustTiktoken(tokens.O200K) }),
}

func mustTiktoken(name string) *tiktoken.Tiktoken {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	t, err := tiktoken.GetEncoding(name)
	if err != nil {
		panic(err)
	}
	return t
}

// load is [tokens.Load] for an encoding that exists.
func load(t testing.TB, name string) *tokens.Encoding {
	t.Helper()
	e, err := tokens.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
