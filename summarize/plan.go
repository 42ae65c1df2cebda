package summarize

import (
	"slices"
	"strings"
)

// A todoEntry is an entry of a list of todos.
type todoEntry struct {
	id, text string
	done     bool
	dropped  bool // it is not to be done any more
}

// readPlan reads the list of todos of tools that keep one.
func readPlan(name string, fields map[string]any) (action, bool) {
	a := action{kind: plans, tool: name, whole: true}
	keys := []string{"todos", "plan"}
	if containsAny(strings.ToLower(name), "todo", "task", "plan") {
		keys = append(keys, "todoList", "todo_list", "task_list", "taskList", "tasks", "items")
	}
	for _, key := range keys {
		entries, _ := fields[key].([]any)
		for _, e := range entries {
			if f, ok := e.(map[string]any); ok {
				a.todos = append(a.todos, readTodo(f))
			}
		}
		if len(a.todos) == 0 && containsAny(strings.ToLower(name), "todo") {
			a.todos = readChecklist(firstText(fields, key))
		}
		if len(a.todos) > 0 {
			return a, true
		}
	}
	a.whole = false
	switch {
	case name == "TaskCreate":
		a.todos = []todoEntry{{text: firstText(fields, "subject")}}
	case name == "TaskUpdate":
		status := firstText(fields, "status")
		a.todos = []todoEntry{{id: firstText(fields, "taskId"), done: status == "completed", dropped: status == "deleted"}}
	}
	return a, len(a.todos) > 0
}

// readTodo reads an entry that is an object.
func readTodo(fields map[string]any) todoEntry {
	status := strings.ToLower(firstText(fields, "status", "state"))
	done, _ := fields["done"].(bool)
	completed, _ := fields["completed"].(bool)
	return todoEntry{
		text:    firstText(fields, "content", "step", "title", "text", "description", "subject", "task"),
		done:    done || completed || slices.Contains([]string{"completed", "complete", "done", "finished"}, status),
		dropped: slices.Contains([]string{"cancelled", "canceled", "deleted", "skipped"}, status),
	}
}

// readChecklist reads a list of todos in Markdown: "[x] done", "- [ ] open".
func readChecklist(text string) (todos []todoEntry) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*0123456789. ")
		if len(line) < 4 || line[0] != '[' || line[2] != ']' {
			continue
		}
		todos = append(todos, todoEntry{text: strings.TrimSpace(line[3:]), done: line[1] == 'x' || line[1] == 'X'})
	}
	return todos
}
