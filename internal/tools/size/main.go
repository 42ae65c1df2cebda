// Command size builds a program and prints how many bytes of its file each
// module takes, largest first:
//
//	size FOLDER PACKAGE [BUILD FLAGS]
//
// It builds with the symbol table, which make build leaves out: the sums by
// module are the same.
package main

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: size FOLDER PACKAGE [BUILD FLAGS]")
	}
	if err := os.Chdir(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	if err := report(os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func report(program string, flags []string) error {
	modules, err := moduleOfPackages(program, flags)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "program")
	if _, err := goCommand("build", flags, "-o", binary, program); err != nil {
		return err
	}
	sizes, withSymbol, err := sizesByModule(binary, modules)
	if err != nil {
		return err
	}
	if err := addEmbedded(sizes, withSymbol, program, flags); err != nil {
		return err
	}
	total := 0
	for _, name := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	}) {
		total += int(sizes[name])
		if sizes[name] >= 50_000 {
			fmt.Printf("%10d  %s\n", sizes[name], name)
		}
	}
	fmt.Printf("%10d  all, without the symbol table\n", total)
	return nil
}

// goCommand runs the go command for Linux, because this program reads ELF files.
func goCommand(verb string, flags []string, args ...string) (string, error) {
	cmd := exec.Command("go", append(append([]string{verb}, flags...), args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

func moduleOfPackages(program string, flags []string) (map[string]string, error) {
	out, err := goCommand("list", flags, "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}standard library{{end}}", program)
	modules := map[string]string{"main": "main"}
	for line := range strings.Lines(out) {
		path, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		modules[path] = module
	}
	return modules, err
}

// addEmbedded adds the embedded files to their modules. Files embedded as bytes
// have symbols, and are counted already.
func addEmbedded(sizes, withSymbol map[string]uint64, program string, flags []string) error {
	out, err := goCommand("list", flags, "-deps", "-f", `{{with .Module}}{{$m := .Path}}{{range $.EmbedFiles}}{{$m}}	{{$.Dir}}/{{.}}
{{end}}{{end}}`, program)
	if err != nil {
		return err
	}
	embedded := make(map[string]uint64)
	for line := range strings.Lines(out) {
		module, file, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		embedded[module] += uint64(info.Size())
	}
	for module, n := range embedded {
		if n > withSymbol[module] {
			sizes[module] += n - withSymbol[module]
			sizes["of all: .rodata"] -= n - withSymbol[module]
		}
	}
	return nil
}

// sizesByModule returns the sums of a binary's symbols, and those of embedded files
// alone. Parts without symbols, such as tables of lines and types, have the name of
// their section.
func sizesByModule(binary string, modules map[string]string) (sizes, embedded map[string]uint64, err error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, nil, errors.Join(errors.New("the binary has no symbols"), err)
	}
	sizes, embedded = make(map[string]uint64), make(map[string]uint64)
	inSection := make(map[elf.SectionIndex]uint64)
	for _, s := range symbols {
		i := s.Section
		if int(i) >= len(f.Sections) || f.Sections[i].Type == elf.SHT_NOBITS {
			continue
		}
		if module, ok := moduleOf(s.Name, modules); ok {
			sizes[module] += s.Size
			inSection[i] += s.Size
			if strings.Contains(s.Name, "..gobytes.") {
				embedded[module] += s.Size
			}
		}
	}
	for i, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || s.Size <= inSection[elf.SectionIndex(i)] {
			continue
		}
		sizes["of all: "+s.Name] += s.Size - inSection[elf.SectionIndex(i)]
	}
	return sizes, embedded, nil
}

// moduleOf returns the module of a symbol, whose name begins with the path of its
// package; false for a symbol of several packages.
func moduleOf(symbol string, modules map[string]string) (string, bool) {
	name := strings.TrimPrefix(symbol, "type:.eq.")
	name, _, _ = strings.Cut(name, "[")
	slash := strings.LastIndex(name, "/") + 1
	for dot := slash; ; dot++ { // the last part of a path may have dots, as in v2.1
		at := strings.IndexByte(name[dot:], '.')
		if at < 0 {
			return "", false
		}
		dot += at
		if module, ok := modules[strings.ReplaceAll(name[:dot], "%2e", ".")]; ok {
			return module, true
		}
	}
}
