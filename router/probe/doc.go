// Package probe asks the resources of a pool, with a handful of cheap requests
// each, what the configuration should say of them: whose encrypted reasoning they
// read, whether they store what they were told not to, whether they need or
// refuse item ids, whether a strict schema is looked at, and where members of one
// pool differ in what they serve.
package probe
