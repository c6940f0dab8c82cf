// Package worker wires an agent's worker: it binds tools to the instances that
// carry them out, makes their JSON schemas, and runs the three SDK workers of
// a process, one for runs and model calls, one for commits and reconciliations, one
// for the pool's record. Package guard keeps a payload codec that fails from
// deciding anything.
//
// Everything that can be refused is refused before the first task is polled:
// [Load] and [New] check the configuration, which package config reads, and
// [Worker.Register] checks an agent.
package worker
