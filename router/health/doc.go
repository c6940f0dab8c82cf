// Package health keeps what this process knows of resources and of their
// (resource, model) pairs: breakers, throttle windows, quota, load, and what is
// disabled and why.
//
// Reading for a selection takes atomics only; permits are taken with Acquire
// right before a request is sent and end exactly once. Nothing here does I/O.
// All types are safe for concurrent use.
package health
