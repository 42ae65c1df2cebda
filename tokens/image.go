package tokens

import "github.com/tiercompact/tiercompact/chat"

// ImageTokens returns the tokens of an image.
func ImageTokens(p *chat.Picture) int { return 768 }
