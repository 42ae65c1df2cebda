package archive

import (
	"flag"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	flag.Parse()
	lockWait = 300 * time.Millisecond // enough to see that it waits
	os.Exit(m.Run())
}
