// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Sampling says how slots of a start, or logits rows of a [ConstraintSet.Sample], are sampled; N is the number of
// these. A draw depends on its seed, request, number and level alone: it is the same in any batch, slot or session, and
// on any device. sidbeam/sampling.h says which random numbers it uses.
type Sampling struct {
	Seeds, Requests []int64 // [N], needed; nil, both and all below, in ModeSearch
	// [N, DrawStride] number of the draw that each row of a slot makes, 0 .. 2^52 - 1; nil: 0 .. M-1. In Sample [N], nil:
	// 0. Not in ModeStochastic.
	Draws      []int64
	DrawStride int       // elements; 0: M (1 in Sample)
	TopKs      []int32   // [N] of the model's row, before the mask; 0, nil: none. Not in ModeStochastic
	TopPs      []float32 // [N] above 0, at most 1, which is none; nil: none. Not in ModeStochastic
	// [N] what the noise is multiplied by, at least 0; nil: 1. 0 is the search under NormalizeValid. Only in
	// ModeStochastic.
	NoiseScales []float32
}

// Sample is what ConstraintSet.Sample reads and fills.
type Sample struct {
	Which               []int32 // [N]; nil: all follow the first constraint
	States              []int64 // [N]
	Logits              Rows    // [N, Columns], Slots 0
	Normalization       Normalization
	InverseTemperatures []float32 // [N]; nil, 0: 1
	Sampling            Sampling
	Codes               []int32   // out [N]; V_l is the end, -1 dead
	LogProbs            []float32 // out [N] log P of the code; -inf dead, NaN a bad row; nil: not asked for
	LogMasses           []float32 // out [N] log of the valid mass; -inf dead; nil: not asked for
	Next                []int64   // out [N]; nil: not asked for. May be States itself
	Stream              uintptr
}

// Sample draws one code for each logits row, as a session of ModeSample does for the level of the row's state: the same
// code from the same row, seed, request and draw.
func (s *ConstraintSet) Sample(args Sample) error {
	rows := &args.Logits
	memory, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	how := &args.Sampling
	if how.NoiseScales != nil || how.DrawStride > 1 || how.DrawStride < 0 {
		return invalid("NoiseScales or DrawStride is given, expected neither in Sample, which makes one draw a row")
	}
	f := newFailure()
	native.Flat_constraint_set_sample(rawOf(s), args.Which, args.States, memory, elements, int(dtype),
		int(rows.Device.Type), saturate(rows.Device.ID), int64(rows.Rows), int64(rows.Columns), int64(rows.RowStride),
		int(args.Normalization), args.InverseTemperatures, how.Seeds, how.Requests, how.Draws, how.TopKs, how.TopPs,
		args.Codes, args.LogProbs, args.LogMasses, args.Next, int64(args.Stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// DiscConfig is what a [Disc] is made from. Only Rounds is needed.
type DiscConfig struct {
	Runtime *Runtime // nil: the process's
	Results int      // n: independent results of the request, 1 .. 2^20; 0: 1
	Rounds  int      // K, 1 .. 2^10: draws that are accepted or rejected before K fresh ones are resampled
	// Results are different SIDs: one that repeats an earlier result is drawn again, at most Attempts times (0: 1000),
	// and is dead then.
	WithoutReplacement bool
	Attempts           int
	SideBySide         int   // draws of a result that Next hands out at a time, 1 .. 2K; 0: 1
	Seed, Request      int64 // those of the draws
}

// Disc samples SIDs of one request exactly by the model's law restricted to items (DISC-PPV, Algorithm 1). It says
// which draws to run, and what becomes of them: Next, run them in a slot of a ModeSample session with the same seed and
// request, Add, Next, ... until Next gives none, then Results. One goroutine at a time, except Close.
//
// The session's normalization is NormalizeFull or NormalizeLevel, or NormalizeNone if rows are log-probabilities. With
// NormalizeValid every log-mass is 0, so that every draw would be accepted, and nothing corrected.
type Disc struct {
	handle  *handle
	results int
}

// NewDisc makes one. Errors: InvalidArgument, OutOfMemory.
func NewDisc(config DiscConfig) (*Disc, error) {
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_disc_create(runtime, saturate(config.Results), saturate(config.Rounds),
			flag(config.WithoutReplacement), saturate(config.Attempts), saturate(config.SideBySide), config.Seed,
			config.Request, f.bytes())
	}); err != nil {
		return nil, err
	}
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Disc{newHandle(box), orOne(config.Results)}, nil
}

// Close gives it back, after the running call. Closing again does nothing.
func (d *Disc) Close() error { return closeOf(d) }

// Next writes the numbers of the next draws to run into draws, and gives the part that it has written. Empty: every
// result is decided, or all draws that are wanted have been handed out and not all of them added yet.
func (d *Disc) Next(draws []int64) ([]int64, error) {
	f := newFailure()
	count := native.Flat_disc_next(rawOf(d), draws, f.bytes())
	runtime.KeepAlive(d)
	return draws[:count], f.done()
}

// DiscDraws says what became of draws, N of them.
type DiscDraws struct {
	Draws     []int64   // [N] their numbers, in any order
	Ordinals  []int64   // [N] Items.Ordinals; -1: the draw is dead
	LogProbs  []float32 // [N] Beams.Scores
	LogMasses []float32 // [N] Beams.LogMasses
}

// Add takes draws that Next handed out. Errors: InvalidArgument (a draw that was not handed out, or was added before;
// an ordinal below -1; a log-mass above 0.001, which rounding does not reach, or NaN), then nothing is added.
func (d *Disc) Add(draws DiscDraws) error {
	f := newFailure()
	native.Flat_disc_add(rawOf(d), int64(len(draws.Draws)), draws.Draws, draws.Ordinals, draws.LogProbs,
		draws.LogMasses, f.bytes())
	runtime.KeepAlive(d)
	return f.done()
}

// DiscResults are the samples, [n] each.
type DiscResults struct {
	Ordinals  []int64   // -1: dead
	Draws     []int64   // number of the draw that became the result; -1: dead
	Accepted  []int32   // 1: accepted; 0: resampled, or dead
	DrawsUsed []int64   // draws that decided it, as the paper counts them
	RowsRun   []int64   // draws that were added for it, needed or not
	LogProbs  []float32 // log P of the SID; -inf: dead
	LogMasses []float32 // log x
}

// Results gives the samples. Errors: BadState while one is not decided.
func (d *Disc) Results() (*DiscResults, error) {
	if err := made("disc", d); err != nil {
		return nil, err
	}
	n := d.results
	out := &DiscResults{make([]int64, n), make([]int64, n), make([]int32, n), make([]int64, n), make([]int64, n),
		make([]float32, n), make([]float32, n)}
	f := newFailure()
	native.Flat_disc_get(rawOf(d), out.Ordinals, out.Draws, out.Accepted, out.DrawsUsed, out.RowsRun,
		out.LogProbs, out.LogMasses, f.bytes())
	runtime.KeepAlive(d)
	if err := f.done(); err != nil {
		return nil, err
	}
	return out, nil
}
