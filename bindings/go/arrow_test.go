// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
	"sidbeam.io/sidbeam/internal/specimen"
)

// openSpecimen loads the table, and expects at the end that all of it was released.
func openSpecimen(t *testing.T) {
	t.Helper()
	path := os.Getenv("SIDBEAM_ARROW_SPECIMEN")
	if path == "" {
		t.Skip("SIDBEAM_ARROW_SPECIMEN does not name the library of tests/bindings; test.sh does")
	}
	must(t, specimen.Open(path))
	t.Cleanup(func() {
		if alive := specimen.Alive(); alive != 0 {
			t.Errorf("streams, schemas and arrays: expected all to be released, %d are not", alive)
		}
	})
}

var namedShape = sidbeam.BuilderConfig{Codes: []int32{4, 3}, IDType: sidbeam.IDString}

func TestArrowReadsWhatAnAddressLeadsTo(t *testing.T) {
	openSpecimen(t)
	plain := builderOf(t, namedShape, sidbeam.Pairs{Codes: []int32{3, 1, 1, 2, 1, 0}, Names: []string{"c", "a", "b"}})
	expected, err := plain.Finish(context.Background())
	must(t, err)
	defer expected.Close()
	builder, err := sidbeam.NewBuilder(namedShape)
	must(t, err)
	for _, columns := range []sidbeam.ArrowColumns{{}, {SID: "sid", Item: "item", NoPriority: true}} {
		if pairs, err := builder.AddArrow(specimen.Stream(false), columns); err != nil || pairs != 3 {
			t.Errorf("%+v: expected 3 pairs, got %d %v", columns, pairs, err)
		}
	}
	index, err := builder.Finish(context.Background())
	must(t, err)
	defer index.Close()
	wanted, err := expected.Info()
	must(t, err)
	if info, err := index.Info(); err != nil || info.Fingerprint != wanted.Fingerprint || info.MergedPairs != 3 {
		t.Errorf("info: expected fingerprint %s and 3 merged pairs, got %+v %v", wanted.Fingerprint, info, err)
	}
	info, err := sidbeam.InspectArrow(specimen.Stream(false), sidbeam.ArrowColumns{})
	if err != nil || info.Levels != 2 || info.Shortest != 2 || len(info.Codes) != 2 || info.Codes[0] != 4 ||
		info.Codes[1] != 3 || info.IDType != sidbeam.IDString || !info.Items || info.Priorities || info.Pairs != 3 {
		t.Errorf("inspected: expected 3 pairs of 4 and 3 codes and names, got %+v %v", info, err)
	}
}

func TestArrowReleasesTheStreamWhateverIsWrong(t *testing.T) {
	openSpecimen(t)
	builder, err := sidbeam.NewBuilder(namedShape)
	must(t, err)
	for _, c := range []struct {
		bad     bool
		columns sidbeam.ArrowColumns
		text    string
	}{
		{true, sidbeam.ArrowColumns{}, "column 'sid', row 2, level 1: code 9, expected 0 to 2"},
		{false, sidbeam.ArrowColumns{SID: "x"}, "sid is 'x', expected one of the columns 'sid', 'item'"},
		{false, sidbeam.ArrowColumns{NoItem: true}, "no column of items, expected one of text"},
		{false, sidbeam.ArrowColumns{Levels: []string{"a", "b\x00"}}, "Levels holds a NUL"},
		{false, sidbeam.ArrowColumns{Item: "a", NoItem: true}, "a column is named that there is not"},
	} {
		if _, err := builder.AddArrow(specimen.Stream(c.bad), c.columns); !errors.Is(err, sidbeam.InvalidArgument) ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: expected %q, got %v", c.columns, c.text, err)
		}
	}
	if _, err := sidbeam.InspectArrow(specimen.Stream(false), sidbeam.ArrowColumns{LevelPrefix: "c"}); err == nil {
		t.Error("inspect: expected an error, got none")
	}
	if _, err := builder.AddArrow(0, sidbeam.ArrowColumns{}); !errors.Is(err, sidbeam.InvalidArgument) {
		t.Errorf("no stream: expected InvalidArgument, got %v", err)
	}
	must(t, builder.Close())
	if _, err := builder.AddArrow(specimen.Stream(false), sidbeam.ArrowColumns{}); !errors.Is(err, sidbeam.BadState) {
		t.Errorf("a closed builder: expected BadState, got %v", err)
	}
}
