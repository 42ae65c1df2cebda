package embed

import "strings"

const (
	representSentence = "Represent this sentence for searching relevant passages: "
	instructWeb       = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)

// PrefixesFor returns the prefixes for queries and documents that the makers of a
// model prescribe; servers do not add them. Both are empty for a model without
// prefixes (all-minilm, bge-m3) and for an unknown one. The name may have a path
// and a tag.
func PrefixesFor(name string) (query, document string) {
	name = strings.ToLower(name)
	for _, family := range []struct{ name, query, document string }{
		{"nomic-embed-code", "Represent this query for searching relevant code: ", ""},
		{"nomic-embed", "search_query: ", "search_document: "},
		{"mxbai-embed", representSentence, ""},
		{"arctic-embed2", "query: ", ""},
		{"arctic-embed-m-v2", "query: ", ""},
		{"arctic-embed-l-v2", "query: ", ""},
		{"arctic-embed", representSentence, ""},
		{"bge-m3", "", ""},
		{"bge-small-zh", "", ""},
		{"bge-base-zh", "", ""},
		{"bge-large-zh", "", ""},
		{"bge-small", representSentence, ""},
		{"bge-base", representSentence, ""},
		{"bge-large", representSentence, ""},
		{"e5-large-instruct", instructWeb, ""},
		{"e5-mistral", instructWeb, ""},
		{"e5-small", "query: ", "passage: "},
		{"e5-base", "query: ", "passage: "},
		{"e5-large", "query: ", "passage: "},
		{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
		{"qwen3-embedding", instructWeb, ""},
	} {
		if strings.Contains(name, family.name) {
			return family.query, family.document
		}
	}
	return "", ""
}
