// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// HiddenPath says how a [HiddenStep], or a [Runner], computes logits. It changes no result, on CUDA except for the
// rounding of sums. There the fastest is the children's wherever a step reads them alone: name HiddenProduct for levels
// where beams have about as many as there are columns.
type HiddenPath int32

// Paths of a step from hidden states.
const (
	HiddenFastest  HiddenPath = iota // what is expected to be faster, by the layer's measured costs
	HiddenChildren                   // the children's alone; fails where a step reads more
	HiddenProduct                    // all columns
)

// String is the path's name.
func (p HiddenPath) String() string { return name(int32(p), "fastest", "children", "product") }

// OutputLayerConfig is what an [OutputLayer] is made from. Only Weights is needed.
type OutputLayerConfig struct {
	// [Rows, Columns] with Slots 0: Rows is the number of columns of a logits row, Columns the elements of a hidden
	// state, and row c has the inputs of column c. Copied, unless InPlace. On a device (Weights.Device), where each row
	// is aligned to 16 bytes, they and Bias are never copied, and stay until the layer and all steps with it are closed.
	Weights Rows
	Bias    []float32 // [Weights.Rows], copied, or on the device; nil: none
	SoftCap float32   // of the logits, as in StepArgs; 0: none
	// Promises that the weights are not in Go's memory (a mapped file, C) and stay as they are until the layer and all
	// steps with it are closed: they are then read in place.
	InPlace bool
}

// OutputLayer is the weights that turn hidden states into logits, for [NewHiddenStep]. Immutable, to be shared by any
// number of steps and goroutines. A step holds its layer, which may be closed before it.
type OutputLayer struct{ handle *handle }

// NewOutputLayer makes a layer, and on the CPU measures what products cost, for about a millisecond. Errors:
// InvalidArgument, Unsupported (no libsidbeam_runner.so.1), NoDevice, OutOfMemory.
func NewOutputLayer(config OutputLayerConfig) (*OutputLayer, error) {
	rows := &config.Weights
	memory, elements, dtype, err := rows.memory()
	if err = firstError(checkABI(), err); err != nil {
		return nil, err
	}
	if rows.Slots != 0 {
		return nil, invalid("Weights.Slots is %d, expected 0: [columns, width]", rows.Slots)
	}
	if config.Bias != nil && len(config.Bias) != rows.Rows {
		return nil, invalid("Bias has %d elements, expected %d", len(config.Bias), rows.Rows)
	}
	f := newFailure()
	box := native.Flat_output_layer_create(memory, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Rows), int64(rows.Columns), int64(rows.RowStride), config.Bias,
		config.SoftCap, flag(!config.InPlace), f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	return &OutputLayer{newHandle(box)}, nil
}

// Close gives the layer back; steps with it go on. Closing again does nothing.
func (o *OutputLayer) Close() error { return closeOf(o) }

// HiddenStepConfig is what a [HiddenStep] is made from. Session and Layer are needed.
type HiddenStepConfig struct {
	Session *Session
	Layer   *OutputLayer // of the columns that the session's vocabulary has, on the session's device
	Path    HiddenPath
	// Products of beam and child that are held at a time, 20 bytes each, on CUDA 4; 0: 2^22, or as many as there can be.
	Children int
}

// HiddenStep steps a session from hidden states, for engines that have their own model: instead of logits the beams'
// last hidden states are given, and once the weights of the output layer. Where a step reads the children's columns
// alone (NormalizeValid, or StepArgs.LSE), only their rows of weights are read.
//
// It has the memory of the session's steps and is used by the goroutine that uses the session, except Close, which
// leaves the session as it is. It keeps the memory of a session that is closed before it, which it then refuses to
// step. On CUDA it is closed when its work has ended.
type HiddenStep struct {
	handle  *handle
	session *Session
}

// NewHiddenStep takes all memory: about that of one slot's logits, on CUDA of all slots'. Errors: InvalidArgument,
// Unsupported (a session on another device than the layer), NoDevice, BadState (closed), OutOfMemory.
func NewHiddenStep(config HiddenStepConfig) (*HiddenStep, error) {
	if config.Session == nil || config.Layer == nil {
		return nil, invalid("Session or Layer is nil, expected both")
	}
	f := newFailure()
	box := native.Flat_hidden_create(rawOf(config.Session), rawOf(config.Layer), int(config.Path),
		int64(config.Children), f.bytes())
	runtime.KeepAlive(config.Session)
	runtime.KeepAlive(config.Layer)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &HiddenStep{newHandle(box), config.Session}, nil
}

// Close gives it back, after the running call. Closing again does nothing.
func (h *HiddenStep) Close() error { return closeOf(h) }

// Step advances slots of the session by one level; it allocates nothing. Everything in args means what it does in
// [Session.Step], with hidden states (F32, on CUDA any type) in the place of logits: Rows are [Slots, Rows, width], or
// [Rows, width] with a RowMap. The soft-cap is the layer's. Errors: those of Session.Step, InvalidArgument (hidden
// states of another width or type, a child without a row of weights), NoDevice (hidden states on another device),
// Unsupported (HiddenChildren where a step reads more); then no slot has changed, except as sidbeam/hidden.h says.
func (h *HiddenStep) Step(args StepArgs) error { return h.StepBy(args, HiddenFastest) }

// StepBy is Step by a path of its own; HiddenFastest: that of the object.
func (h *HiddenStep) StepBy(args StepArgs, path HiddenPath) error {
	rows := &args.Rows
	states, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	if args.SoftCap != 0 || args.SoftCaps != nil {
		return invalid("SoftCap is given, expected none: that of the output layer counts")
	}
	f := newFailure()
	native.Flat_hidden_step(rawOf(h), int(path), args.Slots, states, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Slots), int64(rows.Rows), int64(rows.Columns), int64(rows.SlotStride),
		int64(rows.RowStride), args.RowMap, args.LSE, args.InverseTemperature, args.InverseTemperatures,
		int64(args.Stream), f.bytes())
	runtime.KeepAlive(h)
	return f.done()
}

// HiddenStats is counted since a HiddenStep was made; sidbeam/hidden.h says what CUDA does not count.
type HiddenStats struct {
	Steps        int64 // calls
	ChildSlots   int64 // slots stepped by products of beam and child alone
	UnionSlots   int64 // by all products of their beams and the children of any of them
	ProductSlots int64 // by the products with all columns
	Products     int64 // inner products computed
	WeightRows   int64 // rows of weights read: distinct children, columns of a union, or all of a product
	WeightBytes  int64 // bytes of them
	MemoryBytes  int64
	BreakEven    float32 // measured cost of a product by itself, in those within a tile; 0 on CUDA
}

// Stats gives the current counts.
func (h *HiddenStep) Stats() (*HiddenStats, error) {
	numbers, breakEven := make([]int64, native.FLAT_HIDDEN_STATS_COUNT), make([]float32, 1)
	f := newFailure()
	native.Flat_hidden_get_stats(rawOf(h), numbers, breakEven, f.bytes())
	runtime.KeepAlive(h)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &HiddenStats{
		Steps:        numbers[native.FLAT_HIDDEN_STATS_STEPS],
		ChildSlots:   numbers[native.FLAT_HIDDEN_STATS_CHILD_SLOTS],
		UnionSlots:   numbers[native.FLAT_HIDDEN_STATS_UNION_SLOTS],
		ProductSlots: numbers[native.FLAT_HIDDEN_STATS_PRODUCT_SLOTS],
		Products:     numbers[native.FLAT_HIDDEN_STATS_PRODUCTS],
		WeightRows:   numbers[native.FLAT_HIDDEN_STATS_WEIGHT_ROWS],
		WeightBytes:  numbers[native.FLAT_HIDDEN_STATS_WEIGHT_BYTES],
		MemoryBytes:  numbers[native.FLAT_HIDDEN_STATS_MEMORY_BYTES],
		BreakEven:    breakEven[0],
	}, nil
}

// ChildColumns says which columns of its logits row the next step reads of each beam, of N slots with M beams: beam m
// of the i-th slot has Columns[Offsets[i*M+m]:Offsets[i*M+m+1]], in the order of codes, the end last.
type ChildColumns struct {
	Offsets []int64 // [N*M + 1]
	Columns []int32
}

// Children gives the columns that the next step of slots (nil: all) reads, for hosts that compute no others. Beams that
// are dead, ended, or of a slot that is idle or done have none. lseGiven: that step will bring StepArgs.LSE. Errors:
// InvalidArgument, Unsupported (a step that reads more: NormalizeFull or NormalizeLevel without LSE, a strategy other
// than StrategyTrie, a mode that samples, a session on CUDA).
func (s *Session) Children(slots []int32, lseGiven bool) (*ChildColumns, error) {
	if err := made("session", s); err != nil {
		return nil, err
	}
	count := s.slots
	if slots != nil {
		count = len(slots)
	}
	out := &ChildColumns{Offsets: make([]int64, count*s.beams+1)}
	for _, last := range [2]bool{false, true} {
		f := newFailure()
		found := native.Flat_session_children(rawOf(s), slots, int64(count), flag(lseGiven), out.Offsets,
			out.Columns, f.bytes())
		runtime.KeepAlive(s)
		if err := f.done(); err != nil {
			return nil, err
		}
		if !last {
			out.Columns = make([]int32, found)
		}
	}
	return out, nil
}
