// Package s3test gives tests a real server with the protocol of S3, in a separate
// process that they can kill.
package s3test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Variable is the environment variable with the path of versitygw; .ci/run builds
// it.
const Variable = "TIERCOMPACT_S3"

// Bucket is the bucket of every server.
const Bucket = "bucket"

// Credentials of every server; they belong to no account.
var (
	Key    = "made" + "-up-" + "key"
	Secret = strings.Repeat("made-up-", 5)
)

// Alone removes all of the standard chain from the environment of a test, and sets
// these credentials.
func Alone(t *testing.T, key, secret string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

// A Server can be killed, and started again with its data.
type Server struct {
	URL     string
	Objects string // folder of the buckets

	t       *testing.T
	program string
	address string
	folder  string
	cmd     *exec.Cmd
}

// Start starts a server with an empty bucket, and gives the test its
// credentials. It skips the test if there is no program.
func Start(t *testing.T) *Server {
	t.Helper()
	program := os.Getenv(Variable)
	if program == "" {
		t.Skipf("no real server: %s does not name the program of versitygw; make s3 builds it and runs this", Variable)
	}
	Alone(t, Key, Secret)
	s := &Server{t: t, program: program, address: freeAddress(t), folder: t.TempDir()}
	s.URL, s.Objects = "http://"+s.address, filepath.Join(s.folder, "objects")
	for _, folder := range []string{s.Objects, s.metadata()} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.startServer()
	t.Cleanup(s.Kill)
	client, err := minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(t.Context(), Bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Server) metadata() string { return filepath.Join(s.folder, "metadata") }

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *Server) startServer() {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "--port", s.address, "--quiet", "posix", "--sidecar", s.metadata(), s.Objects)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+Key, "ROOT_SECRET_KEY="+Secret)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
		if err == nil {
			c.Close()
			return
		}
		if ctx.Err() != nil {
			s.t.Fatalf("the server does not listen at %s: %v", s.address, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Kill ends the server immediately, like a power failure.
func (s *Server) Kill() {
	if s.Killed() {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Killed reports whether the server was killed.
func (s *Server) Killed() bool { return s.cmd.ProcessState != nil }

// Again restarts a server that was killed.
func (s *Server) Again() {
	s.t.Helper()
	if s.Killed() {
		s.startServer()
	}
}
