package wire

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tiercompact/tiercompact/chat"
)

// A layout is the document that the messages of a conversation are in.
//
//	bom before { "model": …, "messages": [ ␣obj gap obj␣ ], … } after
//	           └──────── body, where key is "messages" ───────┘
//
// If key is "", the body is the list itself or, for JSON lines, the objects without
// brackets.
type layout struct {
	before, body, after string
	key                 string // of the list in the body
	lines               bool
	list                list
}

// A list is how message objects follow each other.
type list struct {
	objects     []*chat.Source
	gaps        []string // gaps[i] is before object i and after another; gaps[0] is ""
	first, last string   // before the first object, and after the last
}

// separator returns the text between two objects that were not adjacent before: the
// text between the first two, or else the minimum.
func (l *layout) separator() string {
	for i, g := range l.list.gaps {
		if i > 0 && (!l.lines || strings.Contains(g, "\n")) {
			return g
		}
	}
	switch {
	case l.lines && strings.HasSuffix(l.list.last, "\r\n"):
		return "\r\n"
	case l.lines:
		return "\n"
	}
	return "," + l.list.first
}

// A layoutReader reads the messages of one list or file.
type layoutReader struct {
	src  *source
	path string // of the list, for errors
	sep  string // the minimum between two objects: a comma in a list, a line feed in lines
	t    chat.Transcript
	list list
	n    int // objects read
	end  int // offset in src.text of the end of the last object that was read
}

// addObject adds the messages of the object at src.text[start:end].
func (r *layoutReader) addObject(d dialect, start, end int) error {
	return r.addMessages(d, start, end, readObject(d, r.src.text[start:end]))
}

// addMessages adds what was read of the object at src.text[start:end].
func (r *layoutReader) addMessages(d dialect, start, end int, read objectMessages) error {
	r.n++
	raw, messages, err := r.src.text[start:end], read.messages, read.err
	switch {
	case err != nil && r.src.lenient:
		r.src.skipped++
		return nil
	case err != nil:
		return r.wrongField(start, err)
	}
	source := &chat.Source{Format: d.name, JSON: raw, Count: len(messages)}
	for i := range messages {
		messages[i].Source, messages[i].Index = source, i
	}
	gap := r.src.text[r.end:start]
	switch {
	case len(r.list.objects) == 0:
		r.list.first, gap = gap, ""
	case strings.Trim(gap, r.sep+" \t\r\n") != "": // an object was skipped
		gap = r.sep
	}
	if strings.TrimSpace(r.list.first) != "" {
		r.list.first = ""
	}
	r.list.objects = append(r.list.objects, source)
	r.list.gaps = append(r.list.gaps, gap)
	r.t = append(r.t, messages...)
	r.end = end
	return nil
}

// An objectMessages has the messages of one object, or why it has none.
type objectMessages struct {
	messages []chat.Message
	err      error
}

func readObject(d dialect, raw string) objectMessages {
	if raw[0] != '{' {
		return objectMessages{err: &fieldError{"", "is " + jsonKindName(raw) + ", not a message object"}}
	}
	messages, err := d.read(parseObject(raw))
	return objectMessages{messages, err}
}

// A span is the place of a value in a text.
type span struct{ start, end int }

// parallelBytes is the length of the texts that are worth another core: reading takes a
// millisecond for half a megabyte, and a model call waits for it.
const parallelBytes = 64 << 10

// readObjects reads objects of text, on several cores if they are long.
func readObjects(d dialect, text string, spans []span) []objectMessages {
	results := make([]objectMessages, len(spans))
	workers := 1
	if n := len(spans); n > 0 {
		workers = max(1, min(runtime.GOMAXPROCS(0), n, (spans[n-1].end-spans[0].start)/parallelBytes))
	}
	var next atomic.Int64
	var broken atomic.Value // of a panic, which the caller's goroutine must have
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				broken.Store(fmt.Sprint(p))
			}
		}()
		const block = 16
		for from := int(next.Add(block)) - block; from < len(spans); from = int(next.Add(block)) - block {
			for i := from; i < min(from+block, len(spans)); i++ {
				results[i] = readObject(d, text[spans[i].start:spans[i].end])
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if p := broken.Load(); p != nil {
		panic(p)
	}
	return results
}

// wrongField returns the error for the object at an offset.
func (r *layoutReader) wrongField(offset int, err error) *Error {
	path, problem := r.path, err.Error()
	if r.sep == "," {
		path += fmt.Sprintf("[%d]", r.n-1)
	}
	if f := (*fieldError)(nil); errors.As(err, &f) {
		problem = f.problem
		if path != "" && f.field != "" {
			path += "."
		}
		path += f.field
	}
	return r.src.sourceError(ErrField, r.src.lineOfOffset(offset), path, problem, "repair the message, or leave such ones out with --lenient")
}

// readList reads the messages of the list at src.text[start:end].
func readList(src *source, d dialect, start, end int, path string) (chat.Transcript, list, error) {
	r := layoutReader{src: src, path: path, sep: ",", end: start + 1}
	var spans []span
	for from, to := range elements(src.text[start:end]) {
		spans = append(spans, span{start + from, start + to})
	}
	r.t = slices.Grow(r.t, len(spans))
	for i, read := range readObjects(d, src.text, spans) {
		if err := r.addMessages(d, spans[i].start, spans[i].end, read); err != nil {
			return nil, list{}, err
		}
	}
	inside := src.text[r.end : end-1]
	if len(r.list.objects) == 0 {
		r.list.first, inside = inside, ""
	}
	if strings.TrimSpace(inside) == "" {
		r.list.last = inside
	}
	return r.t, r.list, nil
}

// readBody reads the conversation in v: a list of messages, or a body with the list
// under "messages". around says that the conversation is the whole file.
func readBody(src *source, d dialect, v value, around bool, path string) (Conversation, error) {
	c := Conversation{Format: d.name, layout: &layout{body: v.raw}}
	if around {
		c.layout.before, c.layout.after = src.bom+src.text[:v.offset], src.text[v.offset+len(v.raw):]
	}
	start, end := 0, len(v.raw)
	var system []chat.Message
	if v.raw[0] == '{' {
		body := parseObject(v.raw)
		c.layout.key, path = "messages", path+"messages"
		c.Model = body.textValue("model")
		if body.valueHasKind("tools", "[") {
			c.Tools = []byte(body.rawValue("tools"))
		}
		if d.system {
			system = readSystem(body)
		}
		start, end = body.valueSpan("messages")
	}
	if !beginsWithAny(v.raw[start:end], "[") {
		return c, src.sourceError(ErrField, v.line, path, "is "+jsonKindName(v.raw[start:end])+", not a list of messages", "")
	}
	messages, objects, err := readList(src, d, v.offset+start, v.offset+end, path)
	c.Messages, c.layout.list = append(system, messages...), objects
	fillCallIDs(c.Messages)
	return c, err
}

// readChats reads a file of one conversation, or of several: a list of lists,
// a list of objects with a list under "traj", or a body on each line.
func readChats(src *source, d dialect) ([]Conversation, error) {
	if start, end, err := src.firstValue(); src.text[start] == '{' && err == nil && skipSpace(src.text, end) < len(src.text) {
		return readBodies(src, d)
	}
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	switch doc.raw[0] {
	case '[':
		if chats := listsOfMessages(doc); len(chats) > 0 {
			return readEach(src, d, chats)
		}
	case '{':
	default:
		return nil, src.sourceError(ErrField, doc.line, "", "is "+jsonKindName(doc.raw)+", not a list of messages or a request body", "")
	}
	c, err := readBody(src, d, doc, true, "")
	if err != nil {
		return nil, err
	}
	return []Conversation{c}, nil
}

// listsOfMessages returns the lists of messages in a list of chats, nothing if it
// is a list of messages.
func listsOfMessages(doc value) []value {
	var chats []value
	for start, end := range elements(doc.raw) {
		at := start
		if doc.raw[start] == '{' {
			o := parseObject(doc.raw[start:end])
			for _, m := range o.members {
				if (m.key == "traj" || m.key == "messages") && beginsWithAny(o.raw[m.start:], "[") {
					at, end = start+m.start, start+m.end
				}
			}
		}
		if doc.raw[at] != '[' {
			return nil
		}
		chats = append(chats, value{doc.raw[at:end], doc.line, doc.offset + at})
	}
	return chats
}

func readEach(src *source, d dialect, chats []value) ([]Conversation, error) {
	var all []Conversation
	for i, v := range chats {
		c, err := readBody(src, d, v, len(chats) == 1, fmt.Sprintf("chat %d", i+1))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func readBodies(src *source, d dialect) ([]Conversation, error) {
	var all []Conversation
	err := src.eachJSONLine(func(v value) error {
		if v.raw[0] != '{' {
			return src.sourceError(ErrField, v.line, "", "is "+jsonKindName(v.raw)+", not a request body", "")
		}
		c, err := readBody(src, d, v, false, "")
		if err == nil {
			all = append(all, c)
		}
		return err
	})
	return all, err
}
