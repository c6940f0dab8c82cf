package wire

import "github.com/onceward/onceward"

// Unheld returns the items that a conversation does not hold yet: those after the
// last one that a model made. The resource appended that one together with all
// before it. The result shares the array of items.
func Unheld(items []onceward.Item) []onceward.Item {
	for i := len(items) - 1; i >= 0; i-- {
		if item := items[i]; item.Type != onceward.ItemManifest && !ours(item) {
			return items[i+1:]
		}
	}
	return items
}

// ours reports whether our side made an item: outputs of calls, and what a user,
// developer or system says.
func ours(item onceward.Item) bool {
	if item.Type == "message" {
		switch text(member(item.Raw, "role")) {
		case "user", "developer", "system":
			return true
		}
		return false
	}
	return isOutput(item.Type)
}

// unheld writes the input of a request in a conversation. Call ids go out as the
// model wrote them, because the conversation holds the calls under these; and no
// repair of the history applies, because its other half is there.
func (w *writer) unheld(items []onceward.Item, f *Fit) error {
	w.raw(`,"input":[`)
	first := true
	for _, item := range Unheld(items) {
		if item.Type == onceward.ItemManifest {
			continue
		}
		if !first {
			w.raw(`,`)
		}
		first = false
		if err := w.item(f, item, item.CallID, false); err != nil {
			return err
		}
	}
	w.raw(`]`)
	return nil
}
