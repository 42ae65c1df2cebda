package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A dialect reads and writes the message objects of one API.
type dialect struct {
	name string
	// read returns the messages in an object, at least one.
	read func(o jsonObject) ([]chat.Message, error)
	// rewrite returns the object o with the messages that remain of those it held.
	// It returns "" if nothing is left to write.
	rewrite func(o jsonObject, group []chat.Message) string
	// fresh returns an object for messages from another dialect, or "" if they have
	// nothing to write.
	fresh func(group []chat.Message) string
	// joins reports whether next, from another dialect, goes into one object with
	// group. nil: one object for each message.
	joins func(group []chat.Message, next chat.Message) bool
	// id makes the id of a call valid; nil accepts every id.
	id func(id string) string
	// system says that a body has a field for the system prompt, and that its
	// messages have no such role.
	system bool
}

// A fieldError says which field of a message is invalid.
type fieldError struct{ field, problem string }

func (e *fieldError) Error() string { return e.field + ": " + e.problem }

// jsonKindName names the type of a raw JSON value, with its article.
func jsonKindName(raw string) string {
	switch {
	case raw == "":
		return "missing"
	case beginsWithAny(raw, `"`):
		return "a string"
	case beginsWithAny(raw, "{"):
		return "an object"
	case beginsWithAny(raw, "["):
		return "a list"
	case beginsWithAny(raw, "tf"):
		return "true or false"
	case raw == "null":
		return "null"
	}
	return "a number"
}

// messageRole returns the role of a message object.
func messageRole(o jsonObject) (chat.Role, error) {
	raw := o.rawValue("role")
	if !beginsWithAny(raw, `"`) {
		return "", &fieldError{"role", "is " + jsonKindName(raw) + ", not a string"}
	}
	switch role := chat.Role(unquoteText(raw)); role {
	case chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool:
		return role, nil
	case "function":
		return chat.Tool, nil
	default:
		return "", &fieldError{"role", fmt.Sprintf("is %q, not system, developer, user, assistant or tool", role)}
	}
}

// protectedBy reports whether an object marks its message as protected.
func protectedBy(o jsonObject) bool {
	return o.rawValue("protected") == "true" || parseObject(o.rawValue("meta")).rawValue("protected") == "true"
}

// pictureAt returns the picture at an address, which may be a data URL.
func pictureAt(url, detail string) *chat.Picture {
	if head, data, ok := strings.Cut(url, ","); ok {
		if kind, ok := strings.CutPrefix(head, "data:"); ok {
			if kind, ok = strings.CutSuffix(kind, ";base64"); ok {
				return &chat.Picture{MediaType: kind, Data: data, Detail: detail}
			}
		}
	}
	return &chat.Picture{URL: url, Detail: detail}
}

// addressOf returns the address of a picture, with its bytes if they are known.
func addressOf(p *chat.Picture) string {
	if p.Data == "" {
		return p.URL
	}
	return "data:" + mediaType(p) + ";base64," + p.Data
}

// mediaType returns the media type of a picture, from its first bytes if the source
// gives none.
func mediaType(p *chat.Picture) string {
	switch {
	case p.MediaType != "":
		return p.MediaType
	case strings.HasPrefix(p.Data, "/9j/"):
		return "image/jpeg"
	case strings.HasPrefix(p.Data, "R0lG"):
		return "image/gif"
	case strings.HasPrefix(p.Data, "UklGR"):
		return "image/webp"
	}
	return "image/png"
}

// samePart reports whether two parts have the same content.
func samePart(a, b chat.Part) bool {
	if (a.Image == nil) != (b.Image == nil) || a.Image != nil && *a.Image != *b.Image {
		return false
	}
	a.Image, b.Image = nil, nil
	return a == b
}

// joinedTexts returns the texts of text, result and summary parts, a line feed
// between them.
func joinedTexts(parts []chat.Part) string { return chat.Message{Parts: parts}.Text() }

// partsOfKinds returns the parts of the given kinds, in order, without image parts
// that have no picture.
func partsOfKinds(parts []chat.Part, kinds ...chat.Kind) []chat.Part {
	var found []chat.Part
	for _, p := range parts {
		if slices.Contains(kinds, p.Kind) && (p.Kind != chat.Image || p.Image != nil) {
			found = append(found, p)
		}
	}
	return found
}

// argumentsObject returns the arguments of a call as a JSON object. Text that is
// not an object becomes the only member, "input", of an object.
func argumentsObject(p chat.Part) string {
	i := skipSpace(p.Args, 0)
	if i == len(p.Args) {
		return "{}"
	}
	end, err := scanValue(p.Args, i)
	switch {
	case err != nil || skipSpace(p.Args, end) < len(p.Args):
		return objectOf(change{"input", quotedJSON(p.Args)})
	case p.Args[i] != '{':
		return objectOf(change{"input", p.Args[i:end]})
	}
	return p.Args[i:end]
}

// An originalBlocks returns the original blocks of changed parts.
type originalBlocks struct{ blocks []chat.Part }

// replacedParts returns the parts of before that are not in now unchanged.
func replacedParts(before, now []chat.Part) *originalBlocks {
	kept := make(map[string]bool)
	for _, p := range now {
		if p.Raw != "" {
			kept[p.Raw] = true
		}
	}
	var free []chat.Part
	for _, p := range before {
		if p.Raw != "" && !kept[p.Raw] {
			free = append(free, p)
		}
	}
	return &originalBlocks{free}
}

// takeOriginal returns the object of the original block of p: of its kind and, for
// calls and results that had an id, of its id. It has no members if there is none.
func (b *originalBlocks) takeOriginal(p chat.Part) jsonObject {
	for i, block := range b.blocks {
		if block.Kind != p.Kind || block.ID != "" && block.ID != p.ID {
			continue
		}
		b.blocks[i].Raw, b.blocks[i].Kind = "", ""
		for len(b.blocks) > 0 && b.blocks[0].Kind == "" {
			b.blocks = b.blocks[1:]
		}
		return parseObject(block.Raw)
	}
	return jsonObject{raw: "{}"}
}

// textBlockFor returns a text block for p, based on its original block if that was
// a text block too.
func (b *originalBlocks) textBlockFor(p chat.Part) string {
	p.Kind = chat.Text
	o := b.takeOriginal(p)
	switch o.textValue("type") {
	case "text", "input_text", "output_text":
		return o.withChanges(change{"text", quotedJSON(p.Text)})
	}
	return objectOf(change{"type", `"text"`}, change{"text", quotedJSON(p.Text)})
}
