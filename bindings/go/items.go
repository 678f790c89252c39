// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Items are buffers for what beams stand for, N slots of them; what is nil is not asked for. A beam has an ordinal once its
// SID is complete and in the index. Without Rows, Offsets and Truncated tell what they would be.
type Items struct {
	LimitPerSID int     // most item rows of one SID; 0: all
	Limit       int     // capacity of Rows a slot
	Ordinals    []int64 // [N, M]; -1 none
	SIDs        []int32 // [N, M, L] codes so far, -1 beyond the length
	Lengths     []int32 // [N, M] codes so far; 0 dead
	Rows        []int64 // [N, Limit] item rows by beam, then priority
	Offsets     []int64 // [N, M+1] beam m has Rows[Offsets[m] .. Offsets[m+1]) of its slot; needed with Rows
	Truncated   []int32 // [N] 1 where a limit left item rows out

	beams int
}

// NewItems makes all the buffers for a number of slots, with room for limit item rows a slot.
func (s *Session) NewItems(slots, limit int) *Items {
	beams := slots * s.beams
	return &Items{
		Limit:     limit,
		Ordinals:  make([]int64, beams),
		SIDs:      make([]int32, beams*s.levels),
		Lengths:   make([]int32, beams),
		Rows:      make([]int64, slots*limit),
		Offsets:   make([]int64, beams+slots),
		Truncated: make([]int32, slots),
		beams:     s.beams,
	}
}

// RowsOf gives the item rows of beam m of the i-th slot asked for: a part of Rows.
func (t *Items) RowsOf(i, m int) []int64 {
	offsets := t.Offsets[i*(t.beams+1):][:t.beams+1]
	return t.Rows[i*t.Limit:][offsets[m]:offsets[m+1]]
}

// Items fills buffers for slots (nil: all) of a CPU session, at any level. An idle slot has only dead beams.
// Errors: InvalidArgument (a slot out of range, a buffer too short).
func (s *Session) Items(slots []int32, items *Items) error { return s.ItemsOn(slots, items, 0) }

// ItemsOn is Items on a CUDA stream (cudaStream_t), with buffers on the device: see DeviceSlice.
func (s *Session) ItemsOn(slots []int32, items *Items, stream uintptr) error {
	count := len(slots)
	if slots == nil {
		count = s.slots
	}
	items.beams = s.beams
	f := newFailure()
	native.Flat_session_get_items(s.handle.raw(), slots, int64(count), saturate(items.LimitPerSID), int64(items.Limit),
		items.Ordinals, items.SIDs, items.Lengths, items.Rows, items.Offsets, items.Truncated, int64(stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Stats is counted since a session's creation. Rows read, skipped and bad, Candidates, Shrinks and SplitSlots depend on
// the number of threads and their pace.
type Stats struct {
	Steps, SlotSteps                                   int64 // calls of step; slots stepped
	RowsRead, RowsSkipped, RowsBad                     int64
	Candidates                                         int64 // codes considered
	DeadBeams                                          int64 // beams that a step could not fill
	Shrinks                                            int64 // times that the selection's workspace was cut back
	ListRows, DenseRows, UnconstrainedRows, ProbedRows int64 // rows by how their children were found
	SingleRows                                         int64 // rows of beams with one child; not among ListRows
	SplitSlots                                         int64 // slots whose rows were divided among threads
	MemoryBytes                                        int64 // memory that the session holds
}

// Stats gives the session's counters.
func (s *Session) Stats() (Stats, error) {
	numbers := make([]int64, native.FLAT_STATS_COUNT)
	f := newFailure()
	native.Flat_session_get_stats(s.handle.raw(), numbers, f.bytes())
	runtime.KeepAlive(s)
	if err := f.done(); err != nil {
		return Stats{}, err
	}
	return Stats{
		Steps:             numbers[native.FLAT_STATS_STEPS],
		SlotSteps:         numbers[native.FLAT_STATS_SLOT_STEPS],
		RowsRead:          numbers[native.FLAT_STATS_ROWS_READ],
		RowsSkipped:       numbers[native.FLAT_STATS_ROWS_SKIPPED],
		RowsBad:           numbers[native.FLAT_STATS_ROWS_BAD],
		Candidates:        numbers[native.FLAT_STATS_CANDIDATES],
		DeadBeams:         numbers[native.FLAT_STATS_DEAD_BEAMS],
		Shrinks:           numbers[native.FLAT_STATS_SHRINKS],
		ListRows:          numbers[native.FLAT_STATS_LIST_ROWS],
		DenseRows:         numbers[native.FLAT_STATS_DENSE_ROWS],
		UnconstrainedRows: numbers[native.FLAT_STATS_UNCONSTRAINED_ROWS],
		ProbedRows:        numbers[native.FLAT_STATS_PROBED_ROWS],
		SingleRows:        numbers[native.FLAT_STATS_SINGLE_ROWS],
		SplitSlots:        numbers[native.FLAT_STATS_SPLIT_SLOTS],
		MemoryBytes:       numbers[native.FLAT_STATS_MEMORY_BYTES],
	}, nil
}
