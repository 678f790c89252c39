// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
)

func logs(probabilities []float64) []float32 {
	out := make([]float32, len(probabilities))
	for i, p := range probabilities {
		out[i] = float32(math.Log(p))
	}
	return out
}

func chiSquare(counts []int, law []float64) float64 {
	all, sum := 0, 0.0
	for _, count := range counts {
		all += count
	}
	for i, p := range law {
		if p > 0 {
			sum += math.Pow(float64(counts[i])-p*float64(all), 2) / (p * float64(all))
		} else {
			sum += 1e9 * float64(counts[i])
		}
	}
	return sum
}

func TestRelaxedDrawsFollowTheTarget(t *testing.T) {
	p, q := []float64{0.4, 0.3, 0.2, 0.1, 0}, []float64{0.1, 0.5, 0, 0.2, 0.2}
	const bound = 21.1 // 1e-4 of chi-square with three degrees of freedom
	drawn, found := make([]int, 5), make([]int, 5)
	drafts, again, extensions := make([]int64, 100), make([]int64, 100), make([]int64, 100)
	for request := int64(0); request < 60; request++ {
		relaxed := sidbeam.Relaxed{Seed: 7, Request: request, Level: 1}
		must(t, relaxed.Draw(logs(q), drafts))
		must(t, relaxed.Draw(logs(q), again))
		beams, err := relaxed.Verify(logs(p), logs(q), drafts, extensions)
		must(t, err)
		if !reflect.DeepEqual(drafts, again) || beams.Live != 100 || beams.GoesOn != (beams.Accepted == 100) {
			t.Fatalf("request %d: got %+v", request, beams)
		}
		for i := range drafts {
			drawn[drafts[i]]++
			found[extensions[i]]++
		}
		relaxed.WithoutReplacement = true
		must(t, relaxed.Draw(logs(q), drafts[:5]))
		beams, err = relaxed.Verify(logs(p), logs(q), drafts[:3], extensions[:3])
		must(t, err)
		different := map[int64]bool{}
		for _, extension := range extensions[:3] {
			different[extension] = extension >= 0 && extension < 4
		}
		if drafts[4] != -1 || beams.Live != 3 || len(different) != 3 {
			t.Fatalf("request %d: expected three of four, got %v of %v", request, extensions[:3], drafts[:5])
		}
	}
	if chiSquare(drawn, q) > bound || chiSquare(found, p) > bound {
		t.Errorf("drawn %v, found %v", drawn, found)
	}
	all, err := sidbeam.Relaxed{WithoutReplacement: true}.Verify(logs(p), logs(q), nil, extensions[:5])
	if must(t, err); all.Live != 4 || extensions[4] != -1 || all.GoesOn {
		t.Errorf("expected the four that there are, got %+v: %v", all, extensions[:5])
	}
}

func TestRelaxedRefuses(t *testing.T) {
	p := logs([]float64{0.5, 0.5, 0})
	verify := func(r sidbeam.Relaxed, target, draft []float32, beams int, drafts ...int64) error {
		_, err := r.Verify(target, draft, drafts, make([]int64, beams))
		return err
	}
	draw := func(r sidbeam.Relaxed, list []float32, draws int) error { return r.Draw(list, make([]int64, draws)) }
	var plain sidbeam.Relaxed
	for _, bad := range []struct {
		err  error
		text string
	}{
		{draw(plain, []float32{0, float32(math.NaN())}, 1), "log_probs[1] is nan"},
		{draw(plain, p, 0), "draws is 0"},
		{draw(plain, nil, 1), "log_probs is nil"},
		{draw(sidbeam.Relaxed{Level: 255}, p, 1), "level is 255"},
		{verify(plain, p, p[:2], 1, 0), "draft has 2 elements, expected 3, as target"},
		{verify(plain, p, p, 1, 3), "drafts[0] is 3, expected 0..2"},
		{verify(plain, p, p, 1, 2), "drafts[0] is 2, which the draft gives no probability"},
		{verify(plain, p, p, 2, 0), "the number of drafts is 1, expected 2"},
		{verify(sidbeam.Relaxed{WithoutReplacement: true}, p, p, 2, 1, 1), "drafts[1] is 1, which comes before"},
		{verify(sidbeam.Relaxed{InverseTemperature: -1}, p, p, 1, 0), "inverse_temperature is -1"},
	} {
		fails(t, bad.err, sidbeam.InvalidArgument, bad.text)
	}
}
