// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// ConstraintSetConfig is what a [ConstraintSet] is made from.
type ConstraintSetConfig struct {
	Runtime     *Runtime      // nil: the process's
	Constraints []Constrainer // held; their indexes need KindTrie
	Vocabulary  *Vocabulary   // copied; nil: code t is column t at every level
	Device      Device        // indexes that are not there are uploaded
}

// ConstraintSet is for engines that own the beam loop and keep one state per sequence. Its calls keep nothing between
// them, and many goroutines may make them at once. An entry follows the constraint which[i] of the set (nil: the
// first), so that one batch mixes catalogues. A state is -1 dead, 0 the beginning. On CUDA all arrays are on the device
// (see DeviceSlice) and work is enqueued on the stream, a cudaStream_t, which the CPU does not read.
type ConstraintSet struct{ handle *handle }

// NewConstraintSet makes a set. Errors: InvalidArgument, MissingSection, NoDevice, OutOfMemory, and those of Upload.
func NewConstraintSet(config ConstraintSetConfig) (*ConstraintSet, error) {
	constraints, alive, err := boxes(config.Constraints)
	if err != nil {
		return nil, err
	}
	offsets, maps, mapCodes, end := config.Vocabulary.flat()
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_constraint_set_create(runtime, constraints, offsets, maps, mapCodes, end, int(config.Device.Type),
			saturate(config.Device.ID), f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(alive)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &ConstraintSet{newHandle(box)}, nil
}

// Close gives the set back, after the running calls. Closing again does nothing.
func (s *ConstraintSet) Close() error { return closeOf(s) }

// Prefixes gives the state of each of N prefixes: which [N], codes [N, stride] (stride 0: the most levels of any
// constraint; Broadcast: one prefix for all), lengths [N], 0 for the beginning; out [N]. A prefix that no SID has, or
// with a code out of range, gives -1. Errors of all calls: InvalidArgument, MissingSection, NoDevice, DeviceError; then
// nothing has been written.
func (s *ConstraintSet) Prefixes(which, codes []int32, stride int, lengths []int32, out []int64, stream uintptr) error {
	f := newFailure()
	native.Flat_constraint_set_prefixes(rawOf(s), which, codes, int64(stride), lengths, int64(len(lengths)), out,
		int64(stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Advance gives out[i], the state after code codes[i] in states[parents[i]] (nil: states[i]): which, parents, codes,
// out [N]. -1 where the code may not follow or the parent is out of range; code -1 keeps an ended state.
func (s *ConstraintSet) Advance(which []int32, states []int64, parents, codes []int32, out []int64,
	stream uintptr) error {
	f := newFailure()
	native.Flat_constraint_set_advance(rawOf(s), which, states, parents, codes, int64(len(codes)), out,
		int64(stream),
		f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Mask sets to -inf every column of logits row i (of logits [Rows, Columns], Slots 0) that is not a valid code of
// states[i], in place.
func (s *ConstraintSet) Mask(which []int32, states []int64, logits Rows, stream uintptr) error {
	memory, elements, dtype, err := logits.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_constraint_set_mask(rawOf(s), which, states, memory, elements, int(dtype), int(logits.Device.Type),
		saturate(logits.Device.ID), int64(logits.Rows), int64(logits.Columns), int64(logits.RowStride), int64(stream),
		f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Bitmask gives the same as bits: column c of entry i is bit c % 32 of words[i*wordsPerRow + c/32], 1 where valid.
// words [N, wordsPerRow], N as many as states; 32*wordsPerRow covers the columns of every level of every constraint.
func (s *ConstraintSet) Bitmask(which []int32, states []int64, wordsPerRow int, words []uint32, stream uintptr) error {
	f := newFailure()
	native.Flat_constraint_set_bitmask(rawOf(s), which, states, int64(len(states)), int64(wordsPerRow),
		reinterpret[int32](words), int64(stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// TopK is what ConstraintSet.TopK reads and fills.
type TopK struct {
	Which         []int32 // [N]; nil: all follow the first constraint
	States        []int64 // [N]
	Logits        Rows    // [N, Columns], Slots 0
	Normalization Normalization
	K             int       // 1 .. MaxCodes
	Codes         []int32   // out [N, K]; -1 in places left over
	LogProbs      []float32 // out [N, K]; -inf in places left over, NaN in the first of a bad row
	Next          []int64   // out [N, K]; nil: not asked for
	Stream        uintptr
}

// TopK gives the K best valid codes of each logits row, log-probability falling, then code rising, and the states after
// them.
func (s *ConstraintSet) TopK(args TopK) error {
	rows := &args.Logits
	memory, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_constraint_set_topk(rawOf(s), args.Which, args.States, memory, elements, int(dtype),
		int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Rows), int64(rows.Columns), int64(rows.RowStride), int(args.Normalization),
		saturate(args.K), args.Codes, args.LogProbs, args.Next, int64(args.Stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}
