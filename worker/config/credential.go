package config

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/onceward/onceward/router"
)

// unreadable stands for a credential that was refused, so that it is not
// reported as missing too. It never leaves this package.
var unreadable = NewSecret("unreadable")

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	assignment   = regexp.MustCompile(`^(export )?[A-Z][A-Z0-9_]{2,}=[^=]`)
)

// credential reads <key>_env or <key>_file. It never repeats what a key holds:
// who writes the credential itself there must not find it in a log. Without read
// it only looks at how the credential is named. spaces may be inside of a value
// that is more than a key.
func (l *loader) credential(o *object, key string, spaces, read bool) Secret {
	var variable, file string
	inVariable, inFile := o.at(key+"_env"), o.at(key+"_file")
	o.str(key+"_env", &variable)
	o.str(key+"_file", &file)
	switch {
	case variable != "" && file != "":
		l.d.refuse(inVariable, "is given beside %s_file; keep one", key)
		return unreadable
	case variable != "":
		if !variableName.MatchString(variable) {
			l.d.refuse(inVariable, "is not the name of an environment variable (the credential itself does not belong in the file)")
			return unreadable
		}
		l.referenced = append(l.referenced, variable)
		if !read {
			return unreadable
		}
		value, set := l.env[variable]
		if !set || value == "" {
			l.d.refuse(inVariable, "%s is not set", theVariable(variable))
			return unreadable
		}
		return l.checked(inVariable, theVariable(variable), value, spaces)
	case file != "":
		if !read {
			return unreadable
		}
		raw, err := readBounded(l.beside(file), maxSecret)
		if err != nil {
			l.d.refuse(inFile, "%v", err)
			return unreadable
		}
		if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
			l.d.refuse(inFile, "the file is in UTF-16; save it as plain text in UTF-8")
			return unreadable
		}
		return l.checked(inFile, "the file", string(raw), spaces)
	}
	return Secret{}
}

// checked takes off what editors put around a value and refuses everything else
// that is no key: a host's 401 would disable the resource, and tell nobody why.
func (l *loader) checked(path, holder, value string, spaces bool) Secret {
	value = strings.TrimRight(strings.TrimPrefix(value, "\ufeff"), "\r\n")
	check := router.Secret(value).Check
	if spaces {
		check = router.Header{Name: "X-Value", Secret: router.Secret(value)}.Check
	}
	err := check()
	switch {
	case value == "":
		l.d.refuse(path, "%s is empty", holder)
	case assignment.MatchString(value):
		l.d.refuse(path, "%s holds an assignment; keep only what follows the =", holder)
	case err != nil:
		l.d.refuse(path, "what %s holds %s", holder, strings.TrimPrefix(err.Error(), "value: "))
	default:
		return NewSecret(value)
	}
	return unreadable
}
