// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"
	"unsafe"

	"sidbeam.io/sidbeam/internal/native"
)

// View is one of the arrays of a session or a speculation, read in place. It keeps their memory, even after Close. Its
// contents change with their calls (start, step, stop; begin, add, verify): read it between them, on one goroutine.
type View[T int32 | int64 | float32] struct {
	data  []T // memory of C
	owner *viewOwner
}

// viewOwner holds the memory of a session, a speculation or a draft decoder until nothing refers to it.
type viewOwner struct{ box uintptr }

// Len is the number of elements.
func (v View[T]) Len() int { return len(v.data) }

// At is element i; it panics out of range, as a slice does.
func (v View[T]) At(i int) T {
	value := v.data[i]
	runtime.KeepAlive(v.owner)
	return value
}

// CopyTo copies as many elements as fit into out, and returns how many.
func (v View[T]) CopyTo(out []T) int {
	count := copy(out, v.data)
	runtime.KeepAlive(v.owner)
	return count
}

// Slice is the view of elements [from, to); it panics out of range, as a slice does.
func (v View[T]) Slice(from, to int) View[T] { return View[T]{v.data[from:to:to], v.owner} }

// Beams are views of a session's arrays, at fixed addresses as long as it lives: ask for them once.
type Beams struct {
	Parents View[int32]   // [S, M] beam of the previous level that this one continues; -1 dead. Reorder the KV cache by it
	Codes   View[int32]   // [S, M] code that was chosen: feed it to the model; V_l is the end; -1 dead, or ended before
	Scores  View[float32] // [S, M] cumulative log-probability, falling in ModeSearch; -inf dead
	States  View[int64]   // [S, M]
	Live    View[int32]   // [S] beams that are not dead; they come first, except in ModeSample
	Active  View[int32]   // [S] live beams that the model must be fed for; 0: the slot is done
	Level   View[int32]   // [S] codes decided so far; -1 idle
	Errors  View[int32]   // [S] SlotError

	// Of the modes that sample, otherwise empty.
	LogMasses View[float32] // [S, M] log of the valid mass over the levels, log x; -inf dead
	// Of ModeStochastic, otherwise empty.
	Perturbed     View[float32] // [S, M] scores with their noise, which the beams are ordered by; -inf dead
	LogInclusions View[float32] // [S, M] log of the probability that the beam is in the result, given the threshold
	Thresholds    View[float32] // [S] perturbed score of the best prefix that was left out; -inf: none was
}

// DeviceBeams are the addresses of the same arrays on a CUDA device; 0 for those that the mode lacks.
type DeviceBeams struct {
	Parents, Codes, Scores, States, Live, Active, Level, Errors uintptr
	LogMasses, Perturbed, LogInclusions, Thresholds             uintptr

	owner *viewOwner
}

// Beams gives views of the session's arrays. Errors: BadState after Close; Unsupported on CUDA, where they are on the
// device: see Fetch and DeviceBeams.
func (s *Session) Beams() (*Beams, error) {
	if err := made("session", s); err != nil {
		return nil, err
	}
	if s.device.Type != CPU {
		return nil, &Error{Code: Unsupported, Message: "the session's arrays are on a device, expected Fetch or DeviceBeams"}
	}
	numbers, err := s.where()
	if err != nil {
		return nil, err
	}
	return s.views(&numbers)
}

// Fetch enqueues copies of a CUDA session's arrays to pinned memory of the host on a stream (cudaStream_t), and gives
// views of that memory, always the same. Read them once the stream has reached that point. On the CPU it is Beams.
// Errors: DeviceError.
func (s *Session) Fetch(stream uintptr) (*Beams, error) {
	var numbers places
	f := newFailure()
	native.Flat_session_fetch(rawOf(s), numbers[:], int64(stream), f.bytes())
	runtime.KeepAlive(s)
	if err := f.done(); err != nil {
		return nil, err
	}
	return s.views(&numbers)
}

// DeviceBeams gives the addresses of a CUDA session's arrays. The arrays live as long as the returned value.
func (s *Session) DeviceBeams() (*DeviceBeams, error) {
	numbers, err := s.where()
	if err != nil {
		return nil, err
	}
	owner, err := newViewOwner(handleOf(s))
	if err != nil {
		return nil, err
	}
	at := func(place int) uintptr { return uintptr(numbers[place]) }
	return &DeviceBeams{at(native.FLAT_BEAMS_PARENTS), at(native.FLAT_BEAMS_CODES), at(native.FLAT_BEAMS_SCORES),
		at(native.FLAT_BEAMS_STATES), at(native.FLAT_BEAMS_LIVE), at(native.FLAT_BEAMS_ACTIVE),
		at(native.FLAT_BEAMS_LEVEL), at(native.FLAT_BEAMS_ERRORS), at(native.FLAT_BEAMS_LOG_MASSES),
		at(native.FLAT_BEAMS_PERTURBED), at(native.FLAT_BEAMS_LOG_INCLUSIONS), at(native.FLAT_BEAMS_THRESHOLDS), owner}, nil
}

// places holds what flat_session_get_beams fills: the arrays' shapes and addresses.
type places [15]int64

func (s *Session) where() (numbers places, err error) {
	f := newFailure()
	native.Flat_session_get_beams(rawOf(s), numbers[:], f.bytes())
	runtime.KeepAlive(s)
	return numbers, f.done()
}

// newViewOwner holds the memory of a session, a speculation or a draft decoder; the caller keeps the handle alive.
func newViewOwner(h *handle) (*viewOwner, error) {
	f := newFailure()
	native.Flat_view_retain(h.raw(), f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	owner := &viewOwner{h.raw()}
	runtime.SetFinalizer(owner, func(o *viewOwner) { native.Flat_view_release(o.box) })
	runtime.KeepAlive(h)
	return owner, nil
}

func (s *Session) views(numbers *places) (*Beams, error) {
	owner, err := newViewOwner(handleOf(s))
	if err != nil {
		return nil, err
	}
	slots := int(numbers[native.FLAT_BEAMS_SLOTS])
	beams := slots * int(numbers[native.FLAT_BEAMS_BEAMS])
	return &Beams{
		Parents: view[int32](owner, numbers[:], native.FLAT_BEAMS_PARENTS, beams),
		Codes:   view[int32](owner, numbers[:], native.FLAT_BEAMS_CODES, beams),
		Scores:  view[float32](owner, numbers[:], native.FLAT_BEAMS_SCORES, beams),
		States:  view[int64](owner, numbers[:], native.FLAT_BEAMS_STATES, beams),
		Live:    view[int32](owner, numbers[:], native.FLAT_BEAMS_LIVE, slots),
		Active:  view[int32](owner, numbers[:], native.FLAT_BEAMS_ACTIVE, slots),
		Level:   view[int32](owner, numbers[:], native.FLAT_BEAMS_LEVEL, slots),
		Errors:  view[int32](owner, numbers[:], native.FLAT_BEAMS_ERRORS, slots),

		LogMasses:     view[float32](owner, numbers[:], native.FLAT_BEAMS_LOG_MASSES, beams),
		Perturbed:     view[float32](owner, numbers[:], native.FLAT_BEAMS_PERTURBED, beams),
		LogInclusions: view[float32](owner, numbers[:], native.FLAT_BEAMS_LOG_INCLUSIONS, beams),
		Thresholds:    view[float32](owner, numbers[:], native.FLAT_BEAMS_THRESHOLDS, slots),
	}, nil
}

// view turns an address that C has written into a pointer, which is not Go memory. An address of 0 is no array.
func view[T int32 | int64 | float32](owner *viewOwner, numbers []int64, place, count int) View[T] {
	if numbers[place] == 0 {
		return View[T]{}
	}
	return View[T]{unsafe.Slice(*(**T)(unsafe.Pointer(&numbers[place])), count), owner}
}
