package wire

import "github.com/onceward/onceward"

// NewItem is onceward.NewItem for an item that no boundary minted. It finds the
// index of most items without reflection, which costs as much as all the rest.
func NewItem(raw []byte) (onceward.Item, error) {
	canonical, err := onceward.Canonical(raw)
	item := onceward.Item{Raw: canonical}
	if err != nil || len(canonical) > onceward.MaxItem || !plain(canonical, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			return setText(&item.Type, value)
		case "id":
			return setIdentifier(&item.ID, value)
		case "call_id":
			return setIdentifier(&item.CallID, value)
		}
		return true
	}) {
		return onceward.NewItem(raw, "")
	}
	if item.Type == "" {
		item.Type = "message" // the API's short form of a message has no type
	}
	item.Digest = onceward.DigestBytes(canonical)
	return item, nil
}

// setIdentifier sets a string; what is none is no identifier.
func setIdentifier(to *string, value []byte) bool {
	*to = ""
	return value[0] != '"' || setText(to, value)
}
