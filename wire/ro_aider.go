package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

const aiderStart = "# aider chat started at "

func matchAider(p probe) int {
	if p.shape == plain && (strings.HasPrefix(p.head, aiderStart) || strings.Contains(p.head, "\n"+aiderStart)) {
		return 90
	}
	if p.shape == plain && (strings.HasPrefix(p.head, "#### ") || strings.Contains(p.head, "\n#### ")) {
		return 40
	}
	return 0
}

// decodeAider reads the history as aider itself restores it: all chats of the file
// as one. The program's own lines, and the text before the first question of a
// chat, were not sent to the model. Commands to aider are not requests; /ask, /code
// and /architect contain one.
func decodeAider(src *source) ([]Conversation, error) {
	var a aiderLog
	text := strings.ReplaceAll(src.text, "\r\n", "\n")
	all := strings.Split(text, "\n")
	ends := editEnds(all)
	for i := 0; i < len(all); i++ {
		switch line := all[i]; {
		case strings.HasPrefix(line, aiderStart):
			a.flushMessage()
			a.asked = false
		case line == "####" || strings.HasPrefix(line, "#### "):
			a.appendLines(chat.User, strings.TrimPrefix(strings.TrimPrefix(line, "####"), " "))
		case line == ">" || strings.HasPrefix(line, "> "):
			a.flushMessage()
		case !a.asked:
		case line == editStart && ends[i] > 0:
			a.appendLines(chat.Assistant, all[i:ends[i]]...)
			i = ends[i] - 1
		case strings.TrimSpace(line) == "" && a.role != chat.Assistant:
			a.flushMessage() // the next question may follow directly
		default:
			a.appendLines(chat.Assistant, line)
		}
	}
	a.flushMessage()
	return a.log.singleConversation(Conversation{Format: "aider"}), nil
}

const (
	editStart = "<<<<<<< SEARCH"
	editEnd   = ">>>>>>> REPLACE"
)

// editEnds returns, for each line, the end of the lines of an edit that begins
// there: between its marks every line is the model's. 0 means no end in this chat.
func editEnds(all []string) []int {
	ends := make([]int, len(all))
	end := 0
	for i, line := range slices.Backward(all) {
		if strings.HasPrefix(line, aiderStart) {
			end = 0
		} else if line == editEnd {
			end = i + 1
		}
		ends[i] = end
	}
	return ends
}

// An aiderLog collects lines into messages.
type aiderLog struct {
	log   messageLog
	asked bool      // the user has spoken in this chat
	role  chat.Role // author of these lines
	lines []string
	// prompt is the text that the command before this line sent to the model.
	prompt string
}

func (a *aiderLog) appendLines(role chat.Role, lines ...string) {
	if a.role != role {
		a.flushMessage()
	}
	a.role, a.asked = role, true
	for _, line := range lines {
		if role == chat.User {
			line = strings.TrimSuffix(line, "  ") // a line break in Markdown
		}
		a.lines = append(a.lines, line)
	}
}

func (a *aiderLog) flushMessage() {
	text := strings.TrimSpace(strings.Join(a.lines, "\n"))
	switch {
	case a.role != chat.User:
		a.log.appendText("", a.role, text)
		if text != "" {
			a.prompt = ""
		}
	case !isCommand(text):
		if text != a.prompt { // aider writes a comment after a command again
			a.log.appendText("", chat.User, text)
		}
		a.prompt = ""
	default:
		if a.prompt = promptOf(text); a.prompt != "" {
			a.log.appendText("", chat.User, a.prompt)
		} else {
			a.log.appendUserNote("", text)
		}
	}
	a.role, a.lines = "", nil
}

// isCommand reports whether a line is a command to aider, by the rules of its
// commands.py: it begins with / and the name of a command, or with ! and a shell
// command. A path is not a command.
func isCommand(text string) bool {
	name, _, _ := strings.Cut(text, "\n")
	name, _, _ = strings.Cut(name, " ")
	if strings.HasPrefix(name, "!") {
		return true
	}
	name, is := strings.CutPrefix(name, "/")
	return is && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == ""
}

// promptOf returns the text that a command sends to the model as the user's: only
// commands that change the chat mode for one request do so.
func promptOf(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	switch name {
	case "/ask", "/architect", "/code", "/context":
		return strings.TrimSpace(rest)
	}
	return ""
}
