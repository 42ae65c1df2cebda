//go:build !unix && !windows

package cli

import "os"

// terminalWidth recognizes no terminals on this system.
func terminalWidth(*os.File) (int, bool) { return 0, false }
