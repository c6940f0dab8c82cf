package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

const (
	envPrefix    = "ONCEWARD_"
	envResource  = envPrefix + "RESOURCE_"
	envURLSuffix = "_BASE_URL"
)

// overrides are the scalars that the environment may set, by key.
var overrides = map[string]string{
	"temporal.address":    envPrefix + "TEMPORAL_ADDRESS",
	"temporal.namespace":  envPrefix + "TEMPORAL_NAMESPACE",
	"temporal.task_queue": envPrefix + "TEMPORAL_TASK_QUEUE",
	"temporal.release":    envPrefix + "RELEASE",
}

// environment is what the process was given, by name.
type environment map[string]string

func environmentOf(environ []string) environment {
	env := environment{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// layer puts the environment above the file and the file above the defaults.
// Only scalars with fixed keys go through viper; names never do.
func (e environment) layer(d *decoder, values map[string]*string) {
	v := viper.New()
	for key, value := range values {
		v.SetDefault(key, *value)
		if name := overrides[key]; e[name] != "" {
			v.Set(key, e[name])
			d.origin[key] = name
		}
	}
	for key, value := range values {
		*value = v.GetString(key)
	}
}

// resourceVariable names the variable that overrides the base_url of a resource.
func resourceVariable(resource string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, resource)
	return envResource + name + envURLSuffix
}

// refuseStrangers refuses every variable that begins with ONCEWARD_, is not in
// the documented set and was not referenced by the file.
func (e environment) refuseStrangers(d *decoder, pool Pool, referenced []string) {
	known := slices.Clone(referenced)
	sayables := []string{}
	for _, name := range referenced {
		if variableSaid.MatchString(name) {
			sayables = append(sayables, name)
		}
	}
	for _, name := range overrides {
		known, sayables = append(known, name), append(sayables, name)
	}
	for _, resource := range pool.Resources {
		known = append(known, resourceVariable(resource.Name))
		if sayable(resource.Name) {
			sayables = append(sayables, resourceVariable(resource.Name))
		}
	}
	slices.Sort(sayables)
	slices.Sort(known)
	var strangers []string
	for name := range e {
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			strangers = append(strangers, name)
		}
	}
	slices.Sort(strangers)
	for _, name := range strangers {
		d.mistakes = append(d.mistakes, Mistake{File: "environment", Key: name, Reason: strangerReason(name, sayables)})
	}
}

func strangerReason(name string, known []string) string {
	const urls = "the base_url of a resource is set by " + envResource + "<NAME>" + envURLSuffix + " with the name of a resource in the file, everything else of the pool in the file only"
	if strings.HasPrefix(name, envPrefix+"POOL_") {
		return "unknown variable; " + urls
	}
	if guess := closest(name, known); guess != "" {
		return fmt.Sprintf("unknown variable; did you mean %s?", guess)
	}
	if strings.HasPrefix(name, envResource) {
		return "unknown variable; " + urls
	}
	return "unknown variable; unset it, or name it in an api_key_env or value_env of the file"
}

// CheckEnviron looks at an environment in the form of os.Environ for a program that
// was given no file. It refuses a variable whose name is a documented one misspelt,
// and returns the names of those that only a file could give a meaning to.
func CheckEnviron(environ []string) (unused []string, err error) {
	var known []string
	for _, name := range overrides {
		known = append(known, strings.TrimPrefix(name, envPrefix))
	}
	slices.Sort(known)
	var mistakes []Mistake
	for _, name := range slices.Sorted(maps.Keys(environmentOf(environ))) {
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours || slices.Contains(known, rest) {
			continue
		}
		// Compared without the prefix, which is long enough to make any two names alike.
		if guess := closest(rest, known); guess != "" {
			mistakes = append(mistakes, Mistake{File: "environment", Key: name, Reason: fmt.Sprintf("unknown variable; did you mean %s%s?", envPrefix, guess)})
			continue
		}
		unused = append(unused, name)
	}
	if len(mistakes) > 0 {
		return unused, &ConfigError{Mistakes: inOrder(mistakes)}
	}
	return unused, nil
}
