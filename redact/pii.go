package redact

// personal returns s with marks in place of e-mail addresses and phone numbers.
func personal(s string, seen func(string)) string {
	e := editor{text: s, seen: seen}
	free := 0
	for i := 0; i < len(s); i++ {
		var x span
		switch c := s[i]; {
		case c == '@':
			x = email(s, i, free)
		case (c == '+' || c == '(' || digit[c]) && (i == 0 || !digit[s[i-1]] && s[i-1] != '+' && s[i-1] != '('):
			x = phone(s, i)
		}
		if x.to > 0 && x.from >= free {
			e.mark(x)
			free = x.to
			i = max(i, x.to-1)
		}
	}
	return e.result()
}

var (
	locals = bytesOf(letters + digits + "._%+-")
	hosts  = bytesOf(letters + digits + ".-")
)

// email returns the address with its @ at i.
func email(s string, i, free int) span {
	from := max(free, skipBack(s, i, &locals))
	end := skip(s[:min(len(s), i+128)], i+1, &hosts)
	for end > i && !alnum[s[end-1]] {
		end--
	}
	host := s[min(i+1, end):end]
	dot := len(host)
	for dot > 0 && host[dot-1] != '.' {
		dot--
	}
	for from < i && !alnum[s[from]] {
		from++
	}
	top := host[dot:]
	if from == i || dot < 2 || len(top) < 2 || skip(top, 0, &digit) > 0 || at(s, i+1) == '.' || at(s, end) == ':' && at(s, end+1) != ' ' {
		return span{}
	}
	return span{from, end}
}

// phone returns the number that begins at i: an international one, or one of
// North America with its parts apart.
func phone(s string, i int) span {
	if !begins(s, i) || i > 0 && (s[i-1] == '.' || s[i-1] == '-' || s[i-1] == '/' || s[i-1] == '_' || s[i-1] == ':' || s[i-1] == '=') {
		return span{}
	}
	international := s[i] == '+'
	j, n, groups := i, 0, 0
	var sizes [16]int
	if international {
		j++
	}
	for j < len(s) && groups < len(sizes) {
		open := j
		if s[j] == '(' {
			open++
		}
		end := skip(s, open, &digit)
		if end == open {
			break
		}
		sizes[groups] = end - open
		groups++
		n += end - open
		j = end
		if open > 0 && s[open-1] == '(' {
			if at(s, j) != ')' {
				return span{}
			}
			j++
		}
		if k := separated(s, j); k > j {
			j = k
			continue
		}
		break
	}
	for j > i && !digit[s[j-1]] {
		j--
	}
	if alnum[at(s, j)] || at(s, j) == '_' || at(s, j) == '-' || at(s, j) == '.' && digit[at(s, j+1)] {
		return span{}
	}
	switch {
	case international && n >= 9 && n <= 15 && (groups > 1 || n >= 11):
	case groups == 3 && sizes[0] == 3 && sizes[1] == 3 && sizes[2] == 4:
	case groups == 4 && sizes[0] == 1 && s[i] == '1' && sizes[1] == 3 && sizes[2] == 3 && sizes[3] == 4:
	default:
		return span{}
	}
	return span{i, j}
}

// separated returns the index behind what stands between the groups of a
// number, if a group follows.
func separated(s string, i int) int {
	j := i
	if at(s, j) == ' ' {
		j++
	}
	if c := at(s, j); j == i && (c == '-' || c == '.') {
		j++
	}
	if c := at(s, j); c == '(' && digit[at(s, j+1)] || digit[c] {
		return j
	}
	return i
}
