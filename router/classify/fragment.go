package classify

import (
	"errors"
	"regexp"
	"strings"
)

// cutAnswer is net/http's error about an answer that broke off inside its
// headers. It quotes the piece that came.
var cutAnswer = regexp.MustCompile(`(?s)malformed (?:MIME header|HTTP response)[^"]*"(.*)$`)

// withoutFragment takes the quoted piece out of such an error: the words of half
// a header, such as X-Ratelimit, are no reason, and the first bytes of a status
// line do not mean that the address speaks another protocol. A piece that could
// not begin an HTTP answer stays, because that is what it does mean.
func withoutFragment(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	found := cutAnswer.FindStringSubmatchIndex(text)
	if found == nil {
		return err
	}
	piece := strings.TrimSuffix(text[found[2]:found[3]], `"`)
	if strings.Contains(text[found[0]:found[2]], "HTTP response") && !strings.HasPrefix("HTTP/", piece) && !strings.HasPrefix(piece, "HTTP/") {
		return err
	}
	return errors.New(text[:found[0]] + "the answer broke off inside its headers: unexpected EOF")
}
