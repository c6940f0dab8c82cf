package wire

// members calls yield for each member of the JSON object raw, at its top level
// only, until yield returns false. key is without quotes, value as it stands.
// It returns false when raw is no object or ends early. Values are skipped, not
// validated: check with json.Valid where that matters.
func members(raw []byte, yield func(key, value []byte) bool) bool {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	i = space(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return true
	}
	for {
		end := skip(raw, i)
		if end < 0 || raw[i] != '"' {
			return false
		}
		key := raw[i+1 : end-1]
		i = space(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return false
		}
		i = space(raw, i+1)
		end = skip(raw, i)
		if end < 0 {
			return false
		}
		if !yield(key, raw[i:end]) {
			return true
		}
		i = space(raw, end)
		if i >= len(raw) {
			return false
		}
		switch raw[i] {
		case ',':
			i = space(raw, i+1)
		case '}':
			return true
		default:
			return false
		}
	}
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i, or -1.
func skip(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	depth := 0
	for start := i; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			if i = closing(raw, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return scalar(start, i)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return scalar(start, i)
			}
		}
	}
	if depth == 0 {
		return len(raw)
	}
	return -1
}

func scalar(start, end int) int {
	if end == start {
		return -1
	}
	return end
}

// closing returns the index of the quote that ends the string at i, or -1.
func closing(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// member returns one top-level value of an object, or nil.
func member(raw []byte, name string) []byte {
	var found []byte
	members(raw, func(key, value []byte) bool {
		if string(key) == name {
			found = value
			return false
		}
		return true
	})
	return found
}

// text returns a string value without decoding escapes; it is for identifiers.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(value[1 : len(value)-1])
}

// empty reports whether a value says nothing: absent, null, "", [] or {}.
func empty(value []byte) bool {
	switch string(value) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}
