package classify

import (
	"bytes"
)

// downloads are texts that go on with what another server answered, unquoted.
var downloads = [][]byte{[]byte("failed to download"), []byte("unable to download"), []byte("error while downloading")}

// pasters stand before a quote that is another server's error, pasted whole.
var pasters = [][]byte{
	[]byte("error"), []byte("exception"), []byte("message"), []byte("reason"), []byte("detail"), []byte("details"), []byte("said"), []byte("says"),
	[]byte("response"), []byte("body"), []byte("upstream"), []byte("returned"), []byte("answered"), []byte("failed with"), []byte("desc"),
}

// mask overwrites the letters of a folded line that are somebody else's words:
// the insides of quotes, addresses, the values that validators print and the
// answers of other servers. Figures and punctuation stay, and so does every
// place, because the rules look at what is around a name and at its form.
//
// In the refusal of a request's shape every quote is the caller's, and one that
// never closes takes the rest of the line along. Elsewhere a quote that begins the
// line, or follows a paster, is another server's error.
func mask(line []byte, shape bool) {
	for _, d := range downloads {
		if at := bytes.Index(line, d); at >= 0 && shape {
			blot(line[at+len(d):])
			line = line[:at+len(d)]
		}
	}
	if at := bytes.Index(line, []byte("input_value=")); at >= 0 {
		after := line[at+len("input_value="):]
		// The last mark of the end: the caller may have written an earlier one.
		end := bytes.LastIndex(after, []byte("input_type="))
		if end < 0 {
			end = len(after)
		}
		blot(after[:end])
		maskQuotes(line[:at], shape)
		maskQuotes(after[end:], shape)
		return
	}
	maskQuotes(line, shape)
}

func maskQuotes(line []byte, shape bool) {
	depth, first, from := 0, -1, 0 // first is the line's first quote, from the one that is open
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			before, next := i > 0 && inWord(line[i-1]), i+1 < len(line) && inWord(line[i+1])
			switch {
			case before && next: // an apostrophe
			case depth == 0 && before && first >= 0 && shape:
				// An apostrophe closed the quote too early, as in 'users' files'.
				blot(line[first:bytes.LastIndexByte(line, '\'')])
				return
			case depth == 0 && before: // a plural's apostrophe
			case before, !next && depth > 0 && !opens(line, i):
				depth--
				if depth == 0 && (shape || !pasted(line[:from])) {
					blot(line[from:i])
				}
			default:
				depth++
				if depth == 1 {
					from = i
				}
				if first < 0 {
					first = i
				}
			}
		case depth == 0 && c == ':' && bytes.HasPrefix(line[i:], []byte("://")):
			end := bytes.IndexByte(line[i:], ' ')
			if end < 0 {
				end = len(line) - i
			}
			blot(line[i : i+end])
			i += end - 1
		}
	}
	if depth > 0 && shape {
		blot(line[from:])
	}
}

// pasted reports whether the quote after before holds another server's error.
func pasted(before []byte) bool {
	before = bytes.TrimRight(before, " :=-(>")
	for _, p := range pasters {
		if bytes.HasSuffix(before, p) {
			return true
		}
	}
	return len(before) == 0
}

// blot overwrites letters.
func blot(b []byte) {
	for i, c := range b {
		if c >= 'a' && c <= 'z' || c >= 0x80 {
			b[i] = 'x'
		}
	}
}

// opens reports whether the quote at i, with no word on either side, begins a
// quote within a quote, as in {'model': '-'}.
func opens(line []byte, i int) bool {
	return i > 0 && bytes.IndexByte([]byte(" ([{:=,"), line[i-1]) >= 0 && i+1 < len(line) && line[i+1] != ' '
}

// inWord reports whether c is part of a word. Bytes of other scripts are.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
