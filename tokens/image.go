package tokens

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/webp"

	"github.com/tiercompact/tiercompact/chat"
)

const (
	// unknownImage is the count of an image of unknown size: the constant that
	// Ollama uses for every image when it fits a prompt to the window.
	unknownImage = 768

	// OpenAI's rule for images (Images and vision guide, GPT-4o): a constant for
	// low detail; otherwise the image is shrunk to fit a square, then until its
	// shorter side fits a row of tiles, and each tile counts, full or not.
	imageBase   = 85
	imageTile   = 170
	tileSide    = 512
	squareSide  = 2048
	shorterSide = 768

	// headerBytes limits how much of a picture is read for its size. The size of a
	// JPEG is after its metadata, which can be this long.
	headerBytes = 256 << 10
)

// ImageTokens returns the tokens of a picture by its width and height, never by the
// length of its data: OpenAI's rule for tiles, 85 + 170 for each tile of 512 x 512,
// at most 1445; 85 for low detail. If p gives no size, it is read from the header
// of the data (PNG, JPEG, GIF, WebP). A picture of unknown size counts 768.
func ImageTokens(p *chat.Picture) int {
	switch {
	case p == nil:
		return unknownImage
	case p.Detail == "low":
		return imageBase
	case p.Width > 0 && p.Height > 0:
		return imageBase + imageTile*tileCount(p.Width, p.Height)
	}
	size, err := imageSize(p)
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		return unknownImage
	}
	return imageBase + imageTile*tileCount(size.Width, size.Height)
}

// tileCount returns the number of tiles of an image after it is shrunk.
func tileCount(width, height int) int {
	long, short := float64(max(width, height)), float64(min(width, height))
	if long > squareSide {
		long, short = squareSide, short*squareSide/long
	}
	if short > shorterSide {
		long, short = long*shorterSide/short, shorterSide
	}
	return begunTiles(long) * begunTiles(short)
}

// begunTiles returns the number of tiles along a side. A shrunk side is cut to
// whole pixels, at least one.
func begunTiles(side float64) int { return (max(1, int(side)) + tileSide - 1) / tileSide }

var errNoImage = errors.New("no picture of a known kind")

// imageSize reads the size of p from the beginning of its data.
func imageSize(p *chat.Picture) (image.Config, error) {
	data := p.Data
	if data == "" {
		data = p.URL
	}
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	} else if p.Data == "" {
		return image.Config{}, errNoImage
	}
	decoded := io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), headerBytes)
	magic := make([]byte, 12)
	if _, err := io.ReadFull(decoded, magic); err != nil {
		return image.Config{}, err
	}
	r := io.MultiReader(bytes.NewReader(magic), decoded)
	switch {
	case bytes.HasPrefix(magic, []byte("\x89PNG")):
		return png.DecodeConfig(r)
	case bytes.HasPrefix(magic, []byte("\xff\xd8")):
		return jpeg.DecodeConfig(r)
	case bytes.HasPrefix(magic, []byte("GIF8")):
		return gif.DecodeConfig(r)
	case bytes.HasPrefix(magic, []byte("RIFF")) && string(magic[8:]) == "WEBP":
		return webp.DecodeConfig(r)
	}
	return image.Config{}, errNoImage
}
