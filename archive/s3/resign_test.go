package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/internal/s3test"
)

// resigned signs a request anew, as of another time: a wrong clock makes a valid
// signature at a wrong time.
func resigned(r *http.Request, at time.Time) *http.Request {
	old := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(old, "SignedHeaders=")
	names, _, _ := strings.Cut(rest, ",")
	date := at.Format("20060102")
	r.Header.Set("X-Amz-Date", at.Format("20060102T150405Z"))
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + query(r.URL.Query()) + "\n")
	for name := range strings.SplitSeq(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.URL.Host
		}
		canonical.WriteString(name + ":" + value + "\n")
	}
	canonical.WriteString("\n" + names + "\n" + r.Header.Get("X-Amz-Content-Sha256"))
	scope := date + "/us-east-1/s3/aws4_request"
	hash := sha256.Sum256([]byte(canonical.String()))
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	key := []byte("AWS4" + s3test.Secret)
	for _, part := range []string{date, "us-east-1", "s3", "aws4_request", text} {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(part))
		key = m.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s3test.Key+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
	return r
}

func query(values url.Values) string {
	var pairs []string
	for name := range values {
		pairs = append(pairs, url.QueryEscape(name)+"="+strings.ReplaceAll(url.QueryEscape(values.Get(name)), "+", "%20"))
	}
	sort.Strings(pairs)
	return strings.Join(pairs, "&")
}
