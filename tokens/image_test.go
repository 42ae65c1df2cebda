package tokens_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/tokens"
)

// A webp of 1 x 1, lossless: only the header is read.
var webpPixel = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

func encoded(t testing.TB, width, height int, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func encodeJPEG(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }

func encodeGIF(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }

// encodeMetadata writes a JPEG with a comment of 60 KB before its size.
func encodeMetadata(w io.Writer, m image.Image) error {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		return err
	}
	comment := append([]byte{0xff, 0xfe, 0xea, 0x62}, make([]byte, 0xea60)...)
	_, err := w.Write(append(append(b.Bytes()[:2:2], comment...), b.Bytes()[2:]...))
	return err
}

func TestImagesCountByTheirSize(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *chat.Picture
		want int
	}{
		{"none", nil, 768},
		{"empty", &chat.Picture{}, 768},
		{"one tile", &chat.Picture{Width: 512, Height: 512}, 255},
		{"two tiles", &chat.Picture{Width: 513, Height: 512}, 425},
		{"square", &chat.Picture{Width: 1024, Height: 1024}, 765},
		{"tall", &chat.Picture{Width: 2048, Height: 4096}, 1105},
		{"screen", &chat.Picture{Width: 1920, Height: 1080}, 1105},
		{"line", &chat.Picture{Width: 1 << 40, Height: 1}, 765},
		{"as large as can be", &chat.Picture{Width: 1<<63 - 1, Height: 1<<63 - 1}, 765},
		{"panorama", &chat.Picture{Width: 20000, Height: 7000}, 1445},
		{"low detail", &chat.Picture{Width: 1920, Height: 1080, Detail: "low"}, 85},
		{"high detail", &chat.Picture{Width: 1024, Height: 1024, Detail: "high"}, 765},
		{"png", &chat.Picture{Data: encoded(t, 1024, 1024, png.Encode)}, 765},
		{"jpeg", &chat.Picture{Data: encoded(t, 600, 200, encodeJPEG)}, 425},
		{"jpeg with metadata", &chat.Picture{Data: encoded(t, 600, 200, encodeMetadata)}, 425},
		{"gif", &chat.Picture{Data: encoded(t, 600, 200, encodeGIF)}, 425},
		{"webp", &chat.Picture{Data: base64.StdEncoding.EncodeToString(webpPixel)}, 255},
		{"data address", &chat.Picture{URL: "data:image/png;base64," + encoded(t, 10, 10, png.Encode)}, 255},
		{"data address as data", &chat.Picture{Data: "data:image/png;base64," + encoded(t, 10, 10, png.Encode)}, 255},
		{"cut", &chat.Picture{Data: encoded(t, 1024, 1024, png.Encode)[:100]}, 765},
		{"cut in the header", &chat.Picture{Data: encoded(t, 1024, 1024, png.Encode)[:20]}, 768},
		{"address", &chat.Picture{URL: "https://example.com/cat.png"}, 768},
		{"data address without data", &chat.Picture{URL: "data:"}, 768},
		{"no base64", &chat.Picture{Data: strings.Repeat("*", 100)}, 768},
		{"no picture", &chat.Picture{Data: strings.Repeat("A", 1<<20)}, 768},
	} {
		if got := tokens.ImageTokens(c.p); got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.name, got, c.want)
		}
	}
}

func FuzzImageTokens(f *testing.F) {
	for _, encode := range []func(io.Writer, image.Image) error{png.Encode, encodeJPEG, encodeGIF} {
		data, _ := base64.StdEncoding.DecodeString(encoded(f, 20, 30, encode))
		f.Add(data[:min(len(data), 400)])
	}
	f.Add(webpPixel)
	f.Fuzz(func(t *testing.T, data []byte) {
		got := tokens.ImageTokens(&chat.Picture{Data: base64.StdEncoding.EncodeToString(data)})
		if got < 85 || got > 1445 {
			t.Errorf("%d tokens", got)
		}
	})
}
