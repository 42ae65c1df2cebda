package summarize

import (
	"regexp"
	"slices"
	"strings"
)

// A shellCommand is one command of a shell line, with the operator after it: "|",
// "&&", "||", ";" or "&"; "" at the end.
type shellCommand struct{ text, operator string }

// splitShell returns the commands of a shell line in order. Quoted text, substitutions,
// the bodies of here documents and comments are not split; parentheses are ignored.
func splitShell(line string) []shellCommand {
	s := shellSplitter{line: line}
	for s.at < len(line) {
		s.readByte()
	}
	s.endCommand("")
	return s.commands
}

// A shellSplitter is the state of [splitShell].
type shellSplitter struct {
	line     string
	at, from int
	quote    byte // ' or " or ` while in one
	depth    int  // of $( )
	document string
	commands []shellCommand
}

func (s *shellSplitter) readByte() {
	c, rest := s.line[s.at], s.line[s.at:]
	s.at++
	switch {
	case c == '\\' && s.quote != '\'':
		s.at++
	case s.quote != 0:
		if c == s.quote {
			s.quote = 0
		}
	case c == '\'' || c == '"' || c == '`':
		s.quote = c
	case strings.HasPrefix(rest, "$("):
		s.depth++
		s.at++
	case c == '(' && s.depth > 0:
		s.depth++
	case c == ')' && s.depth > 0:
		s.depth--
	case s.depth > 0:
	case strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, "<<<"):
		word, _, _ := strings.Cut(strings.TrimLeft(rest[2:], "- "), "\n")
		word, _, _ = strings.Cut(word, " ")
		s.document = strings.Trim(word, `'"\;)`)
		s.at++
	case c == '#' && (s.at == 1 || strings.IndexByte(" \t\n;&|", s.line[s.at-2]) >= 0):
		s.endCommand(";")
		s.skipTo("\n")
		s.from = s.at
	default:
		s.readOperator(c, rest)
	}
}

func (s *shellSplitter) readOperator(c byte, rest string) {
	switch {
	case c == '\n':
		s.endCommand(";")
		if s.document != "" {
			if !strings.HasPrefix(s.line[s.at:], s.document) {
				s.skipTo("\n" + s.document)
			}
			s.skipTo("\n")
			s.document, s.from = "", s.at
		}
	case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"):
		s.endCommand(rest[:2])
	case strings.HasPrefix(rest, "|&"):
		s.endCommand("|")
		s.at++
		s.from++
	case c == '|' || c == ';':
		s.endCommand(rest[:1])
	case c == '&' && !strings.HasPrefix(rest, "&>") && (s.at == 1 || s.line[s.at-2] != '>'):
		s.endCommand("&")
	}
}

// skipTo goes on after the next end, or to the end of the line.
func (s *shellSplitter) skipTo(end string) {
	if i := strings.Index(s.line[min(s.at, len(s.line)):], end); i >= 0 {
		s.at += i + len(end)
	} else {
		s.at = len(s.line)
	}
}

// endCommand ends the command before the operator, which was just read by its first byte.
func (s *shellSplitter) endCommand(operator string) {
	end := s.at - 1
	if operator == "" && s.at >= len(s.line) && (s.at == 0 || s.line[len(s.line)-1] != '#') {
		end = len(s.line)
	}
	text := withoutKeyword(strings.TrimSpace(s.line[min(s.from, len(s.line)):max(min(s.from, len(s.line)), min(end, len(s.line)))]))
	if text != "" {
		s.commands = append(s.commands, shellCommand{text, operator})
	} else if n := len(s.commands); n > 0 && s.commands[n-1].operator == "" {
		s.commands[n-1].operator = operator
	}
	s.at += max(0, len(operator)-1)
	s.from = s.at
}

// withoutKeyword returns a command without the words of loops and conditions before it.
func withoutKeyword(command string) string {
	for {
		first, rest, _ := strings.Cut(command, " ")
		switch first {
		case "do", "then", "else", "if", "elif", "while", "until", "!", "{", "time":
			command = strings.TrimSpace(rest)
		case "done", "fi", "}", "esac":
			return ""
		default:
			return command
		}
	}
}

// withoutAssignment returns a command without the setting of a variable before it, with
// its substitution or quoted value; "" if there is no more.
func withoutAssignment(command string) string {
	name, _, sets := strings.Cut(command, "=")
	if !sets || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return command
	}
	s := shellSplitter{line: command}
	for s.at < len(command) {
		if s.quote == 0 && s.depth == 0 && command[s.at] == ' ' {
			return strings.TrimSpace(command[s.at:])
		}
		s.readByte()
	}
	return ""
}

// onlyPrepares reports whether a command without wrappers does no work of its own: it
// moves to a folder, prints a text or sets something.
func onlyPrepares(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return withoutAssignment(command) == "" ||
		slices.Contains([]string{"cd", "pushd", "popd", "echo", "printf", "export", "unset", "set", "sleep", "true", "source", ".", "wait", "exit", "ulimit", "alias"}, first)
}

// outputFilters are programs that show only some lines of what they read, and whose exit
// code says whether there were any.
var outputFilters = []string{"grep", "egrep", "fgrep", "rg", "ag", "awk", "jq"}

// filtersOutput reports whether a line shows only matching lines of an output: the last
// one says nothing about the outcome.
func filtersOutput(line string) bool {
	commands := splitShell(line)
	for i := 1; i < len(commands); i++ {
		if commands[i-1].operator == "|" && isOutputFilter(commands[i].text) {
			return true
		}
	}
	return false
}

// headLimit is the number of lines that head shows, if it is not 10.
var headLimit = regexp.MustCompile(`^head (?:-n ?|--lines=|-)(\d+)`)

// cutByHead reports whether a line shows only the beginning of an output: how the command
// ended is in the rest.
func cutByHead(line, output string) bool {
	commands := splitShell(line)
	for i := 1; i < len(commands); i++ {
		s := plainCommand(commands[i].text)
		if commands[i-1].operator != "|" || s != "head" && !strings.HasPrefix(s, "head ") {
			continue
		}
		limit := 10
		if m := headLimit.FindStringSubmatch(s); m != nil {
			limit = numberOf(m[1])
		}
		if strings.Count(strings.TrimSpace(output), "\n")+1 >= limit {
			return true
		}
	}
	return false
}

func isOutputFilter(command string) bool {
	first, _, _ := strings.Cut(plainCommand(command), " ")
	return slices.Contains(outputFilters, first)
}

// exitsWithFilter reports whether the exit code of a line is that of a program that only
// filters an output.
func exitsWithFilter(line string) bool {
	commands := splitShell(line)
	n := len(commands)
	return n > 1 && commands[n-2].operator == "|" && isOutputFilter(commands[n-1].text) && !strings.Contains(line, "pipefail")
}

// masksExitCode reports whether the exit code of a line may hide that of a command that
// does the work.
func masksExitCode(line string) bool {
	commands := splitShell(line)
	for i, c := range commands {
		switch c.operator {
		case "", "&&":
		case "|":
			if !strings.Contains(line, "pipefail") {
				return true
			}
		case ";":
			if i < len(commands)-1 && !onlyPrepares(plainCommand(c.text)) && !strings.Contains(line, "set -e") {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// subcommands returns the commands of a line that all succeed if it does, without
// filters of their output.
func subcommands(line string) []string {
	var all []string
	before := ""
	for _, c := range splitShell(line) {
		if before != "|" && before != "||" {
			if s := plainCommand(c.text); s != "" && !onlyPrepares(s) && !(removesTemporary(s) && c.operator != "") {
				all = append(all, s)
			}
		}
		before = c.operator
	}
	return all
}
