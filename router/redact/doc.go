// Package redact takes credentials whose values are known out of text.
//
// A resource echoes what it was sent: the key in an error, in a request id, in
// the words of a gateway before it. Keys without a well-known shape cannot be
// told from other words by looking at them, so that this package looks for the
// values themselves, in every spelling in which hosts repeat them: in other
// case, escaped for JSON, for a URL or for HTML, in hexadecimal and in base64,
// alone or inside a larger piece of it. It is fed before anything is cut to
// size, and takes what a host itself cut at one end as well. What may be a number
// of JSON, or the end of one of its strings, stays.
package redact
