package s3

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// gatewayVariable names the program of versitygw; .ci/run builds it.
const gatewayVariable = "TIERCOMPACT_S3"

// A gateway is a real server, in a process of its own, that can be killed and
// started again with what it had.
type gateway struct {
	t       *testing.T
	program string
	address string // host:port
	folder  string
	cmd     *exec.Cmd
}

// startGateway starts a server with an empty bucket, or skips the test.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	program := os.Getenv(gatewayVariable)
	if program == "" {
		t.Skipf("no real server: %s does not name the program of versitygw; make s3 builds it and runs this", gatewayVariable)
	}
	alone(t, madeKey, madeSecret)
	g := &gateway{t: t, program: program, address: freeAddress(t), folder: t.TempDir()}
	for _, name := range []string{"objects", "metadata"} {
		if err := os.Mkdir(filepath.Join(g.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g.start()
	t.Cleanup(g.kill)
	client, err := minio.New(g.address, &minio.Options{Creds: credentials.NewStaticV4(madeKey, madeSecret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(t.Context(), "bucket", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (g *gateway) start() {
	g.t.Helper()
	g.cmd = exec.Command(g.program, "--port", g.address, "--quiet", "posix", "--sidecar", filepath.Join(g.folder, "metadata"), filepath.Join(g.folder, "objects"))
	g.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+madeKey, "ROOT_SECRET_KEY="+madeSecret)
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", g.address)
		if err == nil {
			c.Close()
			return
		}
		if ctx.Err() != nil {
			g.t.Fatalf("the server does not listen at %s: %v", g.address, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kill ends the server at once, as a loss of power would.
func (g *gateway) kill() {
	if g.cmd.ProcessState == nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	}
}

// again starts a server that was killed.
func (g *gateway) again() {
	if g.cmd.ProcessState != nil {
		g.start()
	}
}

func (g *gateway) config() Config {
	return Config{Bucket: "bucket", Prefix: "kept", Region: "us-east-1", Endpoint: "http://" + g.address, Attempts: 2, Timeout: 10 * time.Second}
}

func (g *gateway) open(c Config) *Store {
	g.t.Helper()
	s, err := Open(g.t.Context(), c)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}
