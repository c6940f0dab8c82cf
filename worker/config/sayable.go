package config

import (
	"fmt"
	"regexp"

	"github.com/onceward/onceward/router/redact"
)

// Names of resources, models and tasks are the only words of a file that
// messages repeat: without them a list of ten resources could not be told
// apart, and they stand in every history and table anyway.

// sayable reports whether a name can be said: it has the form of a name and does
// not look like a credential in the wrong place.
func sayable(name string) bool {
	return resourceName.MatchString(name) && !redact.LooksSecret(name)
}

// said returns a name, or other words for one that is not to be said.
func said(name, instead string) string {
	if sayable(name) {
		return name
	}
	return instead
}

// namePath is the key path of a section that is named by the user.
func namePath(section, name string, i int) string {
	if sayable(name) {
		return section + "." + name
	}
	return fmt.Sprintf("%s[%d]", section, i)
}

// variableSaid matches variables whose names say themselves that they are names
// and no credentials.
var variableSaid = regexp.MustCompile(`^(ONCEWARD_[A-Z0-9_]+|[A-Z][A-Z0-9_]*_(KEY|TOKEN|SECRET|PASSWORD))$`)

// theVariable names an environment variable of the file, where its name can be
// said.
func theVariable(name string) string {
	if variableSaid.MatchString(name) {
		return "the environment variable " + name
	}
	return "the environment variable that it names"
}
