package redact

import "strings"

// operator returns the index behind the colon, the equals sign or the operator
// with one of them at i; -1 where none is.
func operator(s string, i int) int {
	if c := at(s, i); (c == '!' || c == '?') && at(s, i+1) == '=' {
		i++
	}
	for _, wide := range []string{"：", "＝"} { // of Chinese and Japanese
		if strings.HasPrefix(s[i:], wide) {
			return i + len(wide)
		}
	}
	j := i
	for j < i+3 && strings.IndexByte(":=", at(s, j)) >= 0 && j < len(s) {
		j++
	}
	if j == i {
		return -1
	}
	if at(s, j) == '>' && s[j-1] == '=' {
		j++
	}
	return j
}

// assigned is name = value, and name: value.
func assigned(s string, _, end int) int {
	j := operator(s, blanks(s, end))
	if j < 0 {
		return -1
	}
	if strings.HasPrefix(s[j:], "** ") || strings.HasPrefix(s[j:], "__ ") { // **name:** value, in Markdown
		j += 2
	}
	j = blanks(s, j)
	if at(s, j) == '\\' && newline(s, j+1) > j+1 {
		j = margin(s, newline(s, j+1))
	}
	if j < len(s) && space[s[j]] {
		return -1
	}
	return j
}

// assignedBelow is assigned where lines end before the value, or before the
// operator.
func assignedBelow(s string, end int) int {
	j := operator(s, skip(s, end, &space))
	if j < 0 {
		return -1
	}
	k := skip(s, j, &space)
	if strings.IndexByte(s[j:k], '\n') >= 0 {
		if m := margin(s, k); m < len(s) && !space[s[m]] {
			k = m
		}
	}
	if k < len(s) && !space[s[k]] {
		return k
	}
	return -1
}

// indexed is "name": value, ["name"] = value and 'name' => value.
func indexed(s string, _, end int) int {
	j := opening(s, end)
	if j == end {
		return -1
	}
	if at(s, j) == ']' {
		j++
	}
	if j = operator(s, blanks(s, j)); j < 0 {
		return -1
	}
	return margined(s, j)
}

// tagged is <name>value</name>.
func tagged(s string, from, end int) int {
	if at(s, end) != '>' || at(s, skipBack(s, from, &dotted)-1) != '<' || space[at(s, end+1)] {
		return -1
	}
	return end + 1
}

// typed is name type = "value".
func typed(s string, _, end int) int {
	j := blanks(s, end)
	if at(s, j) == ':' {
		j = blanks(s, j+1)
	}
	k := skipTo(s, j, 48, &dotted)
	if j == end || k == j || k > j+40 {
		return -1
	}
	k = blanks(s, k)
	if at(s, k) != '=' || at(s, k+1) == '=' {
		return -1
	}
	if k = blanks(s, k+1); opening(s, k) == k {
		return -1
	}
	return k
}

// types are the bytes of a type that stands before an equals sign.
var types = bytesOf(letters + digits + "_.:&<>[]' ")

// declared is name: &type = "value" and name = Some("value"), as Rust writes
// them: what is in the quotes, whatever type or constructor stands before it.
func declared(s string, end int) int {
	j, special := blanks(s, end), false
	if at(s, j) == ':' {
		k := skipTo(s, j+1, 48, &types)
		special = strings.ContainsAny(s[j:k], "&<")
		j = k
	}
	if at(s, j) != '=' || at(s, j+1) == '=' || at(s, j+1) == '>' {
		return -1
	}
	k := blanks(s, j+1)
	for _, constructor := range []string{"String::from(", "Some(", "Ok(", "Arc::from(", "Box::from("} {
		if strings.HasPrefix(s[k:], constructor) {
			k, special = k+len(constructor), true
		}
	}
	if !special || opening(s, k) == k {
		return -1
	}
	return k
}

// retyped returns where the value is that follows what v took for one and is a
// type: name: type = value. It returns 0 where there is none.
func retyped(s string, v value) int {
	k := blanks(s, v.to)
	if v.quoted || at(s, k) != '=' || at(s, k+1) == '=' || at(s, k+1) == '>' || v.to-v.from > 64 {
		return 0
	}
	if k = blanks(s, k+1); k < len(s) && !space[s[k]] {
		return k
	}
	return 0
}

// flagged is --name value.
func flagged(s string, from, end int) int {
	if start := skipBack(s, from, &dashed); at(s, start) != '-' && at(s, start-1) != '-' {
		return -1
	}
	j := blanks(s, end)
	if at(s, j) == '\\' && newline(s, j+1) > j+1 {
		j = margin(s, newline(s, j+1))
	}
	if j == end || j >= len(s) || space[s[j]] || s[j] == '-' {
		return -1
	}
	return j
}

// listed is "name", "value", in a list or a call.
func listed(s string, _, end int) int {
	j := opening(s, end)
	if j == end || at(s, j) != ',' {
		return -1
	}
	if j = margined(s, j+1); opening(s, j) > j {
		return j
	}
	return -1
}

// called is name("value").
func called(s string, _, end int) int {
	if at(s, end) == '(' && opening(s, end+1) > end+1 {
		return end + 1
	}
	return -1
}

// paired is name: the-name, value: value, as in Kubernetes and HAR files.
func paired(s string, _, end int) int {
	j := opening(s, end)
	j = blanks(s, j)
	if at(s, j) == ',' {
		j++
	}
	if j = opening(s, margined(s, j)); j == end || !strings.HasPrefix(s[j:], "value") {
		return -1
	}
	j += len("value")
	if j = operator(s, opening(s, j)); j < 0 {
		return -1
	}
	return blanks(s, j)
}

// netrc is login a password value.
func netrc(s string, from, end int) int {
	before := s[max(0, from-128):from]
	if at(s, end) != ' ' || !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\n") || !strings.Contains(before, "login ") {
		return -1
	}
	return blanks(s, end)
}

// beside is what stands next to a name with nothing but marks between, as in
// tables, prose and the commands of shells.
func beside(s string, _, end int) int {
	j := skipTo(s, end, 24, &marks)
	if strings.HasPrefix(s[j:], "→") {
		j = blanks(s, j+len("→"))
	}
	for _, scheme := range []string{"ApiKey ", "Token ", "token "} {
		if strings.HasPrefix(s[j:], scheme) {
			j += len(scheme)
		}
	}
	if j > end && quotes[s[j-1]] {
		j--
	}
	if j == end || j >= len(s) || space[s[j]] || strings.Trim(s[end:j], "\"'`") == "" {
		return -1
	}
	return j
}

var marks = bytesOf(" \t*|-:=_\"'`")

// labelled returns where the value begins behind the tag or anchor of YAML at
// i; i where there is none.
func labelled(s string, i int) int {
	if c := at(s, i); c != '!' && c != '&' {
		return i
	}
	j := skipTo(s, i+1, 48, &dashed)
	if next := blanks(s, j); j > i+1 && next > j && next < len(s) && !space[s[next]] {
		return next
	}
	return i
}

// block returns where the block of lines ends that a YAML scalar at i, | or >,
// announces; i where there is none.
func block(s string, name, i int) int {
	if c := at(s, i); c != '|' && c != '>' {
		return i
	}
	j := i + 1
	for j < len(s) && j < i+3 && strings.IndexByte("+-123456789", s[j]) >= 0 {
		j++
	}
	line := newline(s, blanks(s, j))
	if line <= j {
		return i
	}
	column := indent(s, lineStart(s, name))
	end := i
	for line < len(s) {
		stop := len(s)
		if n := strings.IndexByte(s[line:], '\n'); n >= 0 {
			stop = line + n
		}
		if text := strings.TrimSpace(s[line:stop]); text != "" && indent(s, line) <= column {
			break
		} else if text != "" {
			end = stop
		}
		line = stop + 1
	}
	if end > i && s[end-1] == '\r' {
		end--
	}
	return end
}

// indent returns the column where the text of the line at i begins.
func indent(s string, i int) int { return margin(s, i) - i }

// folded returns where a value ends that ends its line at i and goes on on the
// next, as a plain scalar of YAML may: indented more than its name, or, within
// a scalar, as much, and one word that looks random. Else it returns i.
func folded(s string, name, i int) int {
	k := newline(s, i)
	if k == i {
		return i
	}
	j := margin(s, k)
	start := lineStart(s, name)
	first := margin(s, start) >= skipBack(s, name, &dashed)
	if deeper := j - k - indent(s, start); deeper < 0 || deeper == 0 && (first || j == k) {
		return i
	}
	end := skip(s, j, &base64s)
	if end < len(s) && newline(s, end) == end && s[end] != ';' || end < j+8 || !opaque(s[j:end]) {
		return i
	}
	return end
}
