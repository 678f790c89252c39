// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
)

// samplerOf gives a session of two slots of M draws of three items.
func samplerOf(t testing.TB, beams int) (*sidbeam.Session, *sidbeam.Beams) {
	return newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t), Slots: 2, Beams: beams,
		Mode: sidbeam.ModeSample})
}

func runLevels(t testing.TB, session *sidbeam.Session, beams int) []int64 {
	t.Helper()
	for level := 0; level < 2; level++ {
		args := row(level)
		args.Rows.Slots, args.Rows.Rows, args.Rows.SlotStride = 2, beams, sidbeam.Broadcast
		must(t, session.Step(args))
	}
	items := session.NewItems(2, beams)
	must(t, session.Items(nil, items))
	return items.Ordinals
}

// A draw depends on its seed, request and number, not on its slot or its row.
func TestDrawsAreThoseOfTheirNumbers(t *testing.T) {
	wide, _ := samplerOf(t, 6)
	must(t, wide.Start(sidbeam.StartArgs{Sampling: sidbeam.Sampling{Seeds: []int64{-9, 7}, Requests: []int64{1, 2}}}))
	all := runLevels(t, wide, 6)
	narrow, beams := samplerOf(t, 2)
	must(t, narrow.Start(sidbeam.StartArgs{Sampling: sidbeam.Sampling{Seeds: []int64{7, -9}, Requests: []int64{2, 1},
		Draws: []int64{5, 0, 99, 4, 3, 99}, DrawStride: 3}}))
	few := runLevels(t, narrow, 2)
	if want := []int64{all[11], all[6], all[4], all[3]}; !reflect.DeepEqual(few, want) {
		t.Errorf("draws 5 0 and 4 3: expected %v, got %v", want, few)
	}
	if beams.LogMasses.Len() != 4 || beams.LogMasses.At(0) > 0 || beams.Perturbed.Len() != 0 {
		t.Errorf("expected 4 masses and no noise, got %d and %d", beams.LogMasses.Len(), beams.Perturbed.Len())
	}
	_, search := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t)})
	if search.LogMasses.Len() != 0 || search.Thresholds.Len() != 0 {
		t.Errorf("a search has no masses, got %d", search.LogMasses.Len())
	}
}

// DISC with draws of 6 rows: more results than rows, all of them items, and the same again.
func TestDisc(t *testing.T) {
	session, beams := samplerOf(t, 6)
	run := func(sideBySide int) *sidbeam.DiscResults {
		disc, err := sidbeam.NewDisc(sidbeam.DiscConfig{Results: 40, Rounds: 3, SideBySide: sideBySide, Seed: 5, Request: 6})
		must(t, err)
		defer disc.Close()
		if _, err := disc.Results(); err == nil {
			t.Error("results before any draw: expected an error")
		}
		for {
			draws, err := disc.Next(make([]int64, 6))
			must(t, err)
			if len(draws) == 0 {
				break
			}
			numbers := make([]int64, 12)
			copy(numbers, draws)
			copy(numbers[6:], draws)
			must(t, session.Start(sidbeam.StartArgs{Widths: []int32{int32(len(draws)), 1},
				Sampling: sidbeam.Sampling{Seeds: []int64{5, 0}, Requests: []int64{6, 0}, Draws: numbers}}))
			ordinals := runLevels(t, session, 6)
			logProbs, logMasses := make([]float32, len(draws)), make([]float32, len(draws))
			beams.Scores.CopyTo(logProbs)
			beams.LogMasses.CopyTo(logMasses)
			must(t, disc.Add(sidbeam.DiscDraws{Draws: draws, Ordinals: ordinals[:len(draws)], LogProbs: logProbs,
				LogMasses: logMasses}))
		}
		results, err := disc.Results()
		must(t, err)
		return results
	}
	one, all := run(1), run(6)
	if !reflect.DeepEqual(one.Ordinals, all.Ordinals) || !reflect.DeepEqual(one.DrawsUsed, all.DrawsUsed) {
		t.Errorf("side by side or one after the other: %v and %v", one.Ordinals, all.Ordinals)
	}
	seen := map[int64]int{}
	for i, ordinal := range one.Ordinals {
		seen[ordinal]++
		if math.IsInf(float64(one.LogProbs[i]), 0) || one.RowsRun[i] < one.DrawsUsed[i] || all.RowsRun[i] < one.RowsRun[i] {
			t.Errorf("result %d: %v rows for %v draws, log P %v", i, one.RowsRun[i], one.DrawsUsed[i], one.LogProbs[i])
		}
	}
	if seen[-1] != 0 || len(seen) < 2 {
		t.Errorf("expected items, and more than one, got %v", seen)
	}
}

func TestBadSampling(t *testing.T) {
	session, _ := samplerOf(t, 2)
	search, _ := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t)})
	two := []int64{1, 2}
	for _, bad := range []struct {
		session  *sidbeam.Session
		sampling sidbeam.Sampling
		text     string
	}{
		{session, sidbeam.Sampling{}, "sampling is nil, expected seeds and requests in mode SAMPLE"},
		{session, sidbeam.Sampling{Seeds: two}, "requests is nil, expected an array"},
		{session, sidbeam.Sampling{Seeds: two, Requests: []int64{1}}, "requests has 1 elements, expected at least 2"},
		{session, sidbeam.Sampling{Seeds: two, Requests: two, Draws: []int64{1, 2, 3}}, "draws has 3 elements, expected at"},
		{session, sidbeam.Sampling{Seeds: two, Requests: two, DrawStride: 1}, "draw_stride is 1, expected 0 or at least 2"},
		{session, sidbeam.Sampling{Seeds: two, Requests: two, DrawStride: -1}, "draw_stride is -1, expected 0"},
		{session, sidbeam.Sampling{Seeds: two, Requests: two, TopPs: []float32{1, 0}}, "top_ps[1] is 0, expected a number"},
		{session, sidbeam.Sampling{Seeds: two, Requests: two, TopKs: []int32{-1, 0}}, "top_ks[0] is -1, expected at least 1"},
		{search, sidbeam.Sampling{Seeds: two}, "sampling is given, expected nil in mode SEARCH"},
	} {
		fails(t, bad.session.Start(sidbeam.StartArgs{Sampling: bad.sampling}), sidbeam.InvalidArgument, bad.text)
	}
	_, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: threeItems(t), Mode: 9})
	fails(t, err, sidbeam.InvalidArgument, "mode is 9")
	_, err = sidbeam.NewDisc(sidbeam.DiscConfig{})
	fails(t, err, sidbeam.InvalidArgument, "rounds is 0")
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{threeItems(t)}})
	must(t, err)
	defer set.Close()
	sample := sidbeam.Sample{States: []int64{0}, Logits: sidbeam.Rows{F32: make([]float32, 4), Rows: 1, Columns: 4},
		Sampling: sidbeam.Sampling{Seeds: two, Requests: two}}
	fails(t, set.Sample(sample), sidbeam.InvalidArgument, "codes is missing, expected 1 elements")
	sample.Codes, sample.Sampling.NoiseScales = make([]int32, 1), []float32{1}
	fails(t, set.Sample(sample), sidbeam.InvalidArgument, "expected neither in Sample")
	sample.Sampling.NoiseScales = nil
	must(t, set.Sample(sample))
	if sample.Codes[0] != 0 && sample.Codes[0] != 2 {
		t.Errorf("expected a code that SIDs begin with, got %d", sample.Codes[0])
	}
}
