package main

import (
	"bufio"
	"encoding/binary"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"github.com/ollama/ollama/fs/ggml"
)

// The kinds of numbers in GGUF that are used here.
const (
	float32s uint32 = 0
	float16s uint32 = 1
)

// spread is the maximum distance of random weights from 0.
const spread = 0.05

// A draw writes weights, one after the other.
type draw struct {
	count uint64
	kind  uint32
	next  func() float32
}

// WriteTo writes all weights.
func (d draw) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	var written int64
	for range d.count {
		var b []byte
		if d.kind == float16s {
			b = binary.LittleEndian.AppendUint16(nil, halfFloat(d.next()))
		} else {
			b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(d.next()))
		}
		n, err := out.Write(b)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, out.Flush()
}

// halfFloat returns x as a float of 16 bits. Weights are in its normal range, or
// become 0.
func halfFloat(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	exponent := int(bits>>23&0xff) - 127 + 15
	if exponent <= 0 {
		return sign
	}
	return sign | uint16(exponent<<10) | uint16(bits>>13&0x3ff)
}

// randomTensor returns random weights; the same name always gives the same ones.
func randomTensor(name string, kind uint32, size ...uint64) *ggml.Tensor {
	h := fnv.New64a()
	h.Write([]byte(name))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	return &ggml.Tensor{Name: name, Kind: kind, Shape: size, WriterTo: draw{elementCount(size), kind, func() float32 { return float32(random.NormFloat64() * spread) }}}
}

func elementCount(size []uint64) uint64 {
	n := uint64(1)
	for _, s := range size {
		n *= s
	}
	return n
}

// matrixTensor maps a vector of in numbers to one of out numbers.
func matrixTensor(name string, in, out uint64) *ggml.Tensor {
	return randomTensor(name, float16s, in, out)
}

func floatTensor(name string, size ...uint64) *ggml.Tensor {
	return randomTensor(name, float32s, size...)
}

func onesTensor(name string, size uint64) *ggml.Tensor {
	return &ggml.Tensor{Name: name, Kind: float32s, Shape: []uint64{size}, WriterTo: draw{size, float32s, func() float32 { return 1 }}}
}
