// Package schema makes strict JSON schemas of Go types, and checks what a model
// wrote against them in words that the model can correct itself by.
package schema
