package redact

import "strings"

// Keys of services have no form of their own. They are recognised by the name of
// the service in the name of the variable: HEROKU_STAGING=….

// vendors are services whose keys have no form of their own.
var vendors = strings.Fields("adafruit adobe airtable algolia alibaba asana jira atlassian confluence beamer bitbucket bittrex meraki cloudflare codecov cohere coinbase confluent contentful contribsys datadog discord " +
	"droneci dropbox etsy facebook fastly finicity finnhub flickr freshbooks gitter gocardless heroku hubspot intercom artifactory jfrog xray bintray kraken kucoin launchdarkly linear linkedin lob looker mailchimp mailgun mapbox " +
	"mattermost messagebird netlify newrelic new-relic new_relic nytimes newyorktimes new-york-times okta plaid privateai rapidapi sendbird sentry snyk sonar squarespace sumo sumologic telegr travis twitch twitter typeform yandex zendesk")

// generals are words of names that sometimes contain a key.
var generals = []string{"api", "access", "creds", "key", "token", "secret"}

// vendor finds the value of a name with a service in it.
func vendor(s string, from, to int) span {
	return keyOf(s, from, to, func(text string) bool {
		letters := len(text) >= 14 && irregular(text)
		numbers := len(text) >= 15 && skipBytes(text, 0, &digit) == len(text)
		return looksRandom(text) || letters || numbers || len(text) >= 16 && skipBytes(text, 0, &hexDashed) == len(text) && strings.ContainsAny(text, digits)
	})
}

// general finds the value of a name with a word like key in it. Hashes and ids have
// such names, too: only a value with capitals, letters and digits is replaced.
func general(s string, from, to int) span {
	return keyOf(s, from, to, func(text string) bool {
		if strings.ContainsAny(text, ":") || strings.Contains(strings.TrimRight(text, "="), "=") {
			return false
		}
		least := 12
		if strings.Contains(s[max(0, from-64):from], "curl") { // a header
			least = 8
		}
		return len(text) >= least && looksRandom(text) && chaotic(text)
	})
}

// release reports whether text is a version: v1.2.3-rc1, or that of a commit.
func release(text string) bool {
	rest := strings.TrimPrefix(text, "v")
	n := skipBytes(rest, 0, &digit)
	return n > 0 && n < 5 && byteAt(rest, n) == '.' && digit[byteAt(rest, n+1)]
}

var (
	commas    = newByteSet(",")
	hexDashed = newByteSet(digits + "abcdefABCDEF-")
	keyBytes  = newByteSet(letters + digits + "_-.=:/+~")
)

// keyOf returns the value of the name with the word s[from:to] in it, if secret
// accepts it.
func keyOf(s string, from, to int, secret func(string) bool) span {
	if alnum[byteAt(s, from-1)] && !wordBegins(s, from) && !('A' <= s[from] && s[from] <= 'Z' && 'a' <= s[from-1] && s[from-1] <= 'z') {
		return span{}
	}
	i := assignedAnyhow(s, skipAtMost(s, to, 24, &dotted))
	if i < 0 {
		return span{}
	}
	if c := byteAt(s, i-1); blank[c] && byteAt(s, skipBack(s, i, &blank)-1) == ',' && openingQuote(s, i) == i { // an argument
		return span{}
	}
	i = openingQuote(s, i)
	stop := skipAtMost(s, i, enoughBytes, &keyBytes)
	text := s[i:stop]
	numbers := skipBytes(text, 0, &digit) == len(text)
	switch c := byteAt(s, stop); {
	case c != 0 && !stops[c], len(text) < 8, isPathOrTime(text) && !numbers, isPlaceholder(text), expressionKind(strings.TrimLeft(text, "*&")) > 0, release(text):
		return span{}
	case strings.Contains(text, "sha") && strings.ContainsAny(text, ":-"): // a labelled hash
		return span{}
	}
	if !secret(text) {
		return span{}
	}
	return span{i, runEndAt(s, i, &keyBytes)}
}

// assignedAnyhow returns the place of the value for the name that ends at end:
// after an operator, a comma, or the || of a default; -1 if there is none.
func assignedAnyhow(s string, end int) int {
	j := skipBlanks(s, openingQuote(s, end))
	switch i := skipOperator(s, j); {
	case i >= 0:
		return skipBlanks(s, i)
	case strings.HasPrefix(s[j:], "||"):
		return skipBlanks(s, j+2)
	case byteAt(s, j) == ',':
		j = skipBlanks(s, skipBytes(s, j, &commas))
		if i := skipOperator(s, j); i > 0 {
			return i
		}
		if strings.HasPrefix(s[j:], "||") {
			j += 2
		}
		return j
	}
	return -1
}

// irregular reports whether the case of letters changes irregularly, as in no name.
func irregular(text string) bool {
	changes, _ := turns(text)
	return changes*3 >= len(text) && strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// chaotic reports whether text has capitals, letters and digits in random order:
// x86CallTarget has one number in it, and longer words.
func chaotic(text string) bool {
	changes, numbers := turns(text)
	return irregular(text) && numbers > 0 && (changes*2 >= len(text) || numbers > 1 && changes*5 >= len(text)*2)
}

// turns returns how often the kind of character changes in text, and the number of
// numbers.
func turns(text string) (changes, numbers int) {
	last := 0
	for i := range len(text) {
		k := 0
		switch c := text[i]; {
		case 'a' <= c && c <= 'z':
			k = 1
		case 'A' <= c && c <= 'Z':
			k = 2
		case digit[c]:
			k = 3
		}
		if k != last {
			changes++
			if k == 3 {
				numbers++
			}
		}
		last = k
	}
	return changes, numbers
}

// A middle is a token that is recognised by a mark in its middle, or at its end.
type middle struct {
	mark          string
	before        *byteSet
	least, most   int // bytes before the mark
	behind        *byteSet
	follow, limit int // bytes after it
}

var middles = []middle{
	{".atlasv1.", &alnum, 14, 14, &base64s, 60, 70},  // Terraform
	{"Q~", &azureBytes, 4, 4, &azureBytes, 31, 34},   // Azure AD
	{"_mmk", &word, 36, 36, &alnum, 0, 0},            // MaxMind
	{":AA", &digit, 6, 16, &dashed, 32, 34},          // Telegram
	{".acc-", &dotted, 8, 44, &accessBytes, 40, 160}, // Authress
	{".acc_", &dotted, 8, 44, &accessBytes, 40, 160},
}

var (
	azureBytes  = newByteSet(letters + digits + "_~.-")
	accessBytes = newByteSet(letters + digits + "+/_=.-")
)

func (m middle) find(s string, from, to int) span {
	if s[from:to] != m.mark {
		return span{}
	}
	start := from
	for start > 0 && from-start < m.most && m.before[s[start-1]] {
		start--
	}
	end := skipAtMost(s, to, m.limit+1, m.behind)
	if from-start < m.least || end-to < m.follow || end-to > m.limit || start > 0 && alnum[s[start-1]] && !wordBegins(s, start) || !hasMixedParts(s[start:end]) {
		return span{}
	}
	return span{start, end}
}
