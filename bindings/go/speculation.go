// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// SpeculationConfig is what a [Speculation] is made from. Target, Draft and DraftLevels are needed.
type SpeculationConfig struct {
	Runtime *Runtime // nil: the process's
	// Both on one device, in ModeSearch or ModeStochastic, with the same slots, levels, strategy and mode; the draft has
	// at least as many beams. Columns, normalization and temperatures may differ.
	Target, Draft *Session
	DraftLevels   int // most levels that are drafted in a round, 1 .. MaxLevels; the last level never is
	// cudaStream_t of Begin, Add and Verify, which wait for it; borrowed until Close, and not read on the CPU. What else
	// is enqueued for the sessions must be ordered with it.
	Stream uintptr
}

// Speculation is strict speculation: beam search by a draft model and a target model (AtSpeed). The draft writes
// several levels; one call of the target then checks them all. The target's beams have the bits that plain search gives
// with the target alone, and in ModeStochastic those of its own draw, whatever the draft says.
//
//	start both sessions' slots with the same constraints, then
//	Begin -> [ Tree -> the draft's model -> StepDraft ] while tree.DraftSlots is not empty
//	      -> the target's model on the nodes -> Verify -> Begin ... until Begin gives 0
//
// It and its sessions are used by one goroutine at a time, except Close, which leaves the sessions as they are. It
// keeps the memory of sessions that are closed before it, and then refuses to go on.
//
// On CUDA the tree is on the host all the same, while the logits and their sums are on the device. Instead of StepDraft
// step the draft session with copies of DraftSlots and DraftNodes there, on the speculation's stream, and call Add.
type Speculation struct {
	handle        *handle
	target, draft *Session
}

// NewSpeculation makes a speculation and all its memory. Errors: InvalidArgument (sessions that do not fit each other:
// the message says in what), BadState (closed), OutOfMemory, on CUDA DeviceError.
func NewSpeculation(config SpeculationConfig) (*Speculation, error) {
	if config.Target == nil || config.Draft == nil {
		return nil, invalid("Target or Draft is nil, expected both")
	}
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_speculation_create(runtime, rawOf(config.Target), rawOf(config.Draft),
			saturate(config.DraftLevels), int64(config.Stream), f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(config)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Speculation{newHandle(box), config.Target, config.Draft}, nil
}

// Close gives it back, after the running call and the last view. Closing again does nothing.
func (s *Speculation) Close() error { return closeOf(s) }

// Begin begins a round of slots (nil: all) that are started, passing over those that are done, and gives how many are
// in it; 0: all are done. The draft's slots take over the target's beams. A round that was not verified is forgotten.
// Errors: InvalidArgument (slots; a draft's slot under another constraint, or of less width than the target has beams),
// BadState (a slot that is not started, or that others have stepped between rounds); then no slot has changed.
func (s *Speculation) Begin(slots []int32) (int, error) {
	f := newFailure()
	active := native.Flat_speculation_begin(rawOf(s), slots, int64(len(slots)), f.bytes())
	runtime.KeepAlive(s)
	return int(active), f.done()
}

// SpeculationTree is the nodes of a round, slot by slot: views whose contents hold until the next call of the
// speculation. A root is a beam of the target that must be fed, every other node a beam of the draft; a prefix is one
// node, which all that continue it share. Node n writes its keys and values at Places[n] of the unshared KV; a place is
// used once per request. A slot that was just started has one root, of code -1: its logits row is that of the prompt's
// last position, and it has no keys, values and ancestors.
type SpeculationTree struct {
	Depth       int         // D: entries of a list of ancestors
	Nodes       int         // rows that the target's model is run for
	PlaceStride int         // places that a slot may use during a request
	Slots       View[int32] // [count] of the round, rising
	NodeOffsets View[int64] // [count + 1] the i-th slot has the nodes NodeOffsets[i] .. NodeOffsets[i+1] - 1
	Tokens      View[int64] // [Nodes] column of the node's last code in the target's vocabulary; -1 as above
	Codes       View[int32] // [Nodes] last code; -1 likewise
	Positions   View[int32] // [Nodes] codes before the last one, those of the slot's start included; -1 likewise
	Parents     View[int32] // [Nodes] node; -1: a root
	Places      View[int32] // [Nodes] slot * PlaceStride + ...; -1 likewise
	Ancestors   View[int32] // [Nodes, D] places of the codes on the way, the node's own last, then -1
	DraftSlots  View[int32] // [n] of the draft to step next; empty: the tree is complete
	DraftNodes  View[int32] // [n, N] node of each beam of the draft; -1: dead or ended
}

// Tree gives the round's nodes as they are now; ask again after Begin and StepDraft.
func (s *Speculation) Tree() (*SpeculationTree, error) {
	numbers := make([]int64, native.FLAT_TREE_COUNT)
	f := newFailure()
	native.Flat_speculation_get_tree(rawOf(s), numbers, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	owner, err := newViewOwner(handleOf(s))
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	at := func(place int) int { return int(numbers[place]) }
	count, nodes := at(native.FLAT_TREE_SLOT_COUNT), at(native.FLAT_TREE_NODES)
	depth, drafts := at(native.FLAT_TREE_DEPTH), at(native.FLAT_TREE_DRAFT_COUNT)
	return &SpeculationTree{
		Depth:       depth,
		Nodes:       nodes,
		PlaceStride: at(native.FLAT_TREE_PLACE_STRIDE),
		Slots:       view[int32](owner, numbers, native.FLAT_TREE_SLOTS, count),
		NodeOffsets: view[int64](owner, numbers, native.FLAT_TREE_NODE_OFFSETS, count+1),
		Tokens:      view[int64](owner, numbers, native.FLAT_TREE_TOKENS, nodes),
		Codes:       view[int32](owner, numbers, native.FLAT_TREE_CODES, nodes),
		Positions:   view[int32](owner, numbers, native.FLAT_TREE_POSITIONS, nodes),
		Parents:     view[int32](owner, numbers, native.FLAT_TREE_PARENTS, nodes),
		Places:      view[int32](owner, numbers, native.FLAT_TREE_PLACES, nodes),
		Ancestors:   view[int32](owner, numbers, native.FLAT_TREE_ANCESTORS, nodes*depth),
		DraftSlots:  view[int32](owner, numbers, native.FLAT_TREE_DRAFT_SLOTS, drafts),
		DraftNodes:  view[int32](owner, numbers, native.FLAT_TREE_DRAFT_NODES, drafts*s.draft.beams),
	}, nil
}

// StepDraft steps the draft's slots that the tree names, and adds their beams to it. rows are the draft's logits,
// [nodes, columns] with Slots 0, of which the rows of DraftNodes are read, or [n, N, columns], a row per entry of
// DraftNodes. Errors: those of [Session.Step] and Add, Unsupported (on CUDA).
func (s *Speculation) StepDraft(tree *SpeculationTree, rows Rows) error {
	if err := made("speculation", s); err != nil {
		return err
	}
	if tree == nil {
		return invalid("tree is nil, expected that of Tree")
	}
	if s.draft.device.Type != CPU {
		return &Error{Code: Unsupported, Message: "the sessions are on a device, expected Step of the draft and Add"}
	}
	args := StepArgs{Slots: tree.DraftSlots.data, Rows: rows}
	if rows.Slots == 0 {
		args.RowMap = tree.DraftNodes.data
	}
	if err := s.draft.Step(args); err != nil {
		return err
	}
	runtime.KeepAlive(tree)
	return s.Add()
}

// Add adds the beams of the draft's slots that were stepped since, by others than StepDraft. Slots that were not are
// drafted no further. Errors: BadState (no round, or a slot that is not where one step leads).
func (s *Speculation) Add() error {
	f := newFailure()
	native.Flat_speculation_add(rawOf(s), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Mask fills the tree's dense mask: mask[n*columns + p] is 1 where node n attends to place p of its slot (counted from
// 0 in every slot), else 0. columns is at least PlaceStride. Errors: InvalidArgument.
func (s *Speculation) Mask(mask []byte, columns int) error {
	f := newFailure()
	native.Flat_speculation_get_mask(rawOf(s), mask, int64(columns), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Verify steps the target's slots on the rows of the nodes, [Nodes, columns] with Slots 0, and ends the round. lse
// [Nodes] is as StepArgs.LSE; nil: computed. Errors: those of [Session.Step], InvalidArgument (rows for another number
// of nodes), BadState (no round). Where the first step fails, no slot has changed and the round goes on; after a later
// one the round has ended, and slots are where the steps before have brought them.
func (s *Speculation) Verify(rows Rows, lse []float32) error {
	logits, elements, dtype, err := rows.memory()
	if err != nil {
		return err
	}
	f := newFailure()
	native.Flat_speculation_verify(rawOf(s), logits, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Slots), int64(rows.Rows), int64(rows.Columns), int64(rows.SlotStride),
		int64(rows.RowStride), lse, f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// SpeculationStats is counted since a Speculation was made, over all slots. Plain search would have called the target
// Levels times.
type SpeculationStats struct {
	Rounds         int64 // of single slots: their calls of the target's model
	Levels         int64 // that the target's slots advanced
	DraftedLevels  int64 // that became part of a tree
	AcceptedLevels int64 // of these, whose beams held all of the target's that must be fed
	Nodes          int64 // logits rows of the target
}

// Stats gives the current counts.
func (s *Speculation) Stats() (*SpeculationStats, error) {
	numbers := make([]int64, native.FLAT_SPECULATION_STATS_COUNT)
	f := newFailure()
	native.Flat_speculation_get_stats(rawOf(s), numbers, f.bytes())
	runtime.KeepAlive(s)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &SpeculationStats{
		Rounds:         numbers[native.FLAT_SPECULATION_STATS_ROUNDS],
		Levels:         numbers[native.FLAT_SPECULATION_STATS_LEVELS],
		DraftedLevels:  numbers[native.FLAT_SPECULATION_STATS_DRAFTED_LEVELS],
		AcceptedLevels: numbers[native.FLAT_SPECULATION_STATS_ACCEPTED_LEVELS],
		Nodes:          numbers[native.FLAT_SPECULATION_STATS_NODES],
	}, nil
}
