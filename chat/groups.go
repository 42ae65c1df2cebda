package chat

// Pairs says which results answer which calls. A result answers the nearest
// preceding unanswered call with its id; ids repeat in real logs, so they do not
// identify a call by themselves.
type Pairs struct {
	// CallOf has, for each message, the message whose call it answers, or -1; the
	// last if it answers several.
	CallOf []int
	// Also has the others, and the messages whose calls to servers' tools the
	// message answers.
	Also map[int][]int
	// Unanswered has, for each message, the number of its calls without a result.
	Unanswered []int

	// server has, for each result of a server's tool, the message of its call, or
	// -1. Such results are in the assistant's messages.
	server map[partPlace]int
}

// A partPlace is a part of a message.
type partPlace struct{ message, part int }

// Orphan reports whether part k of message i is a result that answers no call
// before it.
func (p Pairs) Orphan(i, k int, kind Kind) bool {
	if kind == ServerResult {
		return p.server[partPlace{i, k}] < 0
	}
	return kind == Result && p.CallOf[i] < 0
}

// PairUp pairs the calls of t with its results, and those of servers' tools with
// each other.
func PairUp(t Transcript) Pairs {
	p := Pairs{CallOf: make([]int, len(t)), Unanswered: make([]int, len(t))}
	open, onServer := make(openCalls), make(openCalls)
	for i, m := range t {
		p.CallOf[i] = -1
		for k := range m.Parts {
			part := &m.Parts[k]
			switch part.Kind {
			case Call:
				open.addCall(part.ID, i)
				p.Unanswered[i]++
			case Result:
				if call := open.takeCall(part.ID); call >= 0 {
					p.noteAnswer(i, call)
				}
			case ServerCall:
				onServer.addCall(part.ID, i)
				p.Unanswered[i]++
			case ServerResult:
				p.answerOnServer(partPlace{i, k}, onServer.takeCall(part.ID))
			}
		}
	}
	return p
}

// openCalls holds, by id, the messages with an unanswered call, oldest first.
type openCalls map[string][]int

func (o openCalls) addCall(id string, message int) { o[id] = append(o[id], message) }

// takeCall returns the newest message with an unanswered call of that id, and marks
// the call as answered, or -1.
func (o openCalls) takeCall(id string) int {
	at := o[id]
	if len(at) == 0 {
		return -1
	}
	o[id] = at[:len(at)-1]
	return at[len(at)-1]
}

// answerOnServer records that a server's result answers a call of a message. A
// result in another message joins the two, because the halves must stay together.
func (p *Pairs) answerOnServer(result partPlace, call int) {
	if p.server == nil {
		p.server = make(map[partPlace]int)
	}
	p.server[result] = call
	if call < 0 {
		return
	}
	p.Unanswered[call]--
	if call != result.message {
		p.addAlso(result.message, call)
	}
}

func (p *Pairs) addAlso(i, call int) {
	if p.Also == nil {
		p.Also = make(map[int][]int)
	}
	p.Also[i] = append(p.Also[i], call)
}

func (p *Pairs) noteAnswer(i, call int) {
	if was := p.CallOf[i]; was >= 0 && was != call {
		p.addAlso(i, was)
	}
	p.CallOf[i] = call
	p.Unanswered[call]--
}

// Groups divides t into groups that stay or are removed together: a message with
// calls and all its results, else one message. It returns the messages of each
// group, with groups in the order of their first message, and the group of each
// message.
func Groups(t Transcript) (groups [][]int, of []int) {
	p := PairUp(t)
	of = make([]int, len(t))
	first := make(groupSets, len(t)) // an older message of the same group, or the message itself
	flat := make([]int, len(t))      // backs the groups of one message
	for i := range t {
		first[i] = i
		if c := p.CallOf[i]; c >= 0 {
			first.joinSets(c, i)
		}
		for _, c := range p.Also[i] {
			first.joinSets(c, i)
		}
	}
	for i := range t {
		if r := first.findRoot(i); r < i {
			of[i] = of[r]
			groups[of[r]] = append(groups[of[r]], i)
			continue
		}
		of[i], flat[i] = len(groups), i
		groups = append(groups, flat[i:i+1:i+1])
	}
	return groups, of
}

// groupSets returns the groups as links: each message points to an older one of its
// group, the oldest to itself.
type groupSets []int

func (j groupSets) findRoot(i int) int {
	for j[i] != i {
		j[i] = j[j[i]]
		i = j[i]
	}
	return i
}

func (j groupSets) joinSets(a, b int) {
	a, b = j.findRoot(a), j.findRoot(b)
	j[max(a, b)] = min(a, b)
}

// Newest returns the index of the newest message of t for which is reports
// true, or -1.
func Newest(t Transcript, is func(Message) bool) int {
	for i := len(t) - 1; i >= 0; i-- {
		if is(t[i]) {
			return i
		}
	}
	return -1
}

// Open returns the index at which the open group of t begins: the newest assistant
// message, if it makes calls and only results follow it, or if a server has not yet
// answered its calls. It returns len(t) if no group is open.
func Open(t Transcript) int {
	i := len(t) - 1
	for i >= 0 && t[i].Role == Tool {
		i--
	}
	if i >= 0 && t[i].Role == Assistant && t[i].Waits() {
		return i
	}
	return len(t)
}
