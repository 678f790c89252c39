// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"testing"

	"sidbeam.io/sidbeam"
)

func TestALevelOf16777216Codes(t *testing.T) {
	const last = sidbeam.MaxCodes - 1
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{sidbeam.MaxCodes}},
		sidbeam.Pairs{Codes: []int32{5, 1<<20 + 5, last}})
	info, err := index.Info()
	if must(t, err); info.Codes[0] != 1<<24 {
		t.Errorf("info: expected 2^24 codes, got %d", info.Codes[0])
	}
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: 3,
		Normalization: sidbeam.NormalizeNone})
	logits := make([]float32, sidbeam.MaxCodes)
	for i := range logits {
		logits[i] = -9
	}
	logits[5], logits[1<<20+5], logits[last] = -3, -1, -2
	must(t, session.Start(sidbeam.StartArgs{}))
	must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits, Slots: 1, Rows: 3, Columns: sidbeam.MaxCodes,
		RowStride: sidbeam.Broadcast}}))
	for i, code := range []int32{1<<20 + 5, last, 5} {
		if beams.Codes.At(i) != code || beams.Scores.At(i) != float32(-1-i) {
			t.Errorf("beam %d: expected code %d, got %d with score %v", i, code, beams.Codes.At(i), beams.Scores.At(i))
		}
	}
	_, err = sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{sidbeam.MaxCodes + 1}})
	fails(t, err, sidbeam.InvalidArgument, "codes[0] is 16777217, expected 1 to 16777216")
}

func TestSIDsOf255Codes(t *testing.T) {
	codes, sids := make([]int32, sidbeam.MaxLevels), make([]int32, 3*sidbeam.MaxLevels)
	for l := range codes {
		codes[l] = 2
	}
	sids[sidbeam.MaxLevels+254], sids[2*sidbeam.MaxLevels+63] = 1, 1
	index := build(t, sidbeam.BuilderConfig{Codes: codes}, sidbeam.Pairs{Codes: sids})
	info, err := index.Info()
	if must(t, err); info.Levels != 255 || len(info.Nodes) != 255 || info.Nodes[254] != 3 {
		t.Errorf("info: expected 255 levels, the last of 3 nodes, got %+v", info)
	}
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: 3,
		Normalization: sidbeam.NormalizeNone})
	must(t, session.Start(sidbeam.StartArgs{}))
	for range codes {
		must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: []float32{-1, -2}, Slots: 1, Rows: 3, Columns: 2,
			RowStride: sidbeam.Broadcast}}))
	}
	items := session.NewItems(1, 4)
	must(t, session.Items(nil, items))
	for i, score := range []float32{-255, -256, -256} {
		if items.Ordinals[i] != int64(i) || beams.Scores.At(i) != score {
			t.Errorf("beam %d: expected score %v, got ordinal %d with %v", i, score, items.Ordinals[i], beams.Scores.At(i))
		}
	}
	_, err = sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: append(codes, 2)})
	fails(t, err, sidbeam.InvalidArgument, "levels is 256, expected 1 to 255")
}
