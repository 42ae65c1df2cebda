package tokens

// splitCL100K splits by
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCL100K(c *classes, s string, i int) int {
	first, n := c.at(s, i)
	next := i + n
	switch {
	case first&letter != 0:
		return c.letters(s, next)
	case first == number:
		return c.digits(s, next)
	case first == newline:
		return c.blanks(s, i)
	}
	if end := contraction(s, i); end > i {
		return end
	}
	if next < len(s) {
		second, n := c.at(s, next)
		if second&letter != 0 {
			return c.letters(s, next+n)
		}
		if s[i] == ' ' && second&symbol != 0 {
			return lineEnds(s, c.run(s, next+n, symbol))
		}
	}
	if first&symbol != 0 {
		return lineEnds(s, c.run(s, next, symbol))
	}
	return c.blanks(s, i)
}

// splitO200K splits by
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200K(c *classes, s string, i int) int {
	first, n := c.at(s, i)
	next := i + n
	switch {
	case first&letter != 0:
		end, _ := c.word(s, i)
		return contraction(s, end)
	case first == number:
		return c.digits(s, next)
	case first == newline:
		return c.blanks(s, i)
	}
	end, cased := c.word(s, next)
	switch {
	case cased:
		return contraction(s, end)
	case first == mark: // is a word by itself, and that is tried before capitals
		return contraction(s, next)
	case end > next:
		return contraction(s, end)
	case first == other:
		return slashes(s, c.run(s, next, symbol))
	case s[i] == ' ' && next < len(s):
		if second, n := c.at(s, next); second&symbol != 0 {
			return slashes(s, c.run(s, next+n, symbol))
		}
	}
	return c.blanks(s, i)
}

// letters returns the end of the run of letters at i.
func (c *classes) letters(s string, i int) int { return c.run(s, i, letter) }

// word returns the end of the word of o200k at i: capitals, then small
// letters, and cased; or capitals alone, and not cased. A character without
// case counts as either.
func (c *classes) word(s string, i int) (end int, cased bool) {
	last := -1 // behind the last character without case
	for i < len(s) {
		got, n := c.at(s, i)
		if got&(upper|caseless|mark) == 0 {
			if got == lower {
				return c.run(s, i+n, lower|caseless|mark), true
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

// digits returns the end of a run of at most three numbers, the first of which
// ends at i.
func (c *classes) digits(s string, i int) int {
	for range 2 {
		if i == len(s) {
			break
		}
		got, n := c.at(s, i)
		if got != number {
			break
		}
		i += n
	}
	return i
}

// blanks returns the end of the piece of white space at i: up to the last line
// end in the run, else all of it but the last where something follows.
func (c *classes) blanks(s string, i int) int {
	end, last, lines := i, i, i // of the run, the start of its last character, behind the last line end
	for end < len(s) {
		got, n := c.at(s, end)
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

// slashes is [lineEnds] that takes slashes too.
func slashes(s string, i int) int {
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
