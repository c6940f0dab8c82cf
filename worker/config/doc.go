// Package config reads a worker's configuration: a YAML file, the environment
// above it, and files of credentials.
//
// [Load] reports every mistake at once, each with its line, its key and what to
// write instead, and never a credential. Package worker checks a [Config] that
// was made in code in the same way.
package config
