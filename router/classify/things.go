package classify

import (
	"bytes"
)

// refusedAccess are phrases of a text that keeps something from the caller.
var refusedAccess = []string{
	"not have access", "n't have access", "no access", "not have permission", "n't have permission", "no permission", "insufficient permission", "lack permission", "lacks permission", "without permission",
	"not authorized", "not allowed", "not permitted", "not accessible", "not have the required permission", "access denied", "is denied", "was denied", "permission denied", "not belong", "n't belong", "not owned by",
}

// things are what a request names by an id that somebody else may own.
var things = [][]byte{
	[]byte("file"), []byte("conversation"), []byte("thread"), []byte("vector store"), []byte("vector_store"), []byte("container"), []byte("response"), []byte("assistant"),
	[]byte("upload"), []byte("attachment"),
}

// thingIDs begin the ids of things.
var thingIDs = [][]byte{
	[]byte("file-"), []byte("conv_"), []byte("thread_"), []byte("vs_"), []byte("cntr_"), []byte("resp_"), []byte("asst_"), []byte("upload_"),
}

// pointers stand before a thing that the request named.
var pointers = [][]byte{
	[]byte("this "), []byte("that "), []byte("these "), []byte("those "), []byte("the "), []byte("requested "), []byte("specified "), []byte("provided "), []byte("given "), []byte("referenced "),
}

// followers may stand behind it. "This file search" is no file.
var followers = [][]byte{
	[]byte(" with "), []byte(" id "), []byte(" ids "), []byte(" you "), []byte(" because "), []byte(" or "), []byte(" is "), []byte(" was "), []byte(" does "), []byte(" has "), []byte(" from "),
}

// refusesThing reports whether one sentence of a folded text refuses access and
// names a thing by its id, or points to one: "this file". Access to "the files
// API" is another matter.
func refusesThing(e *envelope) bool {
	for rest := e.text; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if stop := bytes.Index(rest[:end], []byte(". ")); stop >= 0 {
			end = stop + 2
		}
		sentence := rest[:end]
		rest = rest[end:]
		if namesThing(sentence) && refuses(sentence) {
			return true
		}
	}
	return false
}

func refuses(sentence []byte) bool {
	for _, p := range refusedAccess {
		if bytes.Contains(sentence, []byte(p)) {
			return true
		}
	}
	return false
}

func namesThing(sentence []byte) bool {
	for _, thing := range things {
		for at := 0; ; at++ {
			next := bytes.Index(sentence[at:], thing)
			if next < 0 {
				break
			}
			at += next
			before, after := sentence[:at], bytes.TrimPrefix(sentence[at+len(thing):], []byte("s"))
			if at > 0 && isAlnum(sentence[at-1]) {
				continue
			}
			if hasAffix(bytes.HasPrefix, bytes.TrimLeft(dropWords(after), " :'["), thingIDs) || hasAffix(bytes.HasSuffix, before, pointers) && endsThing(after) {
				return true
			}
		}
	}
	return false
}

// dropWords drops what may stand between a thing and its id: "file with id".
func dropWords(b []byte) []byte {
	for _, word := range []string{" with", " having", " ids", " id"} {
		b = bytes.TrimPrefix(b, []byte(word))
	}
	return b
}

func endsThing(after []byte) bool {
	return len(after) == 0 || bytes.IndexByte([]byte(".,;:'!)\n"), after[0]) >= 0 || hasAffix(bytes.HasPrefix, after, followers)
}

func hasAffix(has func(s, affix []byte) bool, s []byte, affixes [][]byte) bool {
	for _, a := range affixes {
		if has(s, a) {
			return true
		}
	}
	return false
}
