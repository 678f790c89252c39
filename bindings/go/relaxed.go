// SPDX-License-Identifier: Apache-2.0

package sidbeam

import "sidbeam.io/sidbeam/internal/native"

// Relaxed is relaxed speculation (AtSpeed, Algorithm 2): beams drawn at random from the target's distribution over all
// valid extensions of the current beams by one code. It is a calculation over lists: extension i has the
// log-probability of the whole sequence, -Inf where it is none, in an order that is the caller's. The same Seed,
// Request and Level draw alike on every machine. Calls may run at the same time.
//
// With replacement, K drafts, each beam is a draw from the target exactly, independent of the others. Without it, they
// are different, and follow the target approximately, as in the paper's released code.
type Relaxed struct {
	Runtime            *Runtime // nil: the process's
	Seed, Request      int64
	Level              int     // 0 .. MaxLevels - 1
	InverseTemperature float32 // of the log-probabilities, which are then normalized over the list; 0: 1
	WithoutReplacement bool
}

// Draw fills drafts, which has an element per draw, with extensions; -1 where none was left. logProbs are the draft's
// for drafts, the target's for beams. Errors: InvalidArgument (a log-probability that is NaN or +Inf), OutOfMemory.
func (r Relaxed) Draw(logProbs []float32, drafts []int64) error {
	f := newFailure()
	if err := withRuntime(r.Runtime, func(runtime uintptr) {
		native.Flat_relaxed_draw(runtime, logProbs, r.InverseTemperature, flag(r.WithoutReplacement), r.Seed, r.Request,
			saturate(r.Level), drafts, f.bytes())
	}); err != nil {
		return err
	}
	return f.done()
}

// RelaxedBeams is what Verify says about the beams.
type RelaxedBeams struct {
	Live     int  // beams there are
	Accepted int  // drafts that were accepted
	GoesOn   bool // there are beams, all accepted drafts, so that the next level may be verified
}

// Verify accepts drafts, or draws others in their place, so that beams follow the target. It fills extensions, which
// has an element for each of K beams, then -1. target and draft are [n]; drafts are K with replacement, else those of
// the drawn whose beams were kept. Errors: InvalidArgument (a log-probability that is NaN or +Inf, a draft out of
// range, drawn twice without replacement, or without probability), OutOfMemory.
func (r Relaxed) Verify(target, draft []float32, drafts, extensions []int64) (RelaxedBeams, error) {
	found := make([]int32, native.FLAT_RELAXED_COUNT)
	f := newFailure()
	if err := withRuntime(r.Runtime, func(runtime uintptr) {
		native.Flat_relaxed_verify(runtime, target, draft, drafts, r.InverseTemperature, flag(r.WithoutReplacement), r.Seed,
			r.Request, saturate(r.Level), extensions, found, f.bytes())
	}); err != nil {
		return RelaxedBeams{}, err
	}
	return RelaxedBeams{int(found[native.FLAT_RELAXED_LIVE]), int(found[native.FLAT_RELAXED_ACCEPTED]),
		found[native.FLAT_RELAXED_GOES_ON] != 0}, f.done()
}
