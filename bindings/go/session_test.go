// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"runtime"
	"testing"

	"sidbeam.io/sidbeam"
)

func decodeThree(t testing.TB, session *sidbeam.Session) {
	t.Helper()
	must(t, session.Start(sidbeam.StartArgs{}))
	for level := 0; level < 2; level++ {
		must(t, session.Step(row(level)))
	}
}

func TestDecode(t *testing.T) {
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t), Beams: 2})
	if s, m, l := session.Shape(); s != 1 || m != 2 || l != 2 {
		t.Errorf("shape: expected 1 2 2, got %d %d %d", s, m, l)
	}
	if beams.Level.At(0) != -1 {
		t.Errorf("a slot that has not started: expected level -1, got %d", beams.Level.At(0))
	}
	decodeThree(t, session)
	if beams.Active.At(0) != 0 || beams.Live.At(0) != 2 || beams.Errors.At(0) != 0 {
		t.Errorf("expected a slot that is done with 2 beams, got active %d, live %d", beams.Active.At(0), beams.Live.At(0))
	}
	if first := beams.Scores.Slice(1, 2).At(0); math.Abs(float64(first)+8.215) > 1e-3 {
		t.Errorf("the second score: expected -8.215, got %v", first)
	}
	items := session.NewItems(1, 4)
	must(t, session.Items(nil, items))
	if items.Ordinals[0] != 2 || items.Ordinals[1] != 1 || len(items.ItemRowsOf(0, 0)) != 1 ||
		items.ItemRowsOf(0, 1)[0] != 1 {
		t.Errorf("expected items 2 and 1, got %+v", items)
	}
	stats, err := session.Stats()
	must(t, err)
	if stats.Steps != 2 || stats.MemoryBytes <= 0 {
		t.Errorf("expected 2 steps and some memory, got %+v", stats)
	}
	counters, err := session.Counters()
	if must(t, err); counters["slot_steps"] != 2 || len(counters) < 5 {
		t.Errorf("expected 2 steps of a slot among the counters, got %v", counters)
	}
	must(t, session.Stop(nil, 0))
	if beams.Level.At(0) != -1 {
		t.Errorf("a stopped slot: expected level -1, got %d", beams.Level.At(0))
	}
}

// A step that reads only what it must does not see a NaN that cannot matter; one that can flags its slot and no other.
func TestNaNFlagsItsSlot(t *testing.T) {
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t), Beams: 2, Slots: 2})
	must(t, session.Start(sidbeam.StartArgs{}))
	nan := float32(math.NaN())
	logits := []float32{0, 0, 0, 0, 9, 9, 9, 9, nan, 0, 0, 0, 9, 9, 9, 9}
	must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits, Slots: 2, Rows: 2, Columns: 4}}))
	if beams.Errors.At(0) != 0 || beams.Errors.At(1) != sidbeam.SlotBadRow {
		t.Errorf("errors: expected 0 and 1, got %d and %d", beams.Errors.At(0), beams.Errors.At(1))
	}
	if beams.Live.At(0) != 2 || beams.Live.At(1) != 0 {
		t.Errorf("live: expected 2 and 0, got %d and %d", beams.Live.At(0), beams.Live.At(1))
	}
}

func TestHalves(t *testing.T) {
	index := threeItems(t)
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index})
	for _, rows := range []sidbeam.Rows{
		{F16: []uint16{0x3c00, 0, 0x4000, 0}}, {BF16: []uint16{0x3f80, 0, 0x4000, 0}}, {F32: []float32{1, 0, 2, 0}}} {
		rows.Slots, rows.Rows, rows.Columns = 1, 1, 4
		must(t, session.Start(sidbeam.StartArgs{}))
		must(t, session.Step(sidbeam.StepArgs{Rows: rows}))
		if beams.Codes.At(0) != 2 {
			t.Errorf("the best of 1, 2: expected code 2, got %d", beams.Codes.At(0))
		}
	}
}

func TestPrefixesWidthsAndConstraints(t *testing.T) {
	index := threeItems(t)
	other := build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}}, sidbeam.Pairs{Codes: []int32{3, 3}})
	only, err := sidbeam.NewConstraint(other)
	must(t, err)
	must(t, other.Close())
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: 3, Beams: 2})
	must(t, session.Start(sidbeam.StartArgs{Slots: []int32{0, 1, 2}, Constraints: []sidbeam.Constrainer{nil, only, index},
		Widths: []int32{1, 0, 2}, Prefixes: [][]int32{{0}, {}, {3}}}))
	if beams.Level.At(0) != 1 || beams.Level.At(1) != 0 || beams.Live.At(2) != 0 {
		t.Errorf("expected levels 1 and 0 and no beam for a prefix that is not there, got %d, %d, %d", beams.Level.At(0),
			beams.Level.At(1), beams.Live.At(2))
	}
	must(t, only.Close())
	runtime.GC() // the session holds the constraint, which holds its index
	must(t, session.Step(sidbeam.StepArgs{Slots: []int32{0, 1}, Rows: sidbeam.Rows{F32: twoLevels[1], Slots: 2, Rows: 2,
		Columns: 4, SlotStride: sidbeam.Broadcast, RowStride: sidbeam.Broadcast}}))
	if beams.Codes.At(0) != 3 || beams.Live.At(0) != 1 || beams.Codes.At(2) != 3 || beams.Live.At(1) != 1 {
		t.Errorf("expected code 3 twice, got %d and %d", beams.Codes.At(0), beams.Codes.At(2))
	}
}

func TestConstraintSet(t *testing.T) {
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{threeItems(t)}})
	must(t, err)
	defer set.Close()
	states := make([]int64, 2)
	must(t, set.Prefixes(nil, []int32{0, 1}, 1, []int32{0, 1}, states, 0))
	if states[0] != 0 || states[1] != -1 {
		t.Errorf("states: expected 0 and -1, got %v", states)
	}
	words := make([]uint32, 2)
	must(t, set.Bitmask(nil, states, 1, words, 0))
	if words[0] != 1|1<<2 || words[1] != 0 {
		t.Errorf("words: expected 5 and 0, got %v", words)
	}
	next := make([]int64, 1)
	must(t, set.Advance(nil, states, nil, []int32{0}, next, 0))
	logits := []float32{1, 2, 3, 4}
	must(t, set.Mask(nil, next, sidbeam.Rows{F32: logits, Rows: 1, Columns: 4}, 0))
	if !math.IsInf(float64(logits[0]), -1) || logits[1] != 2 || logits[3] != 4 {
		t.Errorf("after code 0 only 1 and 3 may follow, got %v", logits)
	}
	top := sidbeam.TopK{States: states[:1], Logits: sidbeam.Rows{F32: twoLevels[0], Rows: 1, Columns: 4}, K: 3,
		Codes: make([]int32, 3), LogProbs: make([]float32, 3)}
	must(t, set.TopK(top))
	if top.Codes[0] != 0 || top.Codes[1] != 2 || top.Codes[2] != -1 {
		t.Errorf("codes: expected 0 2 -1, got %v", top.Codes)
	}
}

// A slice in an object that also holds Go pointers may be passed; generate.sh sees to that.
func TestSliceBesidePointers(t *testing.T) {
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t)})
	worker := &struct {
		logits [4]float32
		next   *int
	}{next: new(int)}
	must(t, session.Start(sidbeam.StartArgs{}))
	must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: worker.logits[:], Slots: 1, Rows: 1, Columns: 4}}))
	runtime.KeepAlive(worker)
}

// A slot's temperature has the effect of a step's, which takes precedence.
func TestTemperatures(t *testing.T) {
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t), Slots: 2})
	score := func(start sidbeam.StartArgs, change func(step *sidbeam.StepArgs)) float32 {
		must(t, session.Start(start))
		step := sidbeam.StepArgs{Rows: sidbeam.Rows{
			F32: twoLevels[0], Slots: 2, Rows: 1, Columns: 4, SlotStride: sidbeam.Broadcast}}
		change(&step)
		must(t, session.Step(step))
		return beams.Scores.At(1)
	}
	half := score(sidbeam.StartArgs{}, func(step *sidbeam.StepArgs) { step.InverseTemperature = 0.5 })
	plain := score(sidbeam.StartArgs{}, func(step *sidbeam.StepArgs) {})
	slots := sidbeam.StartArgs{InverseTemperatures: []float32{1, 0.5}}
	if got := score(slots, func(step *sidbeam.StepArgs) {}); got != half || half == plain {
		t.Errorf("a slot's temperature: expected %v and not %v, got %v", half, plain, got)
	}
	each := func(step *sidbeam.StepArgs) { step.InverseTemperatures = []float32{0, 1} }
	if got := score(slots, each); got != plain {
		t.Errorf("a step's temperature comes first: expected %v, got %v", plain, got)
	}
}

func TestConstraintInfo(t *testing.T) {
	index := threeItems(t)
	constraint, err := sidbeam.NewConstraint(index)
	must(t, err)
	defer constraint.Close()
	of, err := index.Info()
	must(t, err)
	info, err := constraint.Info()
	if must(t, err); info.Levels != 2 || info.Codes[1] != 4 || info.SIDs != 3 || info.Fingerprint != of.Fingerprint {
		t.Errorf("expected 2 levels of 4 codes and 3 SIDs, got %+v", info)
	}
}
