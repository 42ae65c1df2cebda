package embed

// termHash returns the hash of the stem of a lower-case word: read, reads and
// reading have one, as do buy and bought.
func termHash(w []byte) uint32 {
	if base := irregularStem(w); base != "" {
		return hashTerm(base)
	}
	var buf [maxWord]byte
	return hashTerm(stemWord(buf[:copy(buf[:], w)]))
}

// stemWord cuts common English endings off a lower-case word. It changes word.
func stemWord(w []byte) []byte {
	w = cutEnding(cutInflection(cutPlural(w)))
	n := len(w)
	switch {
	case n > 3 && w[n-1] == 'e':
		n--
	case n > 2 && w[n-1] == 'y' && !isVowelByte(w[n-2]):
		w[n-1] = 'i' // studied without its ending ends like this
	}
	if w = w[:n]; n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' && 'a' <= w[n-1] && w[n-1] <= 'z' {
		w = w[:n-1]
	}
	return w
}

func cutPlural(w []byte) []byte {
	n := len(w)
	switch {
	case n >= 5 && hasEnding(w, "ies"):
		return w[:n-2]
	case n >= 4 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

func cutInflection(w []byte) []byte {
	n := len(w)
	switch {
	case n >= 6 && hasEnding(w, "ing") && hasVowel(w[:n-3]):
		return w[:n-3]
	case n >= 5 && hasEnding(w, "ed") && !hasEnding(w, "eed") && hasVowel(w[:n-2]):
		return w[:n-2]
	}
	return w
}

// cutEnding cuts endings that form another kind of word.
func cutEnding(w []byte) []byte {
	n := len(w)
	switch {
	case n >= 6 && hasEnding(w, "ly") && beforeLy(w[n-3]):
		return w[:n-2]
	case n >= 6 && hasEnding(w, "er"):
		return w[:n-2]
	case n >= 8 && (hasEnding(w, "tion") || hasEnding(w, "sion")):
		return w[:n-3]
	case n >= 8 && hasEnding(w, "ment"):
		return w[:n-4]
	}
	return w
}

// beforeLy reports whether ly is an ending after c: it is in quickly, not in
// family.
func beforeLy(c byte) bool {
	switch c {
	case 'c', 'd', 'e', 'g', 'h', 'k', 'l', 'm', 'n', 'r', 't':
		return true
	}
	return false
}

func hasVowel(w []byte) bool {
	for _, c := range w {
		if isVowelByte(c) || c == 'y' {
			return true
		}
	}
	return false
}

func isVowelByte(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

func hasEnding(w []byte, ending string) bool {
	return len(w) >= len(ending) && string(w[len(w)-len(ending):]) == ending
}

// irregularStem returns the stem of an irregular verb or noun, "" for other words:
// a question uses buy for what was bought. It is one long switch because it is
// called for every word of every message, and a switch needs neither package state
// nor memory.
func irregularStem(w []byte) string {
	if len(w) < 3 || len(w) > 10 {
		return ""
	}
	switch string(w) {
	case "ate", "eaten":
		return "eat"
	case "became":
		return "becom"
	case "began", "begun":
		return "begin"
	case "bitten":
		return "bit"
	case "blew", "blown":
		return "blow"
	case "bought":
		return "buy"
	case "broke", "broken":
		return "break"
	case "brought":
		return "bring"
	case "built":
		return "build"
	case "burnt":
		return "burn"
	case "came":
		return "com"
	case "caught":
		return "catch"
	case "children":
		return "child"
	case "chose", "chosen":
		return "choos"
	case "dealt":
		return "deal"
	case "drank", "drunk":
		return "drink"
	case "dreamt":
		return "dream"
	case "drew", "drawn":
		return "draw"
	case "drove", "driven":
		return "driv"
	case "dug":
		return "dig"
	case "fallen", "fell":
		return "fall"
	case "fed":
		return "feed"
	case "feet":
		return "foot"
	case "felt":
		return "feel"
	case "flew", "flown":
		return "fli"
	case "forgot", "forgotten":
		return "forget"
	case "fought":
		return "fight"
	case "found":
		return "find"
	case "froze", "frozen":
		return "freez"
	case "gave", "given":
		return "giv"
	case "grew", "grown":
		return "grow"
	case "heard":
		return "hear"
	case "held":
		return "hold"
	case "hidden":
		return "hid"
	case "hung":
		return "hang"
	case "kept":
		return "keep"
	case "knew", "known":
		return "know"
	case "laid":
		return "lay"
	case "learnt":
		return "learn"
	case "led":
		return "lead"
	case "left":
		return "leav"
	case "lent":
		return "lend"
	case "lost":
		return "los"
	case "made":
		return "mak"
	case "meant":
		return "mean"
	case "men":
		return "man"
	case "met":
		return "meet"
	case "paid":
		return "pay"
	case "ran":
		return "run"
	case "rang", "rung":
		return "ring"
	case "rode", "ridden":
		return "rid"
	case "said":
		return "say"
	case "sang", "sung":
		return "sing"
	case "sat":
		return "sit"
	case "saw", "seen":
		return "see"
	case "sent":
		return "send"
	case "shaken", "shook":
		return "shak"
	case "shot":
		return "shoot"
	case "shown":
		return "show"
	case "slept":
		return "sleep"
	case "sold":
		return "sell"
	case "sought":
		return "seek"
	case "spent":
		return "spend"
	case "spoke", "spoken":
		return "speak"
	case "stole", "stolen":
		return "steal"
	case "stood":
		return "stand"
	case "struck":
		return "strik"
	case "swam", "swum":
		return "swim"
	case "taken", "took":
		return "tak"
	case "taught":
		return "teach"
	case "teeth":
		return "tooth"
	case "thought":
		return "think"
	case "threw", "thrown":
		return "throw"
	case "told":
		return "tell"
	case "tore", "torn":
		return "tear"
	case "understood":
		return "understand"
	case "used", "using":
		return "use"
	case "woke", "woken":
		return "wak"
	case "women":
		return "woman"
	case "won":
		return "win"
	case "wore", "worn":
		return "wear"
	case "written", "wrote":
		return "writ"
	}
	return ""
}
