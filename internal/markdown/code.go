package markdown

import "strings"

// CodeBlocks returns the fenced blocks of code in a text, without their fences and
// without the indentation of the fence. A block that does not end is one, too.
func CodeBlocks(text string) []string {
	var blocks []string
	var open fence
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		switch at := len(blocks) - 1; {
		case open.marks == "":
			if open = openingFence(bare); open.marks != "" {
				blocks = append(blocks, "")
			}
		case closesFence(bare, open.marks):
			open = fence{}
		default:
			for range open.indent {
				line = strings.TrimPrefix(line, " ")
			}
			blocks[at] += line
		}
	}
	return blocks
}
