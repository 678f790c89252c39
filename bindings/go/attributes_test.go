// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

func TestAttributes(t *testing.T) {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}})
	must(t, err)
	defer builder.Close()
	must(t, builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	must(t, builder.DeclareAttribute("score", sidbeam.AttributeFloat32))
	must(t, builder.DeclareAttribute("stock", sidbeam.AttributeBool))
	must(t, builder.DeclareAttribute("region", sidbeam.AttributeString))
	must(t, builder.DeclareAttribute("tags", sidbeam.AttributeStringList))
	must(t, builder.Add(threePairs))
	must(t, builder.SetAttribute("price",
		sidbeam.AttributeValues{Integers: []int64{5, -7, 9}, Valid: []bool{true, false, true}}))
	must(t, builder.SetAttribute("score", sidbeam.AttributeValues{Numbers: []float32{0.5, 2, -1}}))
	must(t, builder.SetAttribute("stock", sidbeam.AttributeValues{Bools: []bool{true, false, true}}))
	must(t, builder.SetAttribute("region", sidbeam.AttributeValues{Strings: []string{"us", "", "us"}}))
	must(t, builder.SetAttribute("tags", sidbeam.AttributeValues{Lists: [][]string{{"y", "x"}, {}, {"x"}}}))
	index, err := builder.Finish(context.Background())
	must(t, err)
	defer index.Close()
	all, err := index.Attributes()
	must(t, err)
	if len(all) != 5 || all[0].Name != "price" || all[0].Nulls != 1 || all[0].Least != 5 || all[0].Greatest != 9 {
		t.Fatalf("expected price, 5 to 9 with a null, first of 5, got %+v", all)
	}
	if values, valid, err := all[0].Integers(0, 3); err != nil || !reflect.DeepEqual(values, []int64{5, 0, 9}) ||
		!reflect.DeepEqual(valid, []bool{true, false, true}) {
		t.Errorf("prices: got %v %v %v", values, valid, err)
	}
	if values, _, err := all[2].Numbers(1, 2); err != nil || !reflect.DeepEqual(values, []float32{2, -1}) {
		t.Errorf("scores: got %v %v", values, err)
	}
	if values, _, err := all[3].Integers(0, 3); err != nil || !reflect.DeepEqual(values, []int64{1, 0, 1}) {
		t.Errorf("stock: got %v %v", values, err)
	}
	if codes, _, err := all[1].Integers(0, 3); err != nil || !reflect.DeepEqual(codes, []int64{1, 0, 1}) {
		t.Errorf("regions: got %v %v", codes, err)
	}
	if texts, err := all[1].Strings(); err != nil || !reflect.DeepEqual(texts, []string{"", "us"}) {
		t.Errorf("strings of regions: got %v %v", texts, err)
	}
	if offsets, codes, _, err := all[4].Lists(0, 3); err != nil || !reflect.DeepEqual(offsets, []int64{0, 2, 2, 3}) ||
		!reflect.DeepEqual(codes, []int64{1, 0, 0}) || all[4].Type.String() != "strings" {
		t.Errorf("tags: got %v %v %v", offsets, codes, err)
	}
	if _, _, err := all[1].Numbers(0, 3); err == nil || !strings.Contains(err.Error(), "is of type string, expected f32") {
		t.Errorf("numbers of strings: got %v", err)
	}
	if _, _, err := all[0].Integers(2, 2); err == nil || !strings.Contains(err.Error(), "expected rows of 0 to 2") {
		t.Errorf("rows that are not there: got %v", err)
	}
}

func TestAttributesAreRefused(t *testing.T) {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}})
	must(t, err)
	defer builder.Close()
	must(t, builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	must(t, builder.Add(threePairs))
	for text, err := range map[string]error{
		"expected 1 to 5":                  builder.DeclareAttribute("a", 6),
		"attributes are declared before":   builder.DeclareAttribute("b", sidbeam.AttributeBool),
		"no attribute 'c' was declared":    builder.SetAttribute("c", sidbeam.AttributeValues{Bools: make([]bool, 3)}),
		"expected 3, the rows of the last": builder.SetAttribute("price", sidbeam.AttributeValues{Integers: []int64{1}}),
		"valid has 1 elements": builder.SetAttribute("price",
			sidbeam.AttributeValues{Integers: make([]int64, 3), Valid: []bool{true}}),
		"name holds a NUL byte at 1":          builder.DeclareAttribute("a\x00", sidbeam.AttributeBool),
		"attribute 'price': integers is NULL": builder.SetAttribute("price", sidbeam.AttributeValues{Bools: make([]bool, 3)}),
	} {
		text = strings.Replace(text, "NULL", "nil", 1)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("expected an error with %q, got %v", text, err)
		}
	}
}

func TestAttributesOfFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	must(t, os.WriteFile(path, []byte(`{"item": 1, "sid": [0, 1], "price": 5, "tags": ["x"]}`+"\n"), 0o600))
	index, err := sidbeam.IndexFromFile(context.Background(), path,
		sidbeam.ImportConfig{Attributes: "price:f32,tags"}, sidbeam.BuilderConfig{})
	must(t, err)
	defer index.Close()
	all, err := index.Attributes()
	must(t, err)
	if len(all) != 2 || all[0].Type != sidbeam.AttributeFloat32 || all[0].LeastNumber != 5 || all[1].Distinct != 1 {
		t.Errorf("expected price and tags, got %+v", all)
	}
}
