// Package s3 keeps an archive in a bucket of Amazon S3, or of a server that
// speaks its protocol, with the same files as a folder has.
//
// Credentials come from the standard chain alone: the variables AWS_*, the
// shared files with the profile AWS_PROFILE, then the role of the container or
// of the machine. None is ever in a Config, an address or an error.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/tiercompact/tiercompact/archive"
)

// Config selects the bucket and the access to it. Only Bucket is required.
type Config struct {
	Bucket   string // it must exist
	Prefix   string // of every key; "": none
	Region   string // "": AWS_REGION, AWS_DEFAULT_REGION, else the server's answer
	Endpoint string // address of a server other than Amazon's; "": AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's
	KMSKey   string // id of the key with which the server encrypts objects (SSE-KMS); "": the bucket's setting

	Timeout   time.Duration     // for one object, retries included; 0: 30 s
	Attempts  int               // maximum requests for one object; 0: 5
	Transport http.RoundTripper // nil: a new one
}

// Defaults of a Config.
const (
	defaultTimeout  = 30 * time.Second
	defaultAttempts = 5
)

// A Store is an archive in a bucket. Several processes may write to it: a number of
// a session belongs to the process that put it first. That needs a server with
// conditional writes (If-None-Match).
type Store struct {
	*archive.Objects
}

// Parse returns the bucket and the prefix in an address like
// s3://bucket/prefix.
func Parse(address string) (Config, error) {
	rest, ok := strings.CutPrefix(address, "s3://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, "@:?#") {
		return Config{}, errors.New("the address of a bucket must be s3://BUCKET/PREFIX, without credentials")
	}
	return Config{Bucket: bucket, Prefix: prefix}, nil
}

// Open opens the archive in a bucket. It asks the server at once, so that a wrong
// address, credential or clock is reported here.
func Open(ctx context.Context, c Config) (*Store, error) {
	b, err := openBucket(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open archive s3://%s/%s: %w", c.Bucket, strings.Trim(c.Prefix, "/"), err)
	}
	o, err := archive.OpenObjects(ctx, b)
	if err != nil {
		return nil, err
	}
	return &Store{o}, nil
}

func openBucket(ctx context.Context, c Config) (*bucket, error) {
	if err := s3utils.CheckValidBucketNameStrict(c.Bucket); err != nil {
		return nil, fmt.Errorf("bucket %q: %w", c.Bucket, err)
	}
	host, secure, err := endpoint(cmp.Or(c.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")))
	if err != nil {
		return nil, err
	}
	creds, secrets, err := fromChain(ctx)
	if err != nil {
		return nil, err
	}
	transport := c.Transport
	if transport == nil {
		if transport, err = newTransport(secure); err != nil {
			return nil, err
		}
	}
	client, err := minio.New(host, &minio.Options{
		Creds: creds, Secure: secure, Transport: transport, MaxRetries: cmp.Or(c.Attempts, defaultAttempts),
		Region: cmp.Or(c.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, err
	}
	b := &bucket{client: minio.Core{Client: client}, name: c.Bucket, timeout: cmp.Or(c.Timeout, defaultTimeout), secrets: secrets}
	if prefix := strings.Trim(c.Prefix, "/"); prefix != "" {
		b.prefix = prefix + "/"
	}
	if c.KMSKey != "" {
		if b.sse, err = encrypt.NewSSEKMS(c.KMSKey, nil); err != nil {
			return nil, fmt.Errorf("key %s: %w", c.KMSKey, err)
		}
	}
	return b, nil
}

// endpoint returns the host of an address, and whether it uses TLS.
func endpoint(address string) (host string, secure bool, err error) {
	if address == "" {
		return "s3.amazonaws.com", true, nil
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", false, errors.New("the endpoint must be like https://host:port, without a path and without credentials")
	}
	return u.Host, u.Scheme == "https", nil
}

// newTransport returns minio's transport with a shorter timeout for a silent server.
func newTransport(secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.ResponseHeaderTimeout = 15 * time.Second
	return t, nil
}

// roleWait limits each request for the credentials of a role: on a machine without
// a role, the request may never be answered.
const roleWait = 2 * time.Second

// fromChain returns the credentials of the standard chain.
func fromChain(ctx context.Context) (*credentials.Credentials, func() []string, error) {
	client := &http.Client{Timeout: roleWait}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if mayAskRole() {
		chain = append(chain, &credentials.IAM{Client: client})
	}
	creds := credentials.NewChainCredentials(chain)
	value := func() credentials.Value {
		v, err := creds.GetWithContext(&credentials.CredContext{Client: client, Context: ctx})
		if err != nil {
			return credentials.Value{}
		}
		return v
	}
	if v := value(); v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, nil, noCredentials()
	}
	secrets := func() []string {
		v := value()
		return []string{v.AccessKeyID, v.SecretAccessKey, v.SessionToken}
	}
	return creds, secrets, nil
}

// mayAskRole reports whether the role of the container or of the machine may be used.
func mayAskRole() bool {
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true")
}

func noCredentials() error {
	const remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of ~/.aws/credentials, or give the machine a role"
	if profile := os.Getenv("AWS_PROFILE"); profile != "" {
		if _, err := new(credentials.FileAWSCredentials).RetrieveWithCredContext(nil); err != nil {
			return fmt.Errorf("no credentials: profile %s: %w; %s", profile, err, remedy)
		}
	}
	return errors.New("no credentials; " + remedy)
}
