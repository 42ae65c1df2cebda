package levels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// The next question is about the newest file: it is cut to what is free, not to what
// fits a digest.
func TestTheNewestFileIsCutToWhatIsFree(t *testing.T) {
	var file strings.Builder
	for i := range 400 {
		fmt.Fprintf(&file, "\tif value%d := compute(%d, input); value%d > limit { return value%d }\n", i, i*7, i, i)
	}
	in := new(script).say(chat.User, "look at this project").say(chat.Assistant, "yes").t
	newest := chat.NewText(chat.User, file.String())
	newest.Machine = true
	in = append(in, newest)
	for i := range in {
		in[i].ID = fmt.Sprint("m", i)
	}
	v := viewOf(in)
	v.Count, v.Size, v.Sizes = four, sizeOfFour, nil
	v.Protections = protection.Policy{}.Protections(in)
	for _, m := range in {
		v.Sizes = append(v.Sizes, sizeOfFour(m))
	}
	whole := v.Total()
	for _, percent := range []int{15, 30, 68, 90} {
		limit := whole * percent / 100
		out, err := edit.Apply(v.Messages, levels.Truncate(v, limit), edit.Rules{Size: sizeOfFour})
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, m := range out {
			left += sizeOfFour(m)
		}
		if left > limit || left < limit*3/4 {
			t.Errorf("%d tokens in a limit of %d: %d are left", whole, limit, left)
		}
		text := out[len(out)-1].Text()
		if !strings.Contains(text, "compute(0, input)") || !strings.Contains(text, "compute(7, input)") || !strings.Contains(text, fmt.Sprintf("compute(%d, input)", 399*7)) {
			t.Errorf("limit %d: head or tail is missing in\n%.500s", limit, text)
		}
	}
}

// A long task counts as fixed: beside it, the newest result is cut to what is free, not
// to a stub.
func TestTheNewestResultHasWhatIsFreeBesideALongTask(t *testing.T) {
	var task, listing strings.Builder
	for i := range 60 {
		fmt.Fprintf(&task, "Rule %d of the workflow says what has to be done in step %d.\n", i, i)
		fmt.Fprintf(&listing, "modified: engineering/sprints/one/part%d.go\n", i)
	}
	in := new(script).say(chat.User, task.String()).call("git", nil, listing.String()).t
	for i := range in {
		in[i].ID = fmt.Sprint("m", i)
	}
	v := viewOf(in)
	v.Count, v.Size, v.Sizes = four, sizeOfFour, nil
	v.Protections = protection.Policy{}.Protections(in)
	for _, m := range in {
		v.Sizes = append(v.Sizes, sizeOfFour(m))
	}
	limit := v.Sizes[0] * 4 / 3
	if whole := v.Total(); whole <= limit {
		t.Fatalf("%d tokens fit %d", whole, limit)
	}
	out, err := edit.Apply(v.Messages, levels.Truncate(v, limit), edit.Rules{Size: sizeOfFour})
	if err != nil {
		t.Fatal(err)
	}
	free := limit - v.Sizes[0]
	if n := sizeOfFour(out[len(out)-1]); n < free/2 || n > free {
		t.Errorf("the newest result has %d of %d free tokens:\n%s", n, free, out[len(out)-1].Text())
	}
}
