package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// terminalWidth returns the columns of f, if it is a console, and turns on its colours.
func terminalWidth(f *os.File) (int, bool) {
	h := windows.Handle(f.Fd())
	var info windows.ConsoleScreenBufferInfo
	var mode uint32
	if windows.GetConsoleScreenBufferInfo(h, &info) != nil || windows.GetConsoleMode(h, &mode) != nil {
		return 0, false
	}
	terminal := windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
	return int(info.Window.Right-info.Window.Left) + 1, terminal
}
