// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

// handles are zero values of the types that stand for something of C.
func handles(t *testing.T) map[string]any {
	return map[string]any{
		"Attribute": new(sidbeam.Attribute), "Builder": new(sidbeam.Builder), "Catalog": new(sidbeam.Catalog),
		"Constraint": new(sidbeam.Constraint), "ConstraintSet": new(sidbeam.ConstraintSet), "Disc": new(sidbeam.Disc),
		"DraftDecoder": new(sidbeam.DraftDecoder), "DraftHead": new(sidbeam.DraftHead), "Filter": new(sidbeam.Filter),
		"HiddenStep": new(sidbeam.HiddenStep), "Index": new(sidbeam.Index), "Model": new(sidbeam.Model),
		"OutputLayer": new(sidbeam.OutputLayer), "Pending": new(sidbeam.Pending), "Runner": new(sidbeam.Runner),
		"Runtime": new(sidbeam.Runtime), "Session": new(sidbeam.Session), "Speculation": new(sidbeam.Speculation),
	}
}

// No exported type that holds one is forgotten: those are of a handle, or of an object that has one.
func TestHandlesAreAllThereAre(t *testing.T) {
	var held, expected []string
	for name := range handles(t) {
		expected = append(expected, name)
	}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(file fs.FileInfo) bool {
		return !strings.HasSuffix(file.Name(), "_test.go")
	}, 0)
	must(t, err)
	ast.Inspect(packages["sidbeam"], func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		body, ok := spec.Type.(*ast.StructType)
		for i := 0; ok && i < len(body.Fields.List); i++ {
			pointer, isPointer := body.Fields.List[i].Type.(*ast.StarExpr)
			if !isPointer || len(body.Fields.List[i].Names) == 0 || body.Fields.List[i].Names[0].IsExported() {
				continue
			}
			if to, _ := pointer.X.(*ast.Ident); to != nil && (to.Name == "handle" || ast.IsExported(to.Name)) {
				held = append(held, spec.Name.Name)
				return true
			}
		}
		return true
	})
	sort.Strings(held)
	sort.Strings(expected)
	if !reflect.DeepEqual(held, expected) {
		t.Errorf("handles: expected those of the sources, %v, got %v", held, expected)
	}
}

// passable are arguments to which nothing is to be said, by type; of others the zero value is.
func passable(t *testing.T) map[reflect.Type]reflect.Value {
	t.Helper()
	index := threeItems(t)
	filter, err := index.FilterMask([]bool{true, false, true})
	must(t, err)
	path := filepath.Join(t.TempDir(), "catalogue.json")
	must(t, os.WriteFile(path, []byte(`{"0": ["<a_0>"], "1": ["<a_1>"]}`), 0o600))
	values := map[reflect.Type]reflect.Value{}
	for _, value := range []any{index, filter, path, new(sidbeam.SpeculationTree), new(sidbeam.Items), make([]int64, 1),
		sidbeam.Rows{F32: make([]float32, 4), Slots: 1, Rows: 1, Columns: 4},
		sidbeam.DraftArgs{Hidden: sidbeam.Rows{Slots: 1}}} {
		values[reflect.TypeOf(value)] = reflect.ValueOf(value)
	}
	return values
}

func call(method reflect.Value, passable map[reflect.Type]reflect.Value) (results []reflect.Value, panicked any) {
	defer func() { panicked = recover() }()
	var arguments []reflect.Value
	for i := 0; i < method.Type().NumIn(); i++ {
		in := method.Type().In(i)
		if value, ok := passable[in]; ok {
			arguments = append(arguments, value)
		} else if in == reflect.TypeOf((*context.Context)(nil)).Elem() {
			arguments = append(arguments, reflect.ValueOf(context.Background()))
		} else if i < method.Type().NumIn()-1 || !method.Type().IsVariadic() {
			arguments = append(arguments, reflect.Zero(in))
		}
	}
	return method.Call(arguments), nil
}

// eachMethod calls all exported methods, none of which may panic, and checks the errors of those that have one.
func eachMethod(t *testing.T, object any, check func(method string, err error)) {
	t.Helper()
	passable := passable(t)
	value := reflect.ValueOf(object)
	for i := 0; i < value.NumMethod(); i++ {
		method := value.Type().Method(i).Name
		results, panicked := call(value.Method(i), passable)
		if panicked != nil {
			t.Errorf("%v.%s panics: %v", value.Type(), method, panicked)
			continue
		}
		if n := len(results); n > 0 && results[n-1].Type() == reflect.TypeOf((*error)(nil)).Elem() {
			err, _ := results[n-1].Interface().(error)
			check(method, err)
			for _, result := range results[:n-1] {
				if result.Kind() == reflect.Pointer && err != nil && !result.IsNil() {
					t.Errorf("%v.%s: expected nothing beside %v, got %v", value.Type(), method, err, result)
				}
			}
		}
	}
}

// Objects that are nil, or that no constructor made, say so; closing them does nothing.
func TestObjectsThatNobodyMade(t *testing.T) {
	for name, zero := range handles(t) {
		for _, object := range []any{zero, reflect.Zero(reflect.TypeOf(zero)).Interface()} {
			eachMethod(t, object, func(method string, err error) {
				if method == "Close" {
					must(t, err)
				} else if !errors.Is(err, sidbeam.InvalidArgument) || !strings.Contains(err.Error(), " is null, expected") {
					t.Errorf("%s.%s, of %+v: expected InvalidArgument that it is null, got %v", name, method, object, err)
				}
			})
		}
	}
}

// closed are objects of the first library, and of the second where it is there, that have been closed twice.
func closed(t *testing.T) []interface{ Close() error } {
	t.Helper()
	process, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{})
	must(t, err)
	index := threeItems(t)
	constraint, err := sidbeam.NewConstraint(index)
	must(t, err)
	filter, err := index.FilterMask([]bool{true, false, true})
	must(t, err)
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index})
	draft, _ := newSession(t, sidbeam.SessionConfig{Constraint: index})
	speculation, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: session, Draft: draft, DraftLevels: 1})
	must(t, err)
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{index}})
	must(t, err)
	disc, err := sidbeam.NewDisc(sidbeam.DiscConfig{Rounds: 1})
	must(t, err)
	catalog, err := sidbeam.NewCatalog(index, "", sidbeam.CatalogConfig{})
	must(t, err)
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{2}}, sidbeam.Pairs{Codes: []int32{1}})
	all := []interface{ Close() error }{builder, catalog, constraint, set, disc, filter, speculation, session, draft,
		index, process}
	if os.Getenv("SIDBEAM_MODEL") != "" {
		all = append(closedOfRunner(t, session, index), all...)
	}
	for i := 0; i < 2; i++ {
		for _, one := range all {
			must(t, one.Close())
		}
	}
	return all
}

func closedOfRunner(t *testing.T, session *sidbeam.Session, index *sidbeam.Index) []interface{ Close() error } {
	t.Helper()
	config := tinyConfig(t)
	layer, err := sidbeam.NewOutputLayer(sidbeam.OutputLayerConfig{
		Weights: sidbeam.Rows{F32: make([]float32, 8), Rows: 4, Columns: 2}})
	must(t, err)
	step, err := sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{Session: session, Layer: layer})
	must(t, err)
	head, path := sidbeam.DraftWeights[float32]{Hidden: 1, Codes: []int32{4, 4}, Input: sidbeam.DraftInputHidden,
		Transition: sidbeam.DraftTransitionNone, HeadWeights: [][]float32{make([]float32, 4), make([]float32, 4)}},
		filepath.Join(t.TempDir(), "head")
	must(t, sidbeam.WriteDraftHead(path, head))
	opened, err := sidbeam.OpenDraftHead(path)
	must(t, err)
	decoder, err := sidbeam.NewDraftDecoder(sidbeam.DraftConfig{Head: opened, Index: index})
	must(t, err)
	return []interface{ Close() error }{newRunner(t, config), config.Model, decoder, opened, step, layer}
}

// After Close every method says so, and has the code of it; closing again does nothing.
func TestEveryMethodAfterClose(t *testing.T) {
	seen := map[string]bool{}
	for _, object := range closed(t) {
		seen[reflect.TypeOf(object).Elem().Name()] = true
		eachMethod(t, object, func(method string, err error) {
			if method == "Close" {
				must(t, err)
			} else if !errors.Is(err, sidbeam.BadState) || !strings.Contains(err.Error(), " is closed") {
				t.Errorf("%T.%s: expected BadState that it is closed, got %v", object, method, err)
			}
		})
	}
	for name := range handles(t) {
		if !seen[name] && name != "Attribute" && name != "Pending" && os.Getenv("SIDBEAM_MODEL") != "" {
			t.Errorf("%s is not among what is closed", name)
		}
	}
}

// Nothing panics on what nobody made as an argument either.
func TestArgumentsThatNobodyMade(t *testing.T) {
	index := threeItems(t)
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index})
	speculation, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: session, Draft: session, DraftLevels: 1})
	if err == nil {
		t.Errorf("a session that is its own draft: expected an error, got %v", speculation)
	}
	var noConstraint *sidbeam.Constraint
	for text, call := range map[string]func() error{
		"index is null":  func() error { _, err := sidbeam.NewConstraint(nil); return err },
		"index is null,": func() error { _, err := sidbeam.NewRuledConstraint(nil, sidbeam.Rules{}); return err },
		"base is a nil *Index": func() error {
			_, err := sidbeam.NewCatalog(nil, "", sidbeam.CatalogConfig{})
			return err
		},
		"index is null, expected": func() error {
			_, err := sidbeam.NewCatalog(new(sidbeam.Index), "", sidbeam.CatalogConfig{})
			return err
		},
		"session is null": func() error {
			_, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: new(sidbeam.Session), Draft: session,
				DraftLevels: 1})
			return err
		},
		"constraint is a nil *Constraint": func() error {
			return session.Start(sidbeam.StartArgs{Constraints: []sidbeam.Constrainer{noConstraint}})
		},
		"runtime is null": func() error {
			_, err := sidbeam.NewDisc(sidbeam.DiscConfig{Runtime: new(sidbeam.Runtime), Rounds: 1})
			return err
		},
		"items is nil, expected buffers": func() error { return session.Items(nil, nil) },
	} {
		fails(t, call(), sidbeam.InvalidArgument, text)
	}
}
