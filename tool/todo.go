package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// todoName is the name of the tool.
const todoName = "todo"

// The bounds of a Todo: a plan that is longer is no plan, and it is repeated with every call.
const (
	maxItems    = 50
	maxItemText = 200
)

// A Todo is a list of things to do that an agent keeps by a tool. Its text is meant for the end of the window, where it is
// repeated. Make one for each conversation. It is safe for concurrent use; the zero value is an empty list.
type Todo struct {
	mu sync.Mutex
	// list is replaced as a whole and never changed.
	list TodoList
}

// TodoList is what the tool answers with.
type TodoList struct {
	// Items are in the order in which they were added.
	Items []TodoItem `json:"items"`
	// Next is the number of the next new item.
	Next int `json:"next"`
}

// TodoItem is one thing to do. ID counts from 1 and is not used again.
type TodoItem struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
	Done bool   `json:"done,omitempty"`
}

type todoChange struct {
	Add    []string     `json:"add,omitempty" jsonschema_description:"New things to do, in their order."`
	Done   []int        `json:"done,omitempty" jsonschema_description:"Numbers of those that are done."`
	Update []todoUpdate `json:"update,omitempty" jsonschema_description:"Those that have become something else. They are open again."`
	Remove []int        `json:"remove,omitempty" jsonschema_description:"Numbers of those that are not to be done any more."`
}

type todoUpdate struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// Tool returns todo, which changes the list and answers with all of it. A call makes all of its changes or none. It changes
// nothing but the list, so it counts as a tool without side effects; a call without changes shows the list.
func (t *Todo) Tool() cairn.Tool {
	return New(todoName, "Keeps the list of what you have to do: add what you plan, mark as done what is, change what turns out otherwise. You see the list again at the end of each turn.",
		func(_ context.Context, in todoChange) (TodoList, error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			next, err := t.list.changed(in)
			if err != nil {
				return TodoList{}, err
			}
			t.list = next
			return next, nil
		})
}

// Restore sets the list to what an answer of the tool has told, for a resumed attempt that takes the answers before it from
// its journal: the newest one is all that counts.
func (t *Todo) Restore(answer json.RawMessage) error {
	list, err := schema.Decode[TodoList](answer)
	if err != nil {
		return &cairn.Error{Code: BadTodo, Message: "this is no answer of todo", Err: err, Next: "give one as the tool has returned it"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = list
	return nil
}

// List is a copy of the list.
func (t *Todo) List() TodoList {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TodoList{Items: slices.Clone(t.list.Items), Next: t.list.Next}
}

// Text is the list for the end of a window, "" when there is nothing on it. Equal lists have equal texts.
func (t *Todo) Text() string { return t.List().text() }

func (l TodoList) text() string {
	var b strings.Builder
	for _, item := range l.Items {
		mark := " "
		if item.Done {
			mark = "x"
		}
		fmt.Fprintf(&b, "[%s] %d. %s\n", mark, item.ID, item.Text)
	}
	return b.String()
}

// changed is the list after the changes.
func (l TodoList) changed(in todoChange) (TodoList, error) {
	items, next := slices.Clone(l.Items), max(l.Next, 1)
	var wrong []string
	at := func(id int) int {
		i := slices.IndexFunc(items, func(item TodoItem) bool { return item.ID == id })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("there is no item %d", id))
		}
		return i
	}
	checked := func(text string) string {
		text = strings.Join(strings.Fields(text), " ") // one item, one line
		if text == "" {
			wrong = append(wrong, "an item has no text")
		}
		if len(text) > maxItemText {
			wrong = append(wrong, fmt.Sprintf("the item %.20q… has %d bytes, at most %d are kept", text, len(text), maxItemText))
		}
		return text
	}
	for _, u := range in.Update {
		if i := at(u.ID); i >= 0 {
			items[i].Text, items[i].Done = checked(u.Text), false
		}
	}
	for _, id := range in.Done {
		if i := at(id); i >= 0 {
			items[i].Done = true
		}
	}
	for _, id := range in.Remove {
		if i := at(id); i >= 0 {
			items = slices.Delete(items, i, i+1)
		}
	}
	for _, text := range in.Add {
		items = append(items, TodoItem{ID: next, Text: checked(text)})
		next++
	}
	if len(items) > maxItems {
		wrong = append(wrong, fmt.Sprintf("the list would have %d items, at most %d are kept", len(items), maxItems))
	}
	if len(wrong) > 0 {
		return TodoList{}, &cairn.Error{Code: BadTodo, Message: strings.Join(wrong, "; ") + "; nothing was changed", Next: "use the numbers on the list: " + strings.ReplaceAll(strings.TrimSpace(l.text()), "\n", ", ")}
	}
	if items == nil {
		items = []TodoItem{}
	}
	return TodoList{Items: items, Next: next}, nil
}
