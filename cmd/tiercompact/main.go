// Command tiercompact keeps the conversations of coding assistants inside the
// context window of a local model.
package main

import "github.com/tiercompact/tiercompact/internal/cli"

func main() { cli.Main() }
