// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"math/rand"
	"os"
	"reflect"
	"runtime"
	"testing"

	"sidbeam.io/sidbeam"
)

const (
	hiddenCodes, hiddenWidth = 7, 20
	hiddenSlots, hiddenBeams = 2, 4
)

func needsRunner(t testing.TB) {
	t.Helper()
	if os.Getenv("SIDBEAM_MODEL") == "" {
		t.Skip("SIDBEAM_MODEL is not set: the library was built without the runner")
	}
}

// quarters are multiples of a quarter: sums of their products are exact.
func quarters(random *rand.Rand, count int) []float32 {
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(random.Intn(13)-6) / 4
	}
	return values
}

// brain is a bfloat16 of the same value.
func brain(values []float32) []uint16 {
	bits := make([]uint16, len(values))
	for i, value := range values {
		bits[i] = uint16(math.Float32bits(value) >> 16)
	}
	return bits
}

func product(states, weights, bias []float32) []float32 {
	logits := make([]float32, len(states)/hiddenWidth*hiddenCodes)
	for i := range logits {
		row, code := i/hiddenCodes, i%hiddenCodes
		logits[i] = bias[code]
		for j := 0; j < hiddenWidth; j++ {
			logits[i] += states[row*hiddenWidth+j] * weights[code*hiddenWidth+j]
		}
	}
	return logits
}

// hiddenSession is started; its catalogue is always the same.
func hiddenSession(t testing.TB, normalization sidbeam.Normalization) (*sidbeam.Session, *sidbeam.Beams) {
	t.Helper()
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{hiddenCodes, hiddenCodes, hiddenCodes}},
		sidbeam.Pairs{Codes: randomSIDs(60, 3, hiddenCodes)})
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: hiddenSlots, Beams: hiddenBeams,
		Normalization: normalization})
	must(t, session.Start(sidbeam.StartArgs{}))
	return session, beams
}

func newLayer(t testing.TB, config sidbeam.OutputLayerConfig) *sidbeam.OutputLayer {
	t.Helper()
	layer, err := sidbeam.NewOutputLayer(config)
	must(t, err)
	t.Cleanup(func() { _ = layer.Close() })
	return layer
}

func newHidden(t testing.TB, config sidbeam.HiddenStepConfig) *sidbeam.HiddenStep {
	t.Helper()
	hidden, err := sidbeam.NewHiddenStep(config)
	must(t, err)
	t.Cleanup(func() { _ = hidden.Close() })
	return hidden
}

func denseRows(values []float32, columns int) sidbeam.Rows {
	return sidbeam.Rows{F32: values, Slots: hiddenSlots, Rows: hiddenBeams, Columns: columns}
}

func contents[T int32 | int64 | float32](view sidbeam.View[T]) []T {
	values := make([]T, view.Len())
	view.CopyTo(values)
	return values
}

func sameBeams(t testing.TB, expected, got *sidbeam.Beams) {
	t.Helper()
	if !reflect.DeepEqual(contents(expected.Scores), contents(got.Scores)) ||
		!reflect.DeepEqual(contents(expected.Codes), contents(got.Codes)) ||
		!reflect.DeepEqual(contents(expected.Parents), contents(got.Parents)) ||
		!reflect.DeepEqual(contents(expected.Level), contents(got.Level)) {
		t.Fatalf("expected the beams of product and step, %v, got %v", contents(expected.Scores), contents(got.Scores))
	}
}

func TestHiddenStepsAsProductAndStepDo(t *testing.T) {
	needsRunner(t)
	random := rand.New(rand.NewSource(5))
	weights, bias := quarters(random, hiddenCodes*hiddenWidth), quarters(random, hiddenCodes)
	apart := make([]float32, 2*len(weights))
	for i, weight := range weights {
		apart[i/hiddenWidth*2*hiddenWidth+i%hiddenWidth] = weight
	}
	shape := sidbeam.Rows{Rows: hiddenCodes, Columns: hiddenWidth}
	forms := []sidbeam.Rows{shape, shape, shape}
	forms[0].F32, forms[1].BF16, forms[2].BF16 = weights, brain(weights), brain(apart)
	forms[2].RowStride = 2 * hiddenWidth
	for _, path := range []sidbeam.HiddenPath{sidbeam.HiddenFastest, sidbeam.HiddenChildren, sidbeam.HiddenProduct} {
		for _, form := range forms {
			session, beams := hiddenSession(t, sidbeam.NormalizeValid)
			byHand, expected := hiddenSession(t, sidbeam.NormalizeValid)
			layer := newLayer(t, sidbeam.OutputLayerConfig{Weights: form, Bias: bias})
			hidden := newHidden(t, sidbeam.HiddenStepConfig{Session: session, Layer: layer, Path: path})
			must(t, layer.Close()) // it is held
			for level := 0; level < 3; level++ {
				states := quarters(random, hiddenSlots*hiddenBeams*hiddenWidth)
				must(t, hidden.Step(sidbeam.StepArgs{Rows: denseRows(states, hiddenWidth), InverseTemperature: 0.5}))
				must(t, byHand.Step(sidbeam.StepArgs{Rows: denseRows(product(states, weights, bias), hiddenCodes),
					InverseTemperature: 0.5}))
				sameBeams(t, expected, beams)
			}
			stats, err := hidden.Stats()
			must(t, err)
			slots := stats.ChildSlots + stats.UnionSlots + stats.ProductSlots
			wrong := path == sidbeam.HiddenChildren && stats.ProductSlots > 0 ||
				path == sidbeam.HiddenProduct && stats.ProductSlots == 0
			if wrong || stats.Steps != 3 || slots != 3*hiddenSlots || stats.MemoryBytes <= 0 || stats.BreakEven <= 0 {
				t.Errorf("path %v: expected 3 steps of 2 slots, got %+v", path, stats)
			}
		}
	}
}

// The layer's own copy: what happens to the slice afterwards changes nothing.
func TestWeightsAreCopiedUnlessTheyAreInPlace(t *testing.T) {
	needsRunner(t)
	random := rand.New(rand.NewSource(6))
	weights, bias := quarters(random, hiddenCodes*hiddenWidth), quarters(random, hiddenCodes)
	states := quarters(random, hiddenSlots*hiddenBeams*hiddenWidth)
	logits := product(states, weights, bias)
	given := append([]float32(nil), weights...)
	layer := newLayer(t, sidbeam.OutputLayerConfig{Bias: bias,
		Weights: sidbeam.Rows{F32: given, Rows: hiddenCodes, Columns: hiddenWidth}})
	for i := range given {
		given[i] = float32(math.NaN())
	}
	given = nil
	runtime.GC()
	session, beams := hiddenSession(t, sidbeam.NormalizeFull)
	byHand, expected := hiddenSession(t, sidbeam.NormalizeFull)
	hidden := newHidden(t, sidbeam.HiddenStepConfig{Session: session, Layer: layer})
	maps := [][]int32{{7, 3, 1, 5, 0, 2, 4, 6}, {6, 5, 4, 3}}
	for i, slots := range [][]int32{nil, {1}} {
		args := sidbeam.StepArgs{Slots: slots, RowMap: maps[i],
			Rows: sidbeam.Rows{F32: states, Rows: hiddenSlots * hiddenBeams, Columns: hiddenWidth}}
		must(t, hidden.Step(args))
		args.Rows = sidbeam.Rows{F32: logits, Rows: hiddenSlots * hiddenBeams, Columns: hiddenCodes}
		must(t, byHand.Step(args))
		sameBeams(t, expected, beams)
	}
	if stats, err := hidden.Stats(); err != nil || stats.ProductSlots != 3 {
		t.Errorf("expected 3 slots by product, got %+v, %v", stats, err)
	}
}

func TestChildColumnsAreThoseOfTheIndex(t *testing.T) {
	session, beams := hiddenSession(t, sidbeam.NormalizeValid)
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{hiddenCodes, hiddenCodes, hiddenCodes}},
		sidbeam.Pairs{Codes: randomSIDs(60, 3, hiddenCodes)})
	must(t, session.Step(sidbeam.StepArgs{Rows: denseRows(make([]float32, 8*hiddenCodes), hiddenCodes)}))
	found, err := session.Children([]int32{1}, false)
	must(t, err)
	for m := 0; m < hiddenBeams; m++ {
		expected, _, err := index.Children(beams.Codes.At(hiddenBeams + m))
		must(t, err)
		if got := found.Columns[found.Offsets[m]:found.Offsets[m+1]]; !reflect.DeepEqual(expected, got) {
			t.Errorf("beam %d: expected %v, got %v", m, expected, got)
		}
	}
	both, err := session.Children(nil, false)
	if must(t, err); len(both.Columns) != 2*len(found.Columns) {
		t.Errorf("both slots: expected %d columns, got %d", 2*len(found.Columns), len(both.Columns))
	}
	full, _ := hiddenSession(t, sidbeam.NormalizeFull)
	_, err = full.Children(nil, false)
	fails(t, err, sidbeam.Unsupported, "reads more than children")
	both, err = full.Children(nil, true)
	if must(t, err); len(both.Columns) != hiddenSlots*hiddenCodes {
		t.Errorf("with a given sum: expected all codes of both slots, got %v", both.Columns)
	}
	_, err = session.Children([]int32{2}, false)
	fails(t, err, sidbeam.InvalidArgument, "slots[0] is 2")
}

func TestHiddenStepRefuses(t *testing.T) {
	needsRunner(t)
	random := rand.New(rand.NewSource(7))
	weights := sidbeam.Rows{F32: quarters(random, hiddenCodes*hiddenWidth), Rows: hiddenCodes, Columns: hiddenWidth}
	states := quarters(random, hiddenSlots*hiddenBeams*hiddenWidth)
	session, beams := hiddenSession(t, sidbeam.NormalizeValid)
	layer := newLayer(t, sidbeam.OutputLayerConfig{Weights: weights})
	hidden := newHidden(t, sidbeam.HiddenStepConfig{Session: session, Layer: layer})
	good := sidbeam.StepArgs{Rows: denseRows(states, hiddenWidth)}
	refused := func(code sidbeam.Code, text string, change func(*sidbeam.StepArgs)) {
		t.Helper()
		args := good
		change(&args)
		fails(t, hidden.Step(args), code, text)
	}
	wrong := sidbeam.InvalidArgument
	refused(wrong, "the number of columns of hidden is 19, expected 20, the width",
		func(a *sidbeam.StepArgs) { a.Rows.Columns = 19 })
	refused(wrong, "the dtype of hidden is 2", func(a *sidbeam.StepArgs) { a.Rows.F32, a.Rows.BF16 = nil, brain(states) })
	refused(wrong, "hidden has 100 elements, too few", func(a *sidbeam.StepArgs) { a.Rows.F32 = states[:100] })
	refused(wrong, "the number of slots of hidden is 1, expected", func(a *sidbeam.StepArgs) { a.Rows.Slots = 1 })
	refused(wrong, "SoftCap is given", func(a *sidbeam.StepArgs) { a.SoftCap = 1 })
	refused(wrong, "lse has 7 elements, expected at least 8", func(a *sidbeam.StepArgs) { a.LSE = make([]float32, 7) })
	refused(wrong, "row_map has 3 elements, expected at least 8", func(a *sidbeam.StepArgs) {
		a.RowMap, a.Rows = make([]int32, 3), sidbeam.Rows{F32: states, Rows: 8, Columns: hiddenWidth}
	})
	refused(wrong, "slots[1] is 1, which is named before", func(a *sidbeam.StepArgs) { a.Slots = []int32{1, 1} })
	if beams.Level.At(0) != 0 || beams.Level.At(1) != 0 {
		t.Errorf("expected nothing to move, got levels %v", contents(beams.Level))
	}
	few := weights
	few.Rows = 2
	narrow := newHidden(t, sidbeam.HiddenStepConfig{Session: session, Path: sidbeam.HiddenChildren,
		Layer: newLayer(t, sidbeam.OutputLayerConfig{Weights: few})})
	fails(t, narrow.Step(good), wrong, "expected one of the layer's, 0..1")
	full, _ := hiddenSession(t, sidbeam.NormalizeFull)
	children := newHidden(t, sidbeam.HiddenStepConfig{Session: full, Layer: layer, Path: sidbeam.HiddenChildren})
	fails(t, children.Step(good), sidbeam.Unsupported, "normalization is 0")
	must(t, hidden.Step(good))
	must(t, session.Close())
	fails(t, hidden.Step(good), sidbeam.BadState, "session is closed")
	_, err := sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{Session: session, Layer: layer})
	fails(t, err, sidbeam.BadState, "session is closed")
	must(t, layer.Close())
	_, err = sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{Session: full, Layer: layer})
	fails(t, err, sidbeam.BadState, "output layer is closed")
	must(t, hidden.Close())
	must(t, hidden.Close())
	fails(t, hidden.Step(good), sidbeam.BadState, "hidden step is closed")
	_, err = hidden.Stats()
	fails(t, err, sidbeam.BadState, "hidden step is closed")
	_, err = sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{})
	fails(t, err, wrong, "Session or Layer is nil")
}

func TestOutputLayerRefuses(t *testing.T) {
	needsRunner(t)
	weights := sidbeam.Rows{F32: make([]float32, hiddenCodes*hiddenWidth), Rows: hiddenCodes, Columns: hiddenWidth}
	refused := func(code sidbeam.Code, text string, change func(*sidbeam.OutputLayerConfig)) {
		t.Helper()
		config := sidbeam.OutputLayerConfig{Weights: weights}
		change(&config)
		_, err := sidbeam.NewOutputLayer(config)
		fails(t, err, code, text)
	}
	wrong := sidbeam.InvalidArgument
	refused(wrong, "Slots is 1, expected 0", func(c *sidbeam.OutputLayerConfig) { c.Weights.Slots = 1 })
	refused(wrong, "Bias has 3 elements, expected 7", func(c *sidbeam.OutputLayerConfig) { c.Bias = make([]float32, 3) })
	refused(wrong, "weights has 140 elements, too few", func(c *sidbeam.OutputLayerConfig) { c.Weights.Rows = 8 })
	refused(wrong, "width is 0", func(c *sidbeam.OutputLayerConfig) { c.Weights.Columns = 0 })
	refused(wrong, "weights has 0 elements, too few", func(c *sidbeam.OutputLayerConfig) { c.Weights.F32 = nil })
	refused(wrong, "row_stride is 3", func(c *sidbeam.OutputLayerConfig) { c.Weights.RowStride = 3 })
	refused(wrong, "soft_cap is -1", func(c *sidbeam.OutputLayerConfig) { c.SoftCap = -1 })
}
