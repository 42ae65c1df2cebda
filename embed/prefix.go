package embed

import "strings"

// PrefixesFor returns what the model's makers ask to put before a query and
// before a document, both empty where nothing is known.
func PrefixesFor(name string) (query, document string) {
	if strings.Contains(name, "nomic-embed-text") {
		return "search_query: ", "search_document: "
	}
	return "", ""
}
