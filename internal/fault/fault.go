// Package fault holds servers of language models that go wrong, for tests: a
// scripted server ([Fake]), and a proxy that is before it, or before a real
// one, and does to its answers what networks and servers do ([New]).
package fault
