// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// SessionConfig is what a [Session] is made from.
type SessionConfig struct {
	Runtime       *Runtime    // nil: the process's
	Constraint    Constrainer // an *Index or a *Constraint, for slots that name none; the session has its levels, L
	Slots         int         // S: requests at a time, 1 .. 2^20; 0: 1
	Beams         int         // M: beams of a request, 1 .. MaxBeams; 0: 1
	Strategy      Strategy
	Normalization Normalization
	TopK          int         // codes per beam that SortedTopK and HashFinal look up; 0: M
	Vocabulary    *Vocabulary // copied; nil: code t is column t at every level
	Device        Device      // sections that the strategy needs are uploaded if they are not there yet
	// NormalizeNone rows, or element - LSE, never exceed 0: logits rows that cannot matter are skipped
	LogProbsPromised bool
	Mode             Mode // what the beams are
	// On CUDA the most item rows that the rules of a slot may list, excluded or allowed; 0: 4096
	MaxListed int64
}

// Session decodes: slots x beams, one level per step. A slot is a request, with its own level. Creation takes all
// memory: a step never allocates, in C or in Go, and never copies logits. One goroutine at a time, except Close.
//
// A step keeps the best min(width, candidates) of every slot, in the order score falling, parent rising, code rising,
// the same bits whatever the batch, the threads or the instruction set. Beams left over are dead: parent -1, code -1,
// score -inf, state -1. sidbeam/session.h says what -inf, NaN, ends of SIDs and CUDA mean.
type Session struct {
	handle *handle
	slots  int
	beams  int
	levels int
	device Device
}

// NewSession makes a session and all its memory. Errors: InvalidArgument, MissingSection (the strategy needs a kind
// that the index was built without), Unsupported, NoDevice, OutOfMemory, and those of Upload.
func NewSession(config SessionConfig) (*Session, error) {
	var constraint *Constraint
	if config.Constraint != nil {
		var err error
		if constraint, err = config.Constraint.constraint(); err != nil {
			return nil, err
		}
	}
	offsets, maps, mapCodes, end := config.Vocabulary.flat()
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		var follow uintptr
		if constraint != nil {
			follow = rawOf(constraint)
		}
		box = native.Flat_session_create(runtime, follow, orOne(config.Slots), orOne(config.Beams), int(config.Strategy),
			int(config.Normalization), saturate(config.TopK), offsets, maps, mapCodes, end, int(config.Device.Type),
			saturate(config.Device.ID), flag(config.LogProbsPromised), int(config.Mode), config.MaxListed, f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(constraint)
	if err := f.done(); err != nil {
		return nil, err
	}
	session := &Session{handle: newHandle(box), device: config.Device}
	numbers, err := session.where()
	if err != nil {
		return nil, err
	}
	session.slots = int(numbers[native.FLAT_BEAMS_SLOTS])
	session.beams = int(numbers[native.FLAT_BEAMS_BEAMS])
	session.levels = int(numbers[native.FLAT_BEAMS_LEVELS])
	return session, nil
}

func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return saturate(n)
}

// Close gives the session back. Its memory goes after the running call and the last view. Closing again does nothing.
func (s *Session) Close() error { return closeOf(s) }

// Shape gives S, the number of requests at a time, M, of beams of a request, and L, of codes of the longest SID.
func (s *Session) Shape() (slots, beams, levels int) {
	if s == nil {
		return 0, 0, 0
	}
	return s.slots, s.beams, s.levels
}

// StartArgs says which slots start, and how. The zero value starts all of them at the beginning.
type StartArgs struct {
	Slots       []int32       // [N] different slots; running ones are restarted. nil: all S
	Constraints []Constrainer // [N] of at most L levels; an entry, or all of it, may be nil: the session's
	Widths      []int32       // [N] 1 .. M, or 0 for M; nil: M
	// W, 1 .. L: Widths is [N, W], and level l keeps at most the l-th of a slot's, or the last; 0: one per slot. Not in
	// ModeSample; in ModeStochastic widths must not rise.
	WidthLevels int
	Prefixes    [][]int32 // [N] codes that are already decided, 0 .. L of them; nil: none
	// [N] for the slots' steps, unless a step brings its own; nil: 0, which means 1 and none.
	InverseTemperatures, SoftCaps []float32
	Sampling                      Sampling // in the modes that sample
	Stream                        uintptr  // cudaStream_t; not read on the CPU
}

// Start starts slots at their prefix: one live beam of score 0, parent and code -1, or none where no SID has the
// prefix. Errors: InvalidArgument (slot out of range or repeated, width, prefix code, sampling), MissingSection,
// Unsupported, OutOfMemory, BadState, DeviceError; then no slot has changed.
func (s *Session) Start(args StartArgs) error {
	if err := made("session", s); err != nil {
		return err
	}
	count := s.slots
	if args.Slots != nil {
		count = len(args.Slots)
	}
	constraints, alive, err := boxes(args.Constraints)
	if err != nil {
		return err
	}
	if args.Prefixes != nil && len(args.Prefixes) != count {
		return invalid("Prefixes has %d elements, expected %d, one per slot", len(args.Prefixes), count)
	}
	var prefixes, lengths []int32
	stride := 0
	if args.Prefixes != nil {
		prefixes, lengths, stride = rectangle(args.Prefixes)
	}
	f := newFailure()
	native.Flat_session_start(rawOf(s), args.Slots, int64(count), constraints, args.Widths,
		saturate(args.WidthLevels), prefixes, lengths, int64(stride), args.InverseTemperatures, args.SoftCaps,
		int64(args.Stream), args.Sampling.Seeds, args.Sampling.Requests, args.Sampling.Draws,
		int64(args.Sampling.DrawStride), args.Sampling.TopKs, args.Sampling.TopPs, args.Sampling.NoiseScales, f.bytes())
	runtime.KeepAlive(s)
	runtime.KeepAlive(alive)
	return f.done()
}

// StepArgs are the logits of a level. Only Rows is needed.
type StepArgs struct {
	// [N] different slots that are started and not done. nil: all S, except those that are idle or done; if none is left,
	// the step fails with BadState.
	Slots  []int32
	Rows   Rows      // Rows.Slots is N (S without Slots), or 0 with a RowMap
	RowMap []int32   // [N, M] logits row of each beam, -1 for beams that are not fed; only with Rows.Slots = 0
	LSE    []float32 // log-sum-exp of every logits row: [Rows.Slots, Rows.Rows] or [Rows.Rows]; nil: computed
	// x = InverseTemperature * softcap(element), softcap(v) = SoftCap * tanh(v / SoftCap). 0: the slot's (StartArgs),
	// where 0 in turn means 1, or none. A SoftCap of +Inf is none, whatever the slot has.
	InverseTemperature, SoftCap float32
	// [N] the same per slot; nil: the scalars, which must be 0 where there are slices.
	InverseTemperatures, SoftCaps []float32
	Stream                        uintptr // cudaStream_t; not read on the CPU
}

// Step advances slots by one level. Errors: InvalidArgument (slots, rows, row map, lse, temperature: the message says
// which, what was expected and what came), BadState (a slot that is idle or done or, if no slots are named, no slot
// that is left to step), NoDevice, DeviceError; then no slot has changed. A logits row with NaN or +inf is no error of
// the call: Beams.Errors flags the slot.
func (s *Session) Step(args StepArgs) error {
	rows := &args.Rows
	logits, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_session_step(rawOf(s), args.Slots, logits, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Slots), int64(rows.Rows), int64(rows.Columns), int64(rows.SlotStride),
		int64(rows.RowStride), args.RowMap, args.LSE, args.InverseTemperature, args.SoftCap,
		args.InverseTemperatures, args.SoftCaps, int64(args.Stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Stop makes slots idle and releases their constraints; nil: all. Stopping an idle slot does nothing. stream is a
// cudaStream_t, 0 on the CPU. Errors: InvalidArgument (a slot out of range or named twice).
func (s *Session) Stop(slots []int32, stream uintptr) error {
	if err := made("session", s); err != nil {
		return err
	}
	count := len(slots)
	if slots == nil {
		count = s.slots
	}
	f := newFailure()
	native.Flat_session_stop(rawOf(s), slots, int64(count), int64(stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}
