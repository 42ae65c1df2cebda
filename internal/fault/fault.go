// Package fault provides faulty servers of language models for tests: a scripted
// server ([Fake]), and a proxy for it or for a real one that simulates faults of
// networks and servers ([New]).
package fault
