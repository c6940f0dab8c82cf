package classify

import "strings"

// Reason returns a finish reason as it is compared. Gateways pass on what their
// own upstream says, in capitals, with hyphens or with the name of its type
// before it: MAX_TOKENS, tool-calls, endTurn, FinishReason.STOP.
func Reason(s string) string {
	s = strings.TrimSpace(s)
	s = s[strings.LastIndexByte(s, '.')+1:]
	var out strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '-' || c == ' ':
			out.WriteByte('_')
		case c >= 'A' && c <= 'Z':
			if i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
				out.WriteByte('_')
			}
			out.WriteByte(c + 'a' - 'A')
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
