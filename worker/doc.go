// Package worker reads the configuration and wires an agent's worker: it makes
// the JSON schemas of tools, binds them to the instances that carry them out,
// and runs the two SDK workers of a process, one for runs and model calls, one
// for commits and reconciliations.
//
// Everything that can be refused is refused before the first task is polled:
// [Load] and [New] check the configuration, [Worker.Register] checks an agent.
package worker
