package redact

import (
	"encoding/base64"
	"strings"
)

// A tokenKind is a kind of secret that is recognised by its beginning.
type tokenKind struct {
	prefix string
	bytes  *byteSet
	least  int // bytes after the prefix
	most   int // 0 means no limit
}

var (
	lowerHex  = newByteSet(digits + "abcdef")
	capitals  = newByteSet(capitalBytes)
	hookPaths = newByteSet(letters + digits + "/_-")
	teamPaths = newByteSet(letters + digits + "/_-@")

	capitalsDashed = newByteSet(capitalBytes + "-")
)

// capitalBytes are bytes of which every token has some.
const capitalBytes = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// knownTokens are those of clouds, forges, shops, models and registries.
var knownTokens = []tokenKind{
	{"AKIA", &capitals, 16, 16}, {"ASIA", &capitals, 16, 16}, {"ABIA", &capitals, 16, 16}, {"ACCA", &capitals, 16, 16},
	{"AIza", &dashed, 35, 40}, {"ya29.", &dotted, 20, 0}, {"GOCSPX-", &dashed, 20, 40},
	{"ghp_", &alnum, 30, 0}, {"gho_", &alnum, 30, 0}, {"ghu_", &alnum, 30, 0}, {"ghs_", &alnum, 30, 0}, {"ghr_", &alnum, 30, 0}, {"github_pat_", &word, 40, 0},
	{"glpat-", &dotted, 20, 0}, {"gldt-", &dotted, 20, 0}, {"glrt-", &dotted, 20, 0}, {"glptt-", &dotted, 20, 0}, {"glcbt-", &dotted, 20, 0},
	{"xoxb-", &dashed, 10, 0}, {"xoxp-", &dashed, 10, 0}, {"xoxa-", &dashed, 8, 0}, {"xoxr-", &dashed, 8, 0}, {"xoxs-", &dashed, 8, 0}, {"xoxe-", &dashed, 10, 0}, {"xoxc-", &dashed, 10, 0}, {"xoxd-", &dashed, 10, 0}, {"xapp-", &dashed, 7, 0},
	{"hooks.slack.com/services/", &hookPaths, 20, 0}, {"discord.com/api/webhooks/", &hookPaths, 30, 0}, {"discordapp.com/api/webhooks/", &hookPaths, 30, 0},
	{"sk_live_", &alnum, 10, 0}, {"sk_test_", &alnum, 10, 0}, {"rk_live_", &alnum, 10, 0}, {"rk_test_", &alnum, 10, 0}, {"whsec_", &base64s, 24, 0},
	{"sk-", &dashed, 20, 0}, {"hf_", &alnum, 30, 0}, {"gsk_", &alnum, 40, 0}, {"xai-", &alnum, 40, 0}, {"r8_", &alnum, 37, 0}, {"pplx-", &alnum, 40, 0},
	{"npm_", &alnum, 36, 0}, {"pypi-", &dashed, 50, 0}, {"rubygems_", &lowerHex, 48, 48}, {"dckr_pat_", &dashed, 20, 0},
	{"SG.", &dotted, 40, 0}, {"shpat_", &hex, 32, 32}, {"shpca_", &hex, 32, 32}, {"shppa_", &hex, 32, 32}, {"shpss_", &hex, 32, 32},
	{"dapi", &lowerHex, 32, 32}, {"dop_v1_", &lowerHex, 64, 64}, {"doo_v1_", &lowerHex, 64, 64}, {"lin_api_", &alnum, 32, 0}, {"hvs.", &dashed, 20, 0}, {"hvb.", &dashed, 20, 0},
	{"PMAK-", &dashed, 40, 0}, {"ATATT3", &base64s, 40, 0}, {"AGE-SECRET-KEY-1", &capitals, 58, 58}, {"tskey-", &dashed, 20, 0}, {"sntrys_", &base64s, 40, 0},

	{"phx_", &alnum, 40, 0}, {"sb_secret_", &dashed, 24, 0}, {"lsv2_pt_", &word, 32, 0}, {"lsv2_sk_", &word, 32, 0}, {"nvapi-", &dashed, 50, 0}, {"ATBB", &alnum, 28, 40}, {"tvly-", &dashed, 28, 0}, {"CCIPAT_", &word, 40, 0},
	{"bkua_", &alnum, 36, 0}, {"1//0", &dashed, 40, 0}, {"sk.eyJ1", &dotted, 40, 0}, {"napi_", &alnum, 48, 0},
	{"ops_eyJ", &base64s, 60, 0}, {"A3-", &capitalsDashed, 30, 40}, {"p8e-", &alnum, 32, 32}, {"LTAI", &alnum, 20, 24}, {"AKCp", &alnum, 69, 69}, {"cmVmd", &alnum, 59, 59}, {"A3T", &capitals, 17, 17},
	{"ABSK", &base64s, 100, 0}, {"bedrock-api-key-", &base64s, 20, 0}, {"CLOJARS_", &alnum, 60, 60}, {"clojars_", &alnum, 60, 60}, {"v1.0-", &hexDashed, 150, 0}, {"4b1d", &alnum, 38, 38}, {"dnkey-", &dashed, 26, 0}, {"dor_v1_", &hex, 64, 64},
	{"dp.pt.", &alnum, 43, 43}, {"dp.st.", &dotted, 40, 0}, {"duffel_test_", &base64s, 43, 43}, {"duffel_live_", &base64s, 43, 43}, {"dt0c01.", &dotted, 60, 0}, {"EZAK", &alnum, 54, 54}, {"EZTK", &alnum, 54, 54},
	{"EAAM", &alnum, 100, 0}, {"EAAC", &alnum, 100, 0}, {"EAAA", &dashed, 22, 60}, {"FLWSECK_TEST-", &dashed, 12, 0}, {"FLWPUBK_TEST-", &dashed, 12, 0}, {"FLWSECK-", &dashed, 30, 0}, {"fm1r_", &base64s, 100, 0}, {"fm1a_", &base64s, 100, 0}, {"fm2_", &base64s, 100, 0}, {"fo1_", &dashed, 43, 43},
	{"fio-u-", &base64s, 64, 64}, {"glffct-", &dashed, 20, 0}, {"glft-", &dashed, 20, 0}, {"glimt-", &dashed, 20, 0}, {"glagent-", &dashed, 40, 0}, {"gloas-", &dashed, 40, 0}, {"GR1348941", &dashed, 20, 0}, {"glsoat-", &dashed, 20, 0}, {"_gitlab_session=", &alnum, 32, 32},
	{"glc_", &base64s, 32, 0}, {"glsa_", &word, 41, 41}, {"eyJrIjoi", &base64s, 60, 0}, {"ZXlK", &base64s, 36, 0}, {"pat.", &dotted, 68, 68}, {"sat.", &dotted, 68, 68}, {"HRKU-AA", &dashed, 58, 58}, {"api_org_", &alnum, 34, 34}, {"ico-", &alnum, 32, 32},
	{"s-s4t2ud-", &hex, 64, 64}, {"s-s4t2af-", &hex, 64, 64}, {"webhook.office.com/webhookb2/", &teamPaths, 60, 0}, {"NRJS-", &alnum, 19, 19}, {"NRII-", &dashed, 32, 32}, {"NRAK-", &alnum, 27, 0}, {"ntn_", &alnum, 46, 46}, {"API-", &capitals, 26, 26},
	{"sha256~", &dashed, 43, 43}, {"pscale_tkn_", &dotted, 32, 64}, {"pscale_oauth_", &dotted, 32, 64}, {"pscale_pw_", &dotted, 32, 64}, {"pnu_", &alnum, 36, 36}, {"pul-", &hex, 40, 40}, {"rdme_", &alnum, 70, 70}, {"tk-us-", &dashed, 48, 48},
	{"xkeysib-", &dashed, 80, 0}, {"sntryu_", &hex, 64, 64}, {"sm_aat_", &alnum, 16, 16}, {"sm_pat_", &alnum, 16, 16}, {"sm_sat_", &alnum, 16, 16}, {"shippo_live_", &hex, 40, 40}, {"shippo_test_", &hex, 40, 40}, {"xoxo-", &dashed, 8, 0}, {"xoxe.xoxb-", &dashed, 40, 0}, {"xoxe.xoxp-", &dashed, 40, 0},
	{"sgp_", &word, 40, 0}, {"sq0atp-", &dashed, 22, 60}, {"sq0csp-", &dashed, 22, 60}, {"sk_prod_", &alnum, 10, 0}, {"rk_prod_", &alnum, 10, 0}, {"SK", &hex, 32, 32}, {"tfp_", &base64s, 59, 59}, {"s.", &alnum, 24, 24}, {"sbp_", &lowerHex, 40, 40}, {"figd_", &dashed, 40, 0},
}

func (t tokenKind) findToken(s string, from, to int) span {
	address := strings.HasSuffix(t.prefix, "/") // only the end is the secret
	if s[from:to] != t.prefix || !address && (!runStartsAt(s, from, t.bytes) || withinBase64(s, from)) {
		return span{}
	}
	end := wrappedRun(s, to, t.bytes, t.least)
	text := withoutBreaks(s[to:end])
	tooLong := t.most > 0 && len(text) > t.most && end == skipBytes(s, to, t.bytes)
	lost := 8 * strings.Count(s[to:end], "\n") // what may look like the margin of a line
	if len(text)+lost < t.least || tooLong || hasFewBytes(text) || strings.Contains(strings.ToLower(text), "example") {
		return span{}
	}
	if t.prefix == "s." && !chaotic(text) || strings.HasPrefix(t.prefix, "EAA") && (byteAt(s, from-1) == '+' || byteAt(s, from-1) == '/' || !looksRandom(text) || strings.HasPrefix(text, "AA")) {
		return span{} // a field, or a part of base64
	}
	if t.prefix == "sk-" && !hasMixedParts(text) && !looksRandom(text) || !strings.ContainsAny(text, capitalBytes) {
		return span{} // it may be words with dashes
	}
	if address {
		return span{to, end}
	}
	return span{from, end}
}

// withinBase64 reports whether the text at i continues as base64, like that of an
// image.
func withinBase64(s string, i int) bool {
	const enough = 24
	if c := byteAt(s, i-1); c != '+' && c != '/' || i < enough {
		return false
	}
	before := s[i-enough : i]
	return skipBytes(before, 0, &base64s) == enough && looksRandom(before) && irregular(before)
}

// hasMixedParts reports whether text has digits and letters in a part of at least 8
// bytes, between dashes and the like. Names do not.
func hasMixedParts(text string) bool {
	for i := 0; i < len(text); {
		end := skipBytes(text, i, &alnum)
		if p := text[i:end]; len(p) >= 8 && strings.ContainsAny(p, digits) && strings.ContainsAny(p, letters) {
			return true
		}
		i = end + 1
	}
	return false
}

// wrappedRun is a run that also continues after the end of a line if it has fewer
// than least bytes, and the next line has only bytes of m.
func wrappedRun(s string, i int, m *byteSet, least int) int {
	end := runEndAt(s, i, m)
	for end-i < least {
		k := skipNewline(s, end)
		if k == end || end == i {
			break
		}
		j := skipMargin(s, k)
		stop := runEndAt(s, j, m)
		if stop < j+8 || stop < len(s) && skipNewline(s, stop) == stop && !quotes[s[stop]] {
			break
		}
		end = stop
	}
	return end
}

// jsonWebToken finds JSON web tokens: two or more parts of base64, of which the
// first begins like {" does.
func jsonWebToken(s string, from, to int) span {
	if s[from:to] != "eyJ" || !runStartsAt(s, from, &base64s) && byteAt(s, from-1) != '=' || shortParts(s, from, to) {
		return span{}
	}
	end := runEndAt(s, to, &dotted)
	for range 4 * tallest {
		k := skipNewline(s, end)
		j := skipMargin(s, k)
		stop := runEndAt(s, j, &dotted)
		if k == end || stop < j+16 || stop < len(s) && skipNewline(s, stop) == stop && !quotes[s[stop]] || !looksRandom(s[j:stop]) {
			break
		}
		end = stop
	}
	parts := strings.SplitN(s[from:end], ".", 3)
	if len(parts) < 3 || len(parts[0]) < header || len(parts[1]) < claims {
		return span{}
	}
	return span{from, end}
}

// The minimum bytes of the first two parts of a token.
const (
	header = 10
	claims = 8
)

// shortParts reports whether the parts at from are too short for a token. It does
// not read the rest, because a part may begin at each of many dots.
func shortParts(s string, from, to int) bool {
	first := runEndAt(s, to, &dashed)
	if byteAt(s, first) != '.' {
		return false
	}
	second := runEndAt(s, first+1, &dashed)
	return first-from < header || byteAt(s, second) == '.' && second-first-1 < claims
}

// schemeToken finds the text after Bearer, and the like, in a header.
func schemeToken(s string, from, to int) span {
	i := skipBlanks(s, to)
	end := runEndAt(s, i, &bearerBytes)
	text := s[i:end]
	switch {
	case text == "" && strings.HasPrefix(s[i:], Mark):
		return span{i, i + len(Mark)}
	case len(text) < 8 || isPlaceholder(text):
		return span{}
	case looksRandom(text), hasAuthHeader(s, from) && strings.ContainsAny(text, digits):
		return span{i, end}
	}
	return span{}
}

var bearerBytes = newByteSet(letters + digits + "-._~+/=")

// hasAuthHeader reports whether an authorization header begins on the same line,
// shortly before i.
func hasAuthHeader(s string, i int) bool {
	return strings.Contains(strings.ToLower(s[max(0, i-32):i]), "authorization")
}

// basicPassword finds the text after Basic: base64 of a user and a password.
func basicPassword(s string, from, to int) span {
	i := skipBlanks(s, to)
	end := runEndAt(s, i, &base64s)
	if text := s[i:end]; userAndPassword(text) || len(text) >= 8 && hasAuthHeader(s, from) && strings.ToLower(text) != text && strings.ToLower(text[1:]) != text[1:] {
		return span{i, end}
	}
	return span{}
}

// authValue finds the value of the name auth, as in the files of Docker: base64 of
// a user and a password, or what looks random.
func authValue(s string, from, to int) span {
	i := assignedValue(s, from, to)
	if i < 0 {
		i = indexedValue(s, from, to)
	}
	if i < 0 {
		return span{}
	}
	if strings.Contains(s[to:i], "==") && openingQuote(s, i) == i {
		return span{}
	}
	return judgedValue(s, from, i, func(v valueExtent) bool { return userAndPassword(s[v.from:v.to]) || v.looksSecret(s, loose, false) })
}

func userAndPassword(text string) bool {
	if len(text) < 6 || len(text) > 2048 {
		return false
	}
	if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=")); err == nil {
		for _, c := range b {
			if c < ' ' {
				return false
			}
		}
		return strings.Contains(string(b), ":")
	}
	// A line break is in it.
	return strings.Contains(text, "\n") && looksRandom(text)
}

// mailPassword finds the user and password of SMTP and IMAP, as base64.
func mailPassword(s string, from, to int) span {
	end := runEndAt(s, to, &base64s)
	if text := s[to:end]; s[from:from+4] != "AUTH" || len(text) < 8 || strings.ToLower(text) == text {
		return span{}
	}
	return span{to, end}
}

// cachePassword finds the password after AUTH of Redis, at the beginning of its
// line or after the prompt.
func cachePassword(s string, from, to int) span {
	if s[from:to] != "AUTH " || from != skipMargin(s, lineStart(s, from)) && !strings.HasSuffix(s[:from], "> ") {
		return span{}
	}
	x := spokenWord(s, to, false)
	if x.to == 0 { // AUTH user password
		x = spokenWord(s, skipBlanks(s, skipAtMost(s, to, 64, &dotted)), false)
	}
	if x.to == 0 || !lineEnds(s, x.to) && !quotes[byteAt(s, x.to)] && byteAt(s, x.to) != '\\' {
		return span{}
	}
	return x
}

// protocolPassword finds the password after PASS in the protocols of mail and files.
func protocolPassword(s string, from, to int) span {
	if s[from:to] != "PASS " || !hasSuffix(s[:from], "> ", "C: ") {
		return span{}
	}
	if x := spokenWord(s, to, false); x.to > 0 && lineEnds(s, x.to) {
		return x
	}
	return span{}
}
