// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"testing"

	"sidbeam.io/sidbeam"
)

// Two requests of 70 beams over 2048 codes, as tests/bindings/bench_calls.c has them.
func overheadSession(t testing.TB) (*sidbeam.Session, sidbeam.StepArgs) {
	config := sidbeam.BuilderConfig{Codes: []int32{2048, 2048, 2048}}
	index := build(t, config, sidbeam.Pairs{Codes: randomSIDs(100000, 3, 2048)})
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: 2, Beams: 70})
	rows := sidbeam.Rows{F32: randomLogits(2 * 70 * 2048), Slots: 2, Rows: 70, Columns: 2048}
	return session, sidbeam.StepArgs{Rows: rows}
}

// A request, its steps and reading its beams allocate nothing.
func TestStepAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's sync.Pool forgets at random")
	}
	session, args := overheadSession(t)
	beams, err := session.Beams()
	must(t, err)
	codes := make([]int32, beams.Codes.Len())
	items := session.NewItems(2, 70)
	count := testing.AllocsPerRun(100, func() {
		must(t, session.Start(sidbeam.StartArgs{}))
		for l := 0; l < 3; l++ {
			must(t, session.Step(args))
			beams.Codes.CopyTo(codes)
		}
		must(t, session.Items(nil, items))
	})
	if count != 0 {
		t.Errorf("expected no allocation, got %v a request", count)
	}
}
