// Package harness runs Onceward as its users do and counts from outside: a real
// Temporal server, worker processes that are killed and stopped, a scripted pool
// of resources, and a payments service that pays every request it gets.
//
// Main starts what the tests of one process share. New makes what one test has
// for itself: a task queue, a configuration, a pool, a payments service. Nothing
// here sleeps: a test waits for a request, an event, an update or a result.
package harness
