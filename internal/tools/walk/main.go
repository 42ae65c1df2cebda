// Command walk prints a reader's way through a module, from an entry function along
// the calls in the order in which they run, and counts its turns back: steps to a
// file, or to a package, that the reader had left. They begin with "<" if it is a file.
//
//	walk [-into FOLDER,...] [-files] MODULE
//
// A step is a function of one of the packages in the folders with at least six lines;
// shorter ones are read as part of their callers. Each function is visited once, at its
// first call. Branches are not weighed, so each walk names the functions that it does
// not meet: a first round, no preparation, and nothing fails.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
)

// A route is the entry of a walk, and the functions that it does not meet.
type route struct {
	name, entry string
	without     []string
}

// The functions that are not met have their names of commit e2b7026 too, with which
// docs/ARCHITECTURE.md compares.
var (
	unmet = strings.Fields(`decision.decideRoom decision.decidePrepare round.planRoom round.originalView
		Session.preparedRound Session.putPending Session.deferLevel Session.reportFailure Session.emitWarning
		Session.tellFailure Session.putOff`)
	roundless = strings.Fields(`Session.makeRound Session.reportRound settings.redactText
		Session.newRound round.run Session.make settings.clean`)
	routes = []route{
		{"AddMessage, no round", "Session.AddMessage", slices.Concat(unmet, roundless, []string{"decision.decidePreflight"})},
		{"AddMessage, a round", "Session.AddMessage", append(slices.Clone(unmet), "decision.decidePreflight")},
		{"Session.Preflight", "Session.Preflight", append(slices.Clone(unmet), "decision.decideCheck", "round.planRound")},
		{"Compactor.Preflight", "Compactor.Preflight", append(slices.Clone(unmet), "decision.decideCheck", "round.planRound")},
	}
	// implementations of the interfaces that a walk meets if their packages are entered
	implementations = map[string]string{"archive.Store": "archive.Memory", "tiercompact.Recorder": "archive.SessionFile"}
)

func main() {
	log.SetFlags(0)
	into := flag.String("into", ".", "the `folders` of the packages that are entered, separated by commas")
	short := flag.Bool("files", false, "print the files in place of the steps")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: walk [-into FOLDER,...] [-files] MODULE")
	}
	w, err := load(flag.Arg(0), strings.Split(*into, ","))
	if err != nil {
		log.Fatal(err)
	}
	w.impl = implementations
	for _, r := range routes {
		steps, err := w.walk("tiercompact", r.entry, r.without)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: ", r.name)
		report(os.Stdout, steps, *short)
	}
}

// report prints the number of turns back in steps, and the steps or their files.
func report(out io.Writer, steps []step, short bool) {
	files := turns(steps, func(s step) string { return s.file })
	pkgs := turns(steps, func(s step) string { return s.pkg })
	fmt.Fprintf(out, "%d steps, %d turns back by file, %d by package\n", len(steps), len(files), len(pkgs))
	var way []string
	for i, s := range steps {
		mark := ""
		if files[i] {
			mark = "<"
		}
		if i == 0 || steps[i-1].file != s.file {
			way = append(way, mark+strings.TrimSuffix(s.file, ".go"))
		}
		if !short {
			fmt.Fprintf(out, "%1s %s%s (%s:%d)\n", mark, strings.Repeat("  ", s.depth), s.name, s.file, s.line)
		}
	}
	if short {
		fmt.Fprintln(out, strings.Join(way, " "))
	}
}
