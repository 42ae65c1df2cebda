package fault

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
)

// Reset resets the connection after the first bytes of the answer, before the end of
// its first line.
func Reset() Fault { return resetsAfter("reset", func(whole []byte) int { return min(8, len(whole)) }) }

// ResetLater resets the connection in the middle of the answer.
func ResetLater() Fault {
	return resetsAfter("reset in the middle", func(whole []byte) int { return len(whole) / 2 })
}

func resetsAfter(name string, size func(whole []byte) int) Fault {
	return Fault{Name: name, serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			whole, _ := io.ReadAll(io.LimitReader(body, maxBody)) // what was received
			x.sendPart(whole[:size(whole)])
			x.resetConnection()
		})
	}}
}

// resetConnection closes the connection so that the client gets a reset.
func (x *exchange) resetConnection() {
	connection, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	connection.Close()
}

// Stall sends half of the answer, and no more until the client leaves.
func Stall() Fault {
	return Fault{Name: "stall", serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			whole, _ := io.ReadAll(io.LimitReader(body, maxBody)) // what was received
			x.sendPart(whole[:len(whole)/2])
			<-x.r.Context().Done()
		})
	}}
}

// Busy answers with a status and a Retry-After.
func Busy(status int, retryAfter string) Fault {
	return Fault{Name: strconv.Itoa(status) + " for " + retryAfter, serve: func(x *exchange) {
		x.Header().Set("Retry-After", retryAfter)
		refuseRequest(x, x.r, status, "server busy, please try again.  maximum pending requests exceeded")
	}}
}

// Gzip compresses the answer, as some proxies do for clients that accept it.
func Gzip() Fault {
	return Fault{Name: "gzip", serve: func(x *exchange) {
		x.Header().Set("Content-Encoding", "gzip")
		x.relayAnswer(func(body io.Reader) {
			packed := gzip.NewWriter(x)
			io.Copy(packed, body)
			packed.Close()
		})
	}}
}

// NotGzip says that the answer is compressed, which it is not.
func NotGzip() Fault {
	return Fault{Name: "not gzip", serve: func(x *exchange) {
		x.Header().Set("Content-Encoding", "gzip")
		passThrough(x)
	}}
}

// Huge sends a line without an end.
func Huge() Fault {
	return Fault{Name: "huge", serve: func(x *exchange) {
		part := bytes.Repeat([]byte("x"), 1<<20)
		x.sendPart([]byte(`{"message":{"content":"`))
		for range 70 {
			if _, err := x.Write(part); err != nil {
				return // the client has left
			}
		}
	}}
}

// BadUTF8 replaces letters in the answer's texts by a byte that is not UTF-8.
func BadUTF8() Fault {
	return rewrites("bad UTF-8", func(answer []byte) []byte {
		return bytes.ReplaceAll(answer, []byte(`"content":"`), []byte("\"content\":\"\xff"))
	})
}

// SplitLines sends the answer in parts of a few bytes, with other ends of lines.
func SplitLines() Fault {
	return Fault{Name: "split lines", serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			whole, _ := io.ReadAll(io.LimitReader(body, maxBody)) // what was received
			whole = bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n"))
			for len(whole) > 0 {
				n := min(7, len(whole))
				x.sendPart(whole[:n])
				whole = whole[n:]
			}
		})
	}}
}

// WrongDimensions removes a number from the first vector of an answer.
func WrongDimensions() Fault {
	return rewrites("wrong dimensions", func(answer []byte) []byte { return withoutFirstNumber(answer, nil) })
}

// NaN has a vector with a value that is not a number, which JSON does not have.
func NaN() Fault {
	return rewrites("NaN", func(answer []byte) []byte { return withoutFirstNumber(answer, []byte("NaN,")) })
}

// withoutFirstNumber replaces the first number of the first vector.
func withoutFirstNumber(answer, by []byte) []byte {
	for _, begin := range []string{`"embeddings":[[`, `"embedding":[`} {
		if before, after, ok := bytes.Cut(answer, []byte(begin)); ok {
			_, rest, _ := bytes.Cut(after, []byte(","))
			return bytes.Join([][]byte{before, []byte(begin), by, rest}, nil)
		}
	}
	return answer
}

// rewrites changes the whole answer.
func rewrites(name string, change func(answer []byte) []byte) Fault {
	return Fault{Name: name, models: true, serve: func(x *exchange) {
		x.relayAnswer(func(body io.Reader) {
			whole, _ := io.ReadAll(io.LimitReader(body, maxBody)) // what was received
			x.sendPart(change(whole))
		})
	}}
}
