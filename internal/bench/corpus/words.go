package corpus

import (
	"math/rand/v2"
	"strings"
)

// dice is the only source of randomness of a session.
type dice struct{ *rand.Rand }

func newDice(seed uint64, stream int) dice {
	return dice{rand.New(rand.NewPCG(seed, uint64(stream)))}
}

// pickWord returns one of words.
func (d dice) pickWord(words []string) string { return words[d.IntN(len(words))] }

// numberBetween returns a number of a to b, both included.
func (d dice) numberBetween(a, b int) int { return a + d.IntN(b-a+1) }

// percentChance is true in p of 100 cases.
func (d dice) percentChance(p int) bool { return d.IntN(100) < p }

// hexDigits returns n hexadecimal digits.
func (d dice) hexDigits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte("0123456789abcdef"[d.IntN(16)])
	}
	return b.String()
}

// capitalize returns word with a capital.
func capitalize(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

var (
	projects = strings.Fields("quillgate marrowdb tinderpost lumenshelf corvidmq brackenfs saltmarsh ferrybox")
	// subjects name the modules of a project; no two are alike.
	subjects = strings.Fields(`osprey tamarind basalt juniper kestrel marigold obsidian saffron thistle walnut
		zephyr amber cobalt drifter ember fennel garnet heron indigo jasper lantern magnolia nectar onyx
		pumice quartz raven sorrel tundra umber violet willow yarrow alder birch cedar dahlia elder flint
		gorse hazel iris larch maple nettle opal poplar rowan sable teasel`)
	verbs = strings.Fields(`load store flush drain merge split parse render resolve claim release renew
		verify attach detach collect sweep schedule encode decode route admit evict replay seal rotate
		measure clamp shrink index trace probe batch`)
	nouns = strings.Fields(`frame lease ledger window bucket cursor digest segment shard ticket voucher
		manifest snapshot payload quota cohort bearing token queue buffer journal beacon region tenant
		invoice channel session envelope replica watermark backlog horizon interval anchor catalog record`)
	adjectives = strings.Fields(`stale pending recent nested partial expired visible primary remote local
		hidden ordered sparse frozen empty shared`)
	// roles are the purposes of a module's files.
	roles = strings.Fields(`store worker router codec cache policy index client limits journal audit
		reader writer planner registry`)
)
