// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Items are buffers for what beams stand for, N slots of them; a nil one is not filled. A beam has an ordinal once its
// SID is complete and in the index. Without ItemRows, Offsets and Truncated tell what they would be.
type Items struct {
	LimitPerSID int  // most item rows of one SID; 0: no limit
	Limit       int  // most item rows of a slot, and the stride of ItemRows; 0: no limit, only without ItemRows
	Distinct    bool // an item that several SIDs have is listed once, with the best of them; limits cut the rest
	// At most Cap item rows of a slot per value of the attribute CapBy of its index, best first: say 2 of a "brand".
	// Null is no value, and of a list each string counts. Rules are inside the search; this is after it, and makes room
	// for what comes later, so that a list may come short. 0 and "": no cap. On the CPU.
	Cap       int
	CapBy     string
	Ordinals  []int64 // [N, M]; -1 none
	SIDs      []int32 // [N, M, L] codes so far, -1 beyond the length
	Lengths   []int32 // [N, M] codes so far; 0 dead
	ItemRows  []int64 // [N, Limit] by beam, then priority
	Offsets   []int64 // [N, M+1] beam m has ItemRows[Offsets[m] .. Offsets[m+1]) of its slot; needed with ItemRows
	Truncated []int32 // [N] 1 where a limit left item rows out (that the cap would have listed)
	CameShort []int32 // [N] 1 where the cap left item rows out and there are fewer than Limit: more beams may find more

	beams int
}

// NewItems makes all the buffers for a number of slots, with room for limit item rows per slot.
func (s *Session) NewItems(slots, limit int) *Items {
	_, ofSlot, levels := s.Shape()
	beams := slots * ofSlot
	return &Items{
		Limit:     limit,
		Ordinals:  make([]int64, beams),
		SIDs:      make([]int32, beams*levels),
		Lengths:   make([]int32, beams),
		ItemRows:  make([]int64, slots*limit),
		Offsets:   make([]int64, beams+slots),
		Truncated: make([]int32, slots),
		CameShort: make([]int32, slots),
		beams:     ofSlot,
	}
}

// ItemRowsOf gives the item rows of beam m of the i-th slot asked for: a part of ItemRows.
func (t *Items) ItemRowsOf(i, m int) []int64 {
	offsets := t.Offsets[i*(t.beams+1):][:t.beams+1]
	return t.ItemRows[i*t.Limit:][offsets[m]:offsets[m+1]]
}

// Items fills buffers for slots (nil: all) of a CPU session, at any level. An idle slot has only dead beams.
// Errors: InvalidArgument (a slot out of range, a buffer too short, a cap by an attribute that the index of a slot has
// not, or of floats).
func (s *Session) Items(slots []int32, items *Items) error { return s.ItemsOn(slots, items, 0) }

// ItemsOn is Items on a CUDA stream (cudaStream_t), with buffers on the device: see DeviceSlice.
func (s *Session) ItemsOn(slots []int32, items *Items, stream uintptr) error {
	if err := made("session", s); err != nil {
		return err
	}
	if items == nil {
		return invalid("items is nil, expected buffers")
	}
	count := len(slots)
	if slots == nil {
		count = s.slots
	}
	items.beams = s.beams
	f := newFailure()
	native.Flat_session_get_items(rawOf(s), slots, int64(count), int64(items.LimitPerSID), int64(items.Limit),
		flag(items.Distinct), items.CapBy, int64(items.Cap), items.Ordinals, items.SIDs, items.Lengths, items.ItemRows,
		items.Offsets, items.Truncated, items.CameShort, int64(stream), f.bytes())
	runtime.KeepAlive(s)
	return f.done()
}

// Stats are counted since a session's creation. Counts of logits rows depend on the number of threads and their pace.
type Stats struct {
	Steps                          int64 // calls of step
	RowsRead, RowsSkipped, RowsBad int64 // logits rows
	DeadBeams                      int64 // beams that a step could not fill
	MemoryBytes                    int64 // memory that the session holds
}

// Stats gives the counts that hosts act on.
func (s *Session) Stats() (Stats, error) {
	numbers := make([]int64, native.FLAT_STATS_COUNT)
	f := newFailure()
	native.Flat_session_get_stats(rawOf(s), numbers, f.bytes())
	runtime.KeepAlive(s)
	if err := f.done(); err != nil {
		return Stats{}, err
	}
	return Stats{
		Steps:       numbers[native.FLAT_STATS_STEPS],
		RowsRead:    numbers[native.FLAT_STATS_ROWS_READ],
		RowsSkipped: numbers[native.FLAT_STATS_ROWS_SKIPPED],
		RowsBad:     numbers[native.FLAT_STATS_ROWS_BAD],
		DeadBeams:   numbers[native.FLAT_STATS_DEAD_BEAMS],
		MemoryBytes: numbers[native.FLAT_STATS_MEMORY_BYTES],
	}, nil
}

// Counters gives internal counters by name, for tuning; they come and go with versions.
func (s *Session) Counters() (map[string]int64, error) {
	values, names := make([]int64, native.FLAT_COUNTERS), make([]byte, native.FLAT_COUNTER_NAME_BYTES)
	f := newFailure()
	count := native.Flat_session_get_counters(rawOf(s), values, names, f.bytes())
	runtime.KeepAlive(s)
	if err := f.done(); err != nil {
		return nil, err
	}
	counters := make(map[string]int64, count)
	for _, value := range values[:count] {
		name := cString(names)
		counters[name], names = value, names[len(name)+1:]
	}
	return counters, nil
}
