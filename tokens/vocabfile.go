package tokens

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// readTokens calls add for every token of a vocabulary, in the order of ranks. The
// file has a line for each: the token in base64, a space and the rank, which is the
// number of the lines before. The token is valid until add returns; its capacity is
// 8 or more.
func readTokens(file io.Reader, add func(rank int, token []byte)) error {
	p := newLineParser()
	buffer := make([]byte, 1<<15)
	rank, rest := 0, 0 // rest bytes at the beginning of buffer are of an incomplete line
	for {
		n, err := file.Read(buffer[rest:])
		n += rest
		lines := buffer[:bytes.LastIndexByte(buffer[:n], '\n')+1]
		rest = n - len(lines)
		for ; len(lines) > 0; rank++ {
			token, size, err := p.parseLine(lines, rank)
			if err != nil {
				return fmt.Errorf("line %d: %w", rank+1, err)
			}
			add(rank, token)
			lines = lines[size:]
		}
		switch {
		case err == io.EOF && rest == 0:
			return nil
		case err == io.EOF:
			return fmt.Errorf("line %d: no line end", rank+1)
		case err != nil:
			return err
		case rest == len(buffer):
			return fmt.Errorf("line %d: too long", rank+1)
		}
		copy(buffer, buffer[n-rest:n])
	}
}

// A lineParser decodes base64 by a table for each of four characters. On texts as
// short as tokens, that is several times faster than encoding/base64.
type lineParser struct {
	bits  [4][256]uint32 // the bits of a character in the three bytes that the four stand for, the first byte lowest
	token [maxBytes + 8]byte
}

const notBase64 = 1 << 31

func newLineParser() *lineParser {
	p := new(lineParser)
	for i := range p.bits {
		for c := range p.bits[i] {
			p.bits[i][c] = notBase64
		}
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		six := uint32(i)
		p.bits[0][c] = six << 2
		p.bits[1][c] = six>>4 | six&0xF<<12
		p.bits[2][c] = six>>2<<8 | six&0x3<<22
		p.bits[3][c] = six << 16
	}
	p.bits[2]['='], p.bits[3]['='] = 0, 0
	return p
}

// parseLine returns the token and the size of the first of complete lines.
func (p *lineParser) parseLine(lines []byte, rank int) (token []byte, size int, err error) {
	n, i := 0, 0
	for ; i+4 < len(lines) && lines[i] != ' ' && n <= maxBytes; i += 4 {
		three := p.bits[0][lines[i]] | p.bits[1][lines[i+1]] | p.bits[2][lines[i+2]] | p.bits[3][lines[i+3]]
		if three >= notBase64 {
			return nil, 0, errors.New("illegal base64")
		}
		binary.LittleEndian.PutUint32(p.token[n:], three)
		n += 3
	}
	for pad := i - 1; pad >= max(0, i-2) && lines[pad] == '='; pad-- {
		n--
	}
	switch {
	case n == 0 || n > maxBytes:
		return nil, 0, fmt.Errorf("no token of 1 to %d bytes", maxBytes)
	case lines[i] != ' ':
		return nil, 0, errors.New("no rank")
	}
	got := 0
	for i++; lines[i] != '\n'; i++ {
		digit := int(lines[i] - '0')
		if digit > 9 || got > rank {
			return nil, 0, fmt.Errorf("rank is not %d", rank)
		}
		got = 10*got + digit
	}
	if got != rank || rank > maxRank {
		return nil, 0, fmt.Errorf("rank is not %d", rank)
	}
	return p.token[:n], i + 1, nil
}
