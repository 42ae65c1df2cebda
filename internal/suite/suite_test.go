// Package suite tests the root package as its users see it, with the documents
// and examples that go with it.
package suite

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests where the documents, the examples and the packages of
// the module are.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
