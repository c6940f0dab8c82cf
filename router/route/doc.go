// Package route chooses where an attempt goes: from the candidates of a model
// it drops, in one fixed order, those that may not serve, and takes the best of
// the rest. It only reads health and does no I/O.
//
// The order of the steps: subset, owner, boundary, requirements, price,
// excluded, disabled, breaker, throttled, quota, suspect, load.
package route
