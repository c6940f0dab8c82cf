package redact

import (
	"slices"
	"strings"
)

const redacted = "[redacted]"

// Shapes returns s cut to limit bytes, with what has the
// shape of a credential, signed query strings, long encoded blobs and e-mail
// addresses replaced. It is for credentials of others, whose values nobody here
// knows, and a key without a shape passes: the values of the pool's own are taken
// out by package redact, before anything is read.
// It errs on the side of replacing: a lost word costs less than a leaked key.
func Shapes(s string, limit int) string {
	// Twice the limit is read, so that a key is not cut before it is seen whole.
	s = cut(s, 2*limit)
	var out strings.Builder
	done := 0   // what of s is in out; nothing, while nothing was replaced
	secret := 0 // how many of the words to come follow "Bearer" or "api key:"
	for i := 0; i < len(s) && out.Len()+i-done <= limit; {
		for i < len(s) && !wordByte[s[i]] {
			i++
		}
		start := i
		var seen byte
		for i < len(s) && wordByte[s[i]] {
			seen |= marks[s[i]]
			i++
		}
		word := s[start:i]
		if word == "" {
			break
		}
		if secret != 0 || seen != 0 || len(word) >= 32 { // else letters only: most words
			if safe := redactWord(word, secret > 0); safe != word {
				out.WriteString(s[done:start])
				out.WriteString(safe)
				done = i
			}
		}
		secret = secretAfter(word, s[i:], secret)
	}
	if done == 0 {
		return cut(s, limit)
	}
	out.WriteString(s[done:])
	return cut(out.String(), limit)
}

// wordByte keeps URLs, keys and addresses in one word. marks are the bytes that
// make a word worth a closer look.
var wordByte, marks = func() (word [256]bool, mark [256]byte) {
	for i := range word {
		c := byte(i)
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		word[i] = letter || c >= '0' && c <= '9' || c > 127 || strings.IndexByte("-_.+/=@:?&%~#*$", c) >= 0
		if word[i] && !letter && c != '.' && c <= 127 {
			mark[i] = 1
		}
	}
	return word, mark
}()

// secretAfter returns how many of the following words are a secret.
func secretAfter(word, rest string, left int) int {
	if len(word) == 6 && strings.EqualFold(word, "bearer") || len(word) == 5 && strings.EqualFold(word, "basic") {
		return 1
	}
	if word == ":" || word == "=" {
		return left // between a quoted name and its value
	}
	last := word[len(word)-1]
	if last != ':' && last != '=' && !afterQuote(rest) {
		return max(left-1, 0)
	}
	w := strings.ToLower(strings.Trim(word, ".:="))
	switch w {
	case "bearer", "basic":
		return 1 // "Bearer: ..."
	case "api-key", "api_key", "apikey", "x-api-key", "authorization", "token", "access_token", "client_secret", "password", "secret", "x-goog-api-key",
		"ocp-apim-subscription-key", "credential":
		return 1
	case "provided", "key":
		if strings.HasSuffix(word, ":") {
			return 1
		}
	}
	return max(left-1, 0)
}

// afterQuote reports a key-value separator after a quoted name.
func afterQuote(rest string) bool {
	if len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' && (rest[0] != ' ' || rest[1] != ':' && rest[1] != '=') {
		return false // most words
	}
	rest = strings.TrimLeft(rest, `"' `)
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
}

func redactWord(w string, secret bool) string {
	if secret && !strings.EqualFold(w, "bearer") && !strings.EqualFold(w, "basic") && strings.Trim(w, ":=.*-") != "" {
		return redacted
	}
	if at := strings.Index(w, "://"); at >= 0 {
		return redactURL(w, at+3)
	}
	if strings.Contains(w, "=") && (strings.ContainsAny(w, "?&") || credentialName(w[:strings.IndexByte(w, '=')])) {
		return redactQuery(w)
	}
	if at := strings.IndexByte(w, '@'); at > 0 && strings.Contains(w[at:], ".") {
		return redacted
	}
	if strings.ContainsAny(w, ":=/") && len(w) > 12 {
		// The secret may hang on a name: "key:sk-...", "path/sk-...".
		if i := strings.LastIndexAny(w, ":=/"); i >= 0 && i+1 < len(w) && hasKeyPrefix(w[i+1:]) {
			return w[:i+1] + redacted
		}
	}
	if hasKeyPrefix(w) || longSecret(w) {
		return redacted
	}
	return w
}

// keyPrefixes begin the keys of well-known resources.
var keyPrefixes = []string{
	"sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xai-", "gsk_", "AIza", "ya29.", "hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-",
	"AKIA", "ASIA", "eyJ", "csk-", "fw_", "nvapi-", "pplx-", "tgp_", "r8_", "key-", "xox", "ABSK", "sess-", "ek_",
}

func hasKeyPrefix(w string) bool {
	for _, p := range keyPrefixes {
		if len(w) >= len(p)+6 && strings.HasPrefix(w, p) {
			return true
		}
	}
	return false
}

// idPrefixes begin ids that are worth reading and open nothing.
var idPrefixes = []string{
	"resp_", "msg_", "rs_", "fc_", "call_", "req_", "toolu_", "chatcmpl-", "gen-", "cmp_", "ws_", "conv_", "item_", "ctc_", "file-",
	"batch_", "run_", "org-", "proj_", "ig_", "mcp_", "arn:",
}

// longSecret reports a long run of mixed letters and digits: base64, hex, JWT.
func longSecret(w string) bool {
	w = strings.Trim(w, ".:")
	if len(w) < 32 {
		return false
	}
	for _, p := range idPrefixes {
		if strings.HasPrefix(w, p) {
			return false
		}
	}
	digits, upper, lower, dashes, hex := 0, 0, 0, 0, 0
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
			hex++
		case c >= 'a' && c <= 'z':
			lower++
			if c <= 'f' {
				hex++
			}
		case c >= 'A' && c <= 'Z':
			upper++
			if c <= 'F' {
				hex++
			}
		case c == '-':
			dashes++
		}
	}
	if len(w) == 36 && dashes == 4 && hex == 32 {
		return false // a UUID
	}
	return digits >= 4 && (upper > 0 && lower > 0 || hex+dashes == len(w)) || len(w) >= 64 && digits > 0 && !strings.ContainsAny(w, "./")
}

func redactURL(w string, host int) string {
	if at := strings.LastIndexByte(w, '@'); at > host {
		if slash := strings.IndexByte(w[host:], '/'); slash < 0 || host+slash > at {
			w = w[:host] + redacted + w[at:]
		}
	}
	if strings.IndexByte(w, '?') < 0 {
		return w
	}
	return redactQuery(w)
}

// redactQuery replaces the values of credential-like query parameters.
func redactQuery(w string) string {
	start := strings.IndexByte(w, '?') + 1
	var out strings.Builder
	out.WriteString(w[:start])
	for i, pair := range strings.Split(w[start:], "&") {
		if i > 0 {
			out.WriteByte('&')
		}
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case ok && (credentialName(name) || hasKeyPrefix(value) || longSecret(value)):
			out.WriteString(name + "=" + redacted)
		default:
			out.WriteString(pair)
		}
	}
	return out.String()
}

func credentialName(n string) bool {
	n = strings.ToLower(n)
	switch n {
	case "sig", "key":
		return true
	}
	for _, part := range []string{"key", "token", "secret", "signature", "password", "credential", "auth"} {
		if strings.HasSuffix(n, part) {
			return true
		}
	}
	return false
}

// LooksSecret reports whether a text has the shape of a credential: a known
// beginning, a scheme of HTTP before it, a password before a host, or a long run
// of letters and digits. Many credentials have no shape. The address of a person
// is none, although Shapes takes it out.
func LooksSecret(s string) bool {
	scheme, _, ok := strings.Cut(s, " ")
	if ok && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic")) {
		return true
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
		if !address(word) && redactWord(word, false) != word {
			return true
		}
	}
	return false
}

// address reports a word that is an e-mail address, as a From header or a
// User-Agent has it, or a name with a version behind an @. What is before the @
// is no credential by its own shape.
func address(w string) bool {
	w = strings.Trim(w, "<>()[]\"'+.")
	if scheme, rest, ok := strings.Cut(w, ":"); ok && strings.EqualFold(scheme, "mailto") {
		w = rest
	}
	local, domain, ok := strings.Cut(w, "@")
	if !ok || local == "" || domain == "" || hasKeyPrefix(local) || longSecret(local) || longSecret(domain) || hasKeyPrefix(domain) {
		return false
	}
	plain := func(s, more string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(more, r)
		})
	}
	return plain(local, "._%+-") && plain(domain, ".-")
}

// CredentialName reports whether a name says that its value is a credential.
func CredentialName(name string) bool {
	name = strings.ToLower(name)
	parts := []string{"authorization", "credential", "passwd", "jwt", "bearer"}
	return credentialName(name) || strings.HasPrefix(name, "cookie") ||
		slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// cut cuts s to at most n bytes without splitting a UTF-8 sequence.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
