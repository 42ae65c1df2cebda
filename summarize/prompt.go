package summarize

// Prompt returns the prompt for a model.
func Prompt(r Request) string { return "" }
