// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"
	"sync"

	"sidbeam.io/sidbeam/internal/native"
)

// Index is a catalogue to decode against: immutable, to be shared by every session and goroutine. SIDs are sorted (code
// by code, the end of a SID after every code) and distinct; a SID's position is its ordinal. An item row is a position
// in the list of items, ordered by ordinal, then priority falling, then id rising.
type Index struct {
	handle *handle
	info   *Info
	mutex  sync.Mutex
	whole  *Constraint // made when the index is first given in place of a constraint
}

// OpenConfig says how an index is opened; the zero value maps the file and checks its header.
type OpenConfig struct {
	Runtime   *Runtime // nil: the process's
	Residency Residency
	Verify    Verify
}

// Open opens a file. Errors: InvalidArgument (config), IOError (path and reason), Corrupt (what is wrong and where),
// Unsupported (a newer format, an unknown required section), OutOfMemory.
func Open(path string, config OpenConfig) (*Index, error) {
	if err := cText("path", path); err != nil {
		return nil, err
	}
	return open(config, func(runtime uintptr, f *failure) uintptr {
		return native.Flat_index_open(runtime, path, int(config.Residency), int(config.Verify), f.bytes())
	})
}

// OpenMemory opens the bytes of a file, and copies them, since C must keep no Go memory: Residency must be
// ResidencyMap, which here means copy, or ResidencyCopy. Errors: as Open.
func OpenMemory(data []byte, config OpenConfig) (*Index, error) {
	if config.Residency != ResidencyMap && config.Residency != ResidencyCopy {
		return nil, invalid("Residency is %d, expected ResidencyMap or ResidencyCopy of what is in memory", config.Residency)
	}
	return open(config, func(runtime uintptr, f *failure) uintptr {
		return native.Flat_index_open_memory(runtime, data, 0, int(ResidencyCopy), int(config.Verify), f.bytes())
	})
}

func open(config OpenConfig, call func(runtime uintptr, f *failure) uintptr) (*Index, error) {
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) { box = call(runtime, f) }); err != nil {
		return nil, err
	}
	err := f.done()
	drainLog()
	if err != nil {
		return nil, err
	}
	return newIndex(box)
}

func newIndex(box uintptr) (*Index, error) {
	index := &Index{handle: newHandle(box)}
	info, err := readInfo(func(numbers []int64, fingerprint []byte, f *failure) {
		native.Flat_index_get_info(box, numbers, fingerprint, f.bytes())
	})
	index.info = info
	runtime.KeepAlive(index)
	return index, err
}

// Close gives the index back. Its sessions, constraint sets and constraints go on. Closing again does nothing.
func (x *Index) Close() error {
	if x == nil {
		return nil
	}
	x.mutex.Lock()
	whole := x.whole
	x.mutex.Unlock()
	if whole != nil {
		_ = whole.Close()
	}
	return x.handle.close()
}

// Verify checks the index to a depth, on the runtime's threads. Its Info reports that depth from then on. Errors:
// Corrupt.
func (x *Index) Verify(depth Verify) error {
	f := newFailure()
	native.Flat_index_verify(rawOf(x), int(depth), f.bytes())
	runtime.KeepAlive(x)
	err := f.done()
	drainLog()
	return err
}

// Save writes the index's file: the very bytes that it was opened from, or that its builder would have written. It is
// written beside path, synced and renamed, as by Builder.Write. Errors: IOError.
func (x *Index) Save(path string) error {
	if err := cText("path", path); err != nil {
		return err
	}
	f := newFailure()
	native.Flat_index_write(rawOf(x), path, f.bytes())
	runtime.KeepAlive(x)
	err := f.done()
	drainLog()
	return err
}

// Bytes gives a copy of the bytes of the index's file, for OpenMemory.
func (x *Index) Bytes() ([]byte, error) {
	f := newFailure()
	data := make([]byte, native.Flat_index_bytes(rawOf(x), nil, f.bytes()))
	if f.code == 0 {
		native.Flat_index_bytes(rawOf(x), data, f.bytes())
	}
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	return data, nil
}

// Constrainer is a constraint for beams: an *Index, whole, or a *Constraint.
type Constrainer interface{ constraint() (*Constraint, error) }

// Constraint is what a beam must stay inside: an index, whole or under rules. It holds its index. Immutable.
type Constraint struct{ handle *handle }

// NewConstraint makes a constraint of an index. An index may also be given wherever a constraint is wanted.
func NewConstraint(index *Index) (*Constraint, error) {
	f := newFailure()
	box := native.Flat_constraint_create(rawOf(index), f.bytes())
	runtime.KeepAlive(index)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Constraint{newHandle(box)}, nil
}

// ConstraintInfo is what a host must know to shape its arrays.
type ConstraintInfo struct {
	Levels         int // L
	VariableLength bool
	Kinds          Kind
	SIDs, Items    int64
	Codes          []int32 // [L] V_l, without the end
	Fingerprint    string  // of the index

	Rules                           bool  // there are a filter or lists
	AllowedSIDs, AllowedItems       int64 // those of the index without rules
	UnknownExcluded, UnknownAllowed int64 // entries of the lists that name no item
}

// Info gives levels, codes and kinds, for hosts that have no index at hand.
func (c *Constraint) Info() (*ConstraintInfo, error) {
	numbers, fingerprint := make([]int64, native.FLAT_CONSTRAINT_COUNT), make([]byte, 32)
	f := newFailure()
	native.Flat_constraint_get_info(rawOf(c), numbers, fingerprint, f.bytes())
	runtime.KeepAlive(c)
	if err := f.done(); err != nil {
		return nil, err
	}
	info := &ConstraintInfo{
		Levels:         int(numbers[native.FLAT_CONSTRAINT_LEVELS]),
		VariableLength: numbers[native.FLAT_CONSTRAINT_VARIABLE_LENGTH] != 0,
		Kinds:          Kind(numbers[native.FLAT_CONSTRAINT_KINDS]),
		SIDs:           numbers[native.FLAT_CONSTRAINT_SIDS],
		Items:          numbers[native.FLAT_CONSTRAINT_ITEMS],
		Fingerprint:    string(fingerprint),

		Rules:           numbers[native.FLAT_CONSTRAINT_RULES] != 0,
		AllowedSIDs:     numbers[native.FLAT_CONSTRAINT_ALLOWED_SIDS],
		AllowedItems:    numbers[native.FLAT_CONSTRAINT_ALLOWED_ITEMS],
		UnknownExcluded: numbers[native.FLAT_CONSTRAINT_UNKNOWN_EXCLUDED],
		UnknownAllowed:  numbers[native.FLAT_CONSTRAINT_UNKNOWN_ALLOWED],
	}
	for l := 0; l < info.Levels; l++ {
		info.Codes = append(info.Codes, int32(numbers[native.FLAT_CONSTRAINT_CODES+l]))
	}
	return info, nil
}

// Close gives the constraint back; its sessions go on. Closing again does nothing.
func (c *Constraint) Close() error { return closeOf(c) }

func (c *Constraint) constraint() (*Constraint, error) {
	if c == nil {
		return nil, invalid("constraint is a nil *Constraint, expected one, or nil")
	}
	if c.handle == nil { // C could not tell it from none
		return nil, invalid("constraint is a Constraint that was not made, expected one of NewConstraint, or nil")
	}
	return c, nil
}

func (x *Index) constraint() (*Constraint, error) {
	if x == nil {
		return nil, invalid("constraint is a nil *Index, expected one, or nil")
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.whole == nil || native.Flat_is_closed(rawOf(x)) != 0 {
		whole, err := NewConstraint(x) // of a closed index: the error says so
		if err != nil {
			return nil, err
		}
		x.whole = whole
	}
	return x.whole, nil
}

// boxes gives the handles of constraints, 0 for nil, and what must be kept alive while they are used.
func boxes(given []Constrainer) (raw []int64, alive []*Constraint, err error) {
	if given == nil {
		return nil, nil, nil
	}
	raw, alive = make([]int64, len(given)), make([]*Constraint, len(given))
	for i, one := range given {
		if one == nil {
			continue
		}
		if alive[i], err = one.constraint(); err != nil {
			return nil, nil, err
		}
		raw[i] = int64(rawOf(alive[i]))
	}
	return raw, alive, nil
}
