// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
)

// Strides of 0 are dense, in steps of a session and calls of a set: the same as if they were said, and not one row for
// all.
func TestRowsAreDenseUnlessTheySayOtherwise(t *testing.T) {
	const slots, beams, codes = 2, 2, 4
	index := threeItems(t)
	values := randomLogits(slots * beams * codes)
	forms := []sidbeam.Rows{
		{F32: values, Slots: slots, Rows: beams, Columns: codes},
		{F32: values, Slots: slots, Rows: beams, Columns: codes, SlotStride: beams * codes, RowStride: codes},
		{F32: values, Slots: slots, Rows: beams, Columns: codes, SlotStride: sidbeam.Broadcast,
			RowStride: sidbeam.Broadcast},
	}
	var scores, logProbs [][]float32
	for _, rows := range forms {
		session, views := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: slots, Beams: beams})
		must(t, session.Start(sidbeam.StartArgs{}))
		must(t, session.Step(sidbeam.StepArgs{Rows: rows}))
		must(t, session.Step(sidbeam.StepArgs{Rows: rows}))
		scores = append(scores, contents(views.Scores))

		set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{index}})
		must(t, err)
		defer set.Close()
		flat := rows
		flat.Slots, flat.SlotStride, flat.Rows = 0, 0, slots*beams
		top := sidbeam.TopK{States: make([]int64, flat.Rows), Logits: flat, K: 1, Codes: make([]int32, flat.Rows),
			LogProbs: make([]float32, flat.Rows)}
		must(t, set.TopK(top))
		logProbs = append(logProbs, top.LogProbs)
	}
	for what, got := range map[string][][]float32{"Step": scores, "TopK": logProbs} {
		if !reflect.DeepEqual(got[0], got[1]) || reflect.DeepEqual(got[0], got[2]) {
			t.Errorf("%s: expected the same of the first two, dense, and others of the third, got %v", what, got)
		}
	}
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index})
	must(t, session.Start(sidbeam.StartArgs{}))
	fails(t, session.Step(sidbeam.StepArgs{}), sidbeam.InvalidArgument, "logits is nil, expected logits")
}
