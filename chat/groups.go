package chat

// Pairs says which results answer which calls. A result answers the nearest
// preceding call with its id that has no answer yet; ids repeat in real logs,
// so they do not identify a call by themselves.
type Pairs struct {
	// CallOf holds, for each message, the message whose call it answers, or -1.
	CallOf []int
	// Unanswered holds, for each message, how many of its calls have no result.
	Unanswered []int
}

// PairUp pairs the calls of t with its results.
func PairUp(t Transcript) Pairs {
	p := Pairs{CallOf: make([]int, len(t)), Unanswered: make([]int, len(t))}
	open := make(map[string][]int) // id → messages with an unanswered call of that id, oldest first
	for i, m := range t {
		p.CallOf[i] = -1
		for _, part := range m.Parts {
			switch part.Kind {
			case Call:
				open[part.ID] = append(open[part.ID], i)
				p.Unanswered[i]++
			case Result:
				if at := open[part.ID]; len(at) > 0 {
					p.CallOf[i] = at[len(at)-1]
					p.Unanswered[at[len(at)-1]]--
					open[part.ID] = at[:len(at)-1]
				}
			}
		}
	}
	return p
}

// Groups cuts t into what stays or goes together: a message with calls and all
// its results, else one message. It returns the messages of each group, groups
// in the order of their first message, and the group of each message.
func Groups(t Transcript) (groups [][]int, of []int) {
	p := PairUp(t)
	of = make([]int, len(t))
	flat := make([]int, len(t)) // backs the groups of one message
	for i := range t {
		if c := p.CallOf[i]; c >= 0 {
			of[i] = of[c]
			groups[of[c]] = append(groups[of[c]], i)
			continue
		}
		of[i], flat[i] = len(groups), i
		groups = append(groups, flat[i:i+1:i+1])
	}
	return groups, of
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

// Open returns where the open group of t begins: the newest assistant message,
// where it makes calls and nothing but results stand behind it. It returns
// len(t) where no group is open.
func Open(t Transcript) int {
	i := len(t) - 1
	for i >= 0 && t[i].Role == Tool {
		i--
	}
	if i >= 0 && t[i].Role == Assistant && t[i].HasCalls() {
		return i
	}
	return len(t)
}
