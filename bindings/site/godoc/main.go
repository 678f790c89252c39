// SPDX-License-Identifier: Apache-2.0

// Command godoc writes a package's documentation as one page of Markdown, in the order of `go doc -all`.
//
//	go run ./bindings/site/godoc bindings/go >go.md
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// page writes a package's parts one after another.
type page struct {
	io.Writer
	files *token.FileSet
	pkg   *doc.Package
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: godoc FOLDER")
	}
	files := token.NewFileSet()
	pkg, err := read(files, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	page{os.Stdout, files, pkg}.write()
}

// read parses a folder's package with its tests, which have the examples.
func read(files *token.FileSet, folder string) (*doc.Package, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	return doc.NewFromFiles(files, parsed, "sidbeam.io/sidbeam")
}

func (p page) write() {
	fmt.Fprintf(p, "# Go reference\n\n```go\nimport %q\n```\n\n", p.pkg.ImportPath)
	p.text(p.pkg.Doc)
	p.examples(p.pkg.Examples)
	p.values("Constants", p.pkg.Consts)
	p.values("Variables", p.pkg.Vars)
	if len(p.pkg.Funcs) > 0 {
		fmt.Fprint(p, "## Functions\n\n")
	}
	for _, function := range p.pkg.Funcs {
		p.function(function, "###")
	}
	for _, kind := range p.pkg.Types {
		fmt.Fprintf(p, "## type %s\n\n", kind.Name)
		p.code(kind.Decl)
		p.text(kind.Doc)
		p.examples(kind.Examples)
		p.values("", kind.Consts)
		p.values("", kind.Vars)
		for _, function := range append(kind.Funcs, kind.Methods...) {
			p.function(function, "###")
		}
	}
}

// text writes a comment, whose headings stand below those of the page.
func (p page) text(text string) {
	writer := p.pkg.Printer()
	writer.HeadingLevel = 2
	writer.HeadingID = func(*comment.Heading) string { return "" }
	writer.DocLinkURL = func(link *comment.DocLink) string {
		switch {
		case link.ImportPath != "":
			return link.DefaultURL("https://pkg.go.dev")
		case link.Recv != "":
			return "#func-" + anchor(link.Recv) + "-" + anchor(link.Name)
		case p.isFunction(link.Name):
			return "#func-" + anchor(link.Name)
		}
		return "#type-" + anchor(link.Name)
	}
	fmt.Fprintf(p, "%s\n", writer.Markdown(p.pkg.Parser().Parse(text)))
}

func anchor(name string) string { return strings.ToLower(strings.TrimPrefix(name, "*")) }

func (p page) isFunction(name string) bool {
	functions := p.pkg.Funcs
	for _, kind := range p.pkg.Types {
		functions = append(functions[:len(functions):len(functions)], kind.Funcs...)
	}
	for _, function := range functions {
		if function.Name == name {
			return true
		}
	}
	return false
}

func (p page) code(node any) {
	var text bytes.Buffer
	asGofmt := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	if err := asGofmt.Fprint(&text, p.files, node); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(p, "```go\n%s\n```\n\n", text.String())
}

func (p page) values(title string, values []*doc.Value) {
	if title != "" && len(values) > 0 {
		fmt.Fprintf(p, "## %s\n\n", title)
	}
	for _, value := range values {
		p.code(value.Decl)
		p.text(value.Doc)
	}
}

func (p page) function(function *doc.Func, level string) {
	receiver := ""
	if function.Recv != "" {
		receiver = "(" + function.Recv + ") "
	}
	fmt.Fprintf(p, "%s func %s%s\n\n", level, receiver, function.Name)
	p.code(function.Decl)
	p.text(function.Doc)
	p.examples(function.Examples)
}

func (p page) examples(examples []*doc.Example) {
	for _, example := range examples {
		fmt.Fprintf(p, "Example %s\n\n", example.Suffix)
		p.code(example.Code)
		if example.Output != "" {
			fmt.Fprintf(p, "```text\n%s```\n\n", example.Output)
		}
	}
}
