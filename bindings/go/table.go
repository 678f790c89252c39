// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// TableConfig is what a [Table] is made from.
type TableConfig struct {
	Runtime     *Runtime      // nil: the process's
	Constraints []Constrainer // held; their indexes need KindTrie
	Vocabulary  *Vocabulary   // copied; nil: code t is column t at every level
	Device      Device        // indexes are uploaded where they are not
}

// Table is for engines that own the beam loop and keep a state a sequence: its calls hold nothing between them, and many
// goroutines may make them at once. A row follows the constraint which[i] of the table (nil: the first), so that one
// batch mixes catalogues. A state is -1 dead, 0 the beginning. On CUDA all arrays are on the device (see DeviceSlice) and
// work is enqueued on the stream, a cudaStream_t, which the CPU does not read.
type Table struct{ handle *handle }

// NewTable makes a table. Errors: InvalidArgument, MissingSection, NoDevice, OutOfMemory, and those of Upload.
func NewTable(config TableConfig) (*Table, error) {
	constraints, alive, err := boxes(config.Constraints)
	if err != nil {
		return nil, err
	}
	offsets, maps, mapCodes, end := config.Vocabulary.flat()
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_table_create(runtime, constraints, offsets, maps, mapCodes, end, int(config.Device.Type),
			saturate(config.Device.ID), f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(alive)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Table{newHandle(box)}, nil
}

// Close gives the table back, after the calls that run. Again does nothing.
func (t *Table) Close() error { return t.handle.close() }

// Prefixes gives the state of each of N prefixes: which [N], codes [N, stride], lengths [N], 0 for the beginning; out
// [N, W]. A prefix that no SID has, or with a code out of range, gives -1. Errors of all calls: InvalidArgument,
// MissingSection, NoDevice, DeviceError; then nothing has been written.
func (t *Table) Prefixes(which, codes []int32, stride int, lengths []int32, out []int64, stream uintptr) error {
	f := newFailure()
	native.Flat_table_prefixes(t.handle.raw(), which, codes, int64(stride), lengths, int64(len(lengths)), out,
		int64(stream), f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}

// Advance gives out[i], the state after token tokens[i] in states[parents[i]] (nil: states[i]): which, parents, tokens
// [N], out [N, W]. -1 where the token may not follow or the parent is out of range; token -1 keeps an ended state.
func (t *Table) Advance(which []int32, states, parents []int64, tokens []int32, out []int64, stream uintptr) error {
	f := newFailure()
	native.Flat_table_advance(t.handle.raw(), which, states, parents, tokens, int64(len(tokens)), out, int64(stream),
		f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}

// Mask sets to -inf every column of row i (of logits [Rows, Columns], Slots 0) that is not a valid code of states[i], in
// place.
func (t *Table) Mask(which []int32, states []int64, logits Rows, stream uintptr) error {
	memory, elements, dtype, err := logits.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_table_mask(t.handle.raw(), which, states, memory, elements, int(dtype), int(logits.Device.Type),
		saturate(logits.Device.ID), int64(logits.Rows), int64(logits.Columns), int64(logits.RowStride), int64(stream),
		f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}

// Bitmask says the same as bits: column c of row i is bit c % 32 of words[i*wordsPerRow + c/32], 1 where valid. words
// [N, wordsPerRow], N as many as states; 32*wordsPerRow covers the columns of every level of every constraint.
func (t *Table) Bitmask(which []int32, states []int64, words []uint32, wordsPerRow int, stream uintptr) error {
	f := newFailure()
	native.Flat_table_bitmask(t.handle.raw(), which, states, int64(len(states)), reinterpret[int32](words),
		int64(wordsPerRow), int64(stream), f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}

// TopK is what Table.TopK reads and fills.
type TopK struct {
	Which         []int32 // [N]; nil: all follow the first constraint
	States        []int64 // [N, W]
	Logits        Rows    // [N, Columns], Slots 0
	Normalization Normalization
	K             int       // 1 .. MaxCodes
	Tokens        []int32   // out [N, K]; -1 in places left over
	LogProbs      []float32 // out [N, K]; -inf in places left over, NaN in the first of a bad row
	Next          []int64   // out [N, K, W]; nil: not asked for
	Stream        uintptr
}

// TopK gives the K best valid codes of each row, log-probability falling, then token rising, and the states after them.
func (t *Table) TopK(args TopK) error {
	rows := &args.Logits
	memory, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_table_topk(t.handle.raw(), args.Which, args.States, memory, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Rows), int64(rows.Columns), int64(rows.RowStride), int(args.Normalization),
		saturate(args.K), args.Tokens, args.LogProbs, args.Next, int64(args.Stream), f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}
