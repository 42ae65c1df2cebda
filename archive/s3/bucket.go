package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/tiercompact/tiercompact/archive"
)

// A bucket is an [archive.Bucket] on a server.
type bucket struct {
	client  minio.Core
	name    string
	prefix  string // "" or ending with a slash
	sse     encrypt.ServerSide
	timeout time.Duration
	secrets func() []string // they must not occur in an error
}

// Where implements [archive.Bucket].
func (b *bucket) Where(key string) (adapter, address string) {
	return "s3", "s3://" + b.name + "/" + b.prefix + key
}

// Open implements [archive.Bucket].
func (b *bucket) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	ctx, stop := context.WithTimeout(ctx, b.timeout)
	body, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		err = b.requestError(ctx, "get", key, err)
		stop()
		return nil, err
	}
	return &objectReader{body, stop, func(err error) error { return b.requestError(ctx, "get", key, err) }}, nil
}

// An objectReader reads an object within its time limit.
type objectReader struct {
	io.ReadCloser
	stop   func()
	failed func(error) error
}

func (r *objectReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.failed(err)
	}
	return n, err
}

func (r *objectReader) Close() error {
	r.stop() // first, so that the rest of the object is not read
	return r.ReadCloser.Close()
}

// putMark names the metadata that identifies the writer of an existing object: if
// the answer to a put is lost, the put is sent again, and must recognize its own object.
const putMark = "Tiercompact-Put"

// Put implements [archive.Bucket].
func (b *bucket) Put(ctx context.Context, key string, body []byte, fresh bool) error {
	ctx, stop := context.WithTimeout(ctx, b.timeout)
	defer stop()
	mark := rand.Text()
	o := minio.PutObjectOptions{
		ContentType: contentType(key), ServerSideEncryption: b.sse, UserMetadata: map[string]string{putMark: mark},
		DisableContentSha256: true, // of chunks: the whole is signed
	}
	short, long := md5.Sum(body), sha256.Sum256(body) // buckets with object locks require the short one
	if fresh {
		o.SetMatchETagExcept("*")
	}
	var err error
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		_, err = b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(body), int64(len(body)),
			base64.StdEncoding.EncodeToString(short[:]), hex.EncodeToString(long[:]), o)
		if errorCode(err) != conflict || wait > time.Second {
			break
		}
		select { // two conditional writes met: the winner is not decided yet
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	if errorCode(err) == minio.PreconditionFailed {
		return b.checkTaken(ctx, key, mark)
	}
	if err != nil {
		return b.requestError(ctx, "put", key, err)
	}
	return nil
}

const conflict = "ConditionalRequestConflict"

// checkTaken checks an existing key: it returns nil if the object has the mark.
func (b *bucket) checkTaken(ctx context.Context, key, mark string) error {
	info, err := b.client.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	if err != nil && errorCode(err) != minio.NoSuchKey { // NoSuchKey: the object of another process is incomplete
		return b.requestError(ctx, "look at", key, err)
	}
	if info.UserMetadata[putMark] == mark {
		return nil
	}
	_, address := b.Where(key)
	return &failure{address + ": another process has put it", archive.ErrExists}
}

func contentType(key string) string {
	if strings.HasSuffix(key, ".jsonl") {
		return "application/jsonl"
	}
	return "application/json"
}

// List implements [archive.Bucket].
func (b *bucket) List(ctx context.Context, folder string) ([]string, error) {
	ctx, stop := context.WithTimeout(ctx, b.timeout)
	defer stop()
	var names []string
	prefix := b.prefix + folder
	for o := range b.client.Client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, b.requestError(ctx, "list", folder, o.Err)
		}
		if name := strings.TrimPrefix(o.Key, prefix); name != "" {
			names = append(names, name)
		}
	}
	return names, ctx.Err()
}

// Remove implements [archive.Bucket]. If the bucket keeps versions, the older ones
// stay in it.
func (b *bucket) Remove(ctx context.Context, key string) error {
	ctx, stop := context.WithTimeout(ctx, b.timeout)
	defer stop()
	err := b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})
	if err == nil {
		return nil
	}
	if err := b.requestError(ctx, "remove", key, err); !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	return nil
}
