package chat

import "fmt"

// Unsupported is the error of a transcript that this API cannot carry whole.
// The zero value names nothing.
type Unsupported struct {
	Item string // the type of the item
	Part string // of its content, where that is what cannot be carried
}

// Error implements error.
func (u *Unsupported) Error() string {
	if u.Part != "" {
		return fmt.Sprintf("render messages: chat completions cannot carry a %s with %s", u.Item, u.Part)
	}
	return fmt.Sprintf("render messages: chat completions cannot carry an item of type %s", u.Item)
}
