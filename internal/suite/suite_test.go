// Package suite tests the root package through its public API, with its documents and examples.
package suite

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the module's root, the folder of the documents and examples.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
