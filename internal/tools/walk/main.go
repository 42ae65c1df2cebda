// Command walk prints a reader's way through a module, from an entry function along
// the calls in the order in which they run, and counts its turns back: steps to a
// file, or to a package, that the reader had left.
//
//	walk [-entry FUNCTION] [-into PACKAGES] [-without FUNCTIONS] [-impl INTERFACE=TYPE,...] [-q] FOLDER
//
// A step is a function of one of the packages with at least six lines; shorter ones
// are read as part of their callers. Each function is visited once, at its first call.
// Branches are not weighed: -without names the functions that the walk does not meet.
// A step back to a file begins with "<". FOLDER is that of the module.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	entry := flag.String("entry", "tiercompact.Session.AddMessage", "the function to begin with")
	into := flag.String("into", ".", "the folders of the packages that are entered, separated by commas")
	without := flag.String("without", "", "functions that are not visited, separated by commas")
	impl := flag.String("impl", "", "implementations of interfaces, as in archive.Store=archive.Memory, separated by commas")
	quiet := flag.Bool("q", false, "print the counts alone")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: walk [FLAGS] FOLDER")
	}
	w, err := load(flag.Arg(0), strings.Split(*into, ","))
	if err != nil {
		log.Fatal(err)
	}
	for pair := range strings.SplitSeq(*impl, ",") {
		if name, of, ok := strings.Cut(pair, "="); ok {
			w.impl[name] = of
		}
	}
	steps, err := w.walk(*entry, strings.Split(*without, ","))
	if err != nil {
		log.Fatal(err)
	}
	report(os.Stdout, steps, *quiet)
}

// report prints steps, and the number of turns back.
func report(out io.Writer, steps []step, quiet bool) {
	files := turns(steps, func(s step) string { return s.file })
	pkgs := turns(steps, func(s step) string { return s.pkg })
	for i, s := range steps {
		if quiet {
			break
		}
		mark := " "
		if files[i] {
			mark = "<"
		}
		fmt.Fprintf(out, "%s %s%s (%s:%d)\n", mark, strings.Repeat("  ", s.depth), s.name, s.file, s.line)
	}
	fmt.Fprintf(out, "%d steps, %d turns back by file, %d by package\n", len(steps), len(files), len(pkgs))
}
