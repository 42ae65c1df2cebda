package tokens

// splitCL100K splits by
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCL100K(c *charClasses, s string, i int) int {
	first, n := c.charClassAt(s, i)
	next := i + n
	switch {
	case first&letter != 0:
		return c.lettersEnd(s, next)
	case first == number:
		return c.digitsEnd(s, next)
	case first == newline:
		return c.blanksEnd(s, i)
	}
	if end := contraction(s, i); end > i {
		return end
	}
	if next < len(s) {
		second, n := c.charClassAt(s, next)
		if second&letter != 0 {
			return c.lettersEnd(s, next+n)
		}
		if s[i] == ' ' && second&symbol != 0 {
			return lineEnds(s, c.endOfRun(s, next+n, symbol))
		}
	}
	if first&symbol != 0 {
		return lineEnds(s, c.endOfRun(s, next, symbol))
	}
	return c.blanksEnd(s, i)
}

// splitO200K splits by
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200K(c *charClasses, s string, i int) int {
	first, n := c.charClassAt(s, i)
	next := i + n
	switch {
	case first&letter != 0:
		end, _ := c.o200kWordEnd(s, i)
		return contraction(s, end)
	case first == number:
		return c.digitsEnd(s, next)
	case first == newline:
		return c.blanksEnd(s, i)
	}
	end, cased := c.o200kWordEnd(s, next)
	switch {
	case cased:
		return contraction(s, end)
	case first == mark: // is a word by itself, and that is tried before capitals
		return contraction(s, next)
	case end > next:
		return contraction(s, end)
	case first == other:
		return slashesEnd(s, c.endOfRun(s, next, symbol))
	case s[i] == ' ' && next < len(s):
		if second, n := c.charClassAt(s, next); second&symbol != 0 {
			return slashesEnd(s, c.endOfRun(s, next+n, symbol))
		}
	}
	return c.blanksEnd(s, i)
}

// lettersEnd returns the end of the run of letters at i.
func (c *charClasses) lettersEnd(s string, i int) int { return c.endOfRun(s, i, letter) }

// o200kWordEnd returns the end of the word of o200k at i: capitals, then small
// letters, and cased; or capitals alone, and not cased. A character without case
// counts as either.
func (c *charClasses) o200kWordEnd(s string, i int) (end int, cased bool) {
	last := -1 // after the last character without case
	for i < len(s) {
		got, n := c.charClassAt(s, i)
		if got&(upper|caseless|mark) == 0 {
			if got == lower {
				return c.endOfRun(s, i+n, lower|caseless|mark), true
			}
			break
		}
		i += n
		if got != upper {
			last = i
		}
	}
	if last >= 0 {
		return last, true
	}
	return i, false
}

// digitsEnd returns the end of a run of at most three numbers, the first of which
// ends at i.
func (c *charClasses) digitsEnd(s string, i int) int {
	for range 2 {
		if i == len(s) {
			break
		}
		got, n := c.charClassAt(s, i)
		if got != number {
			break
		}
		i += n
	}
	return i
}

// blanksEnd returns the end of the piece of white space at i: up to the last line
// end in the run, else all of it except the last character if text follows.
func (c *charClasses) blanksEnd(s string, i int) int {
	end, last, lines := i, i, i // of the run, the start of its last character, after the last line end
	for end < len(s) {
		got, n := c.charClassAt(s, end)
		if got&blank == 0 {
			break
		}
		last = end
		end += n
		if got == newline {
			lines = end
		}
	}
	switch {
	case lines > i:
		return lines
	case end == len(s) || last == i:
		return end
	}
	return last
}

// lineEnds returns the end of the run of line ends that begins at i.
func lineEnds(s string, i int) int {
	for i < len(s) && (s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// slashesEnd is [lineEnds] that includes slashes.
func slashesEnd(s string, i int) int {
	for i < len(s) && (s[i] == '\n' || s[i] == '\r' || s[i] == '/') {
		i++
	}
	return i
}

// contraction returns the end of 's, 't, 're, 've, 'm, 'll or 'd at i, or i.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if i+2 < len(s) && s[i+2]|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if i+2 < len(s) && s[i+2]|0x20 == 'l' {
			return i + 3
		}
	}
	return i
}
