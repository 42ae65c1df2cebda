package redact

import "strings"

// Keys of services look like nothing in particular. What tells them is the name
// of the service in the name that they are given to: HEROKU_STAGING=….

// vendors are services whose keys have no form of their own.
var vendors = strings.Fields("adafruit adobe airtable algolia alibaba asana jira atlassian confluence beamer bitbucket bittrex meraki cloudflare codecov cohere coinbase confluent contentful contribsys datadog discord " +
	"droneci dropbox etsy facebook fastly finicity finnhub flickr freshbooks gitter gocardless heroku hubspot intercom artifactory jfrog xray bintray kraken kucoin launchdarkly linear linkedin lob looker mailchimp mailgun mapbox " +
	"mattermost messagebird netlify newrelic new-relic new_relic nytimes newyorktimes new-york-times okta plaid privateai rapidapi sendbird sentry snyk sonar squarespace sumo sumologic telegr travis twitch twitter typeform yandex zendesk")

// generals are words of names that hold a key now and then.
var generals = []string{"api", "access", "creds", "key", "token", "secret"}

// vendor finds the value of a name with a service in it.
func vendor(s string, from, to int) span {
	return keyOf(s, from, to, func(text string) bool {
		letters := len(text) >= 14 && irregular(text)
		numbers := len(text) >= 15 && skip(text, 0, &digit) == len(text)
		return opaque(text) || letters || numbers || len(text) >= 16 && skip(text, 0, &hexDashed) == len(text) && strings.ContainsAny(text, digits)
	})
}

// general finds the value of a name with a word like key in it. Hashes and ids
// are given to such names, too: only what has capitals, letters and digits goes.
func general(s string, from, to int) span {
	return keyOf(s, from, to, func(text string) bool {
		if strings.ContainsAny(text, ":") || strings.Contains(strings.TrimRight(text, "="), "=") {
			return false
		}
		least := 12
		if strings.Contains(s[max(0, from-64):from], "curl") { // a header
			least = 8
		}
		return len(text) >= least && opaque(text) && chaotic(text)
	})
}

// release reports whether text is a version: v1.2.3-rc1, or that of a commit.
func release(text string) bool {
	rest := strings.TrimPrefix(text, "v")
	n := skip(rest, 0, &digit)
	return n > 0 && n < 5 && at(rest, n) == '.' && digit[at(rest, n+1)]
}

var (
	commas    = bytesOf(",")
	hexDashed = bytesOf(digits + "abcdefABCDEF-")
	keyBytes  = bytesOf(letters + digits + "_-.=:/+~")
)

// keyOf returns the value of the name with the word s[from:to] in it, if secret
// says so of it.
func keyOf(s string, from, to int, secret func(string) bool) span {
	if alnum[at(s, from-1)] && !begins(s, from) && !('A' <= s[from] && s[from] <= 'Z' && 'a' <= s[from-1] && s[from-1] <= 'z') {
		return span{}
	}
	i := assignedAnyhow(s, skipTo(s, to, 24, &dotted))
	if i < 0 {
		return span{}
	}
	if c := at(s, i-1); blank[c] && at(s, skipBack(s, i, &blank)-1) == ',' && opening(s, i) == i { // an argument
		return span{}
	}
	i = opening(s, i)
	stop := skipTo(s, i, enough, &keyBytes)
	text := s[i:stop]
	numbers := skip(text, 0, &digit) == len(text)
	switch c := at(s, stop); {
	case c != 0 && !stops[c], len(text) < 8, route(text) && !numbers, placeholder(text), expressed(strings.TrimLeft(text, "*&")) > 0, release(text):
		return span{}
	case strings.Contains(text, "sha") && strings.ContainsAny(text, ":-"): // a hash that says so
		return span{}
	}
	if !secret(text) {
		return span{}
	}
	return span{i, run(s, i, &keyBytes)}
}

// assignedAnyhow returns where the value is that is given to the name that ends
// at end: behind an operator, a comma, or the || of a default; -1 where none is.
func assignedAnyhow(s string, end int) int {
	j := blanks(s, opening(s, end))
	switch i := operator(s, j); {
	case i >= 0:
		return blanks(s, i)
	case strings.HasPrefix(s[j:], "||"):
		return blanks(s, j+2)
	case at(s, j) == ',':
		j = blanks(s, skip(s, j, &commas))
		if i := operator(s, j); i > 0 {
			return i
		}
		if strings.HasPrefix(s[j:], "||") {
			j += 2
		}
		return j
	}
	return -1
}

// irregular reports whether the case of letters changes without order, as no name
// has it.
func irregular(text string) bool {
	changes, _ := turns(text)
	return changes*3 >= len(text) && strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// chaotic reports whether text has capitals, letters and digits as by chance:
// x86CallTarget has one number in it, and longer words.
func chaotic(text string) bool {
	changes, numbers := turns(text)
	return irregular(text) && numbers > 0 && (changes*2 >= len(text) || numbers > 1 && changes*5 >= len(text)*2)
}

// turns returns how often one kind of character follows another in text, and how
// many numbers there are.
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

// A middle is a token that one knows by what is in its middle, or at its end.
type middle struct {
	mark          string
	before        *set
	least, most   int // bytes before the mark
	behind        *set
	follow, limit int // bytes behind it
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
	azureBytes  = bytesOf(letters + digits + "_~.-")
	accessBytes = bytesOf(letters + digits + "+/_=.-")
)

func (m middle) find(s string, from, to int) span {
	if s[from:to] != m.mark {
		return span{}
	}
	start := from
	for start > 0 && from-start < m.most && m.before[s[start-1]] {
		start--
	}
	end := skipTo(s, to, m.limit+1, m.behind)
	if from-start < m.least || end-to < m.follow || end-to > m.limit || start > 0 && alnum[s[start-1]] && !begins(s, start) || !mixed(s[start:end]) {
		return span{}
	}
	return span{start, end}
}
