// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"sidbeam.io/sidbeam/internal/native"
)

// handle owns a box of C (bindings/flat/handle.h). The box outlives Close, so that a late call finds it closed, not
// gone. It goes with the handle, when nothing refers to that.
type handle struct{ box uintptr }

func newHandle(box uintptr) *handle {
	h := &handle{box}
	runtime.SetFinalizer(h, func(h *handle) { native.Flat_free(h.box) })
	return h
}

// raw is 0 for an object that no constructor made: C then says which is null. The caller keeps the handle alive.
func (h *handle) raw() uintptr {
	if h == nil {
		return 0
	}
	return h.box
}

func (h *handle) close() error {
	native.Flat_close(h.raw())
	runtime.KeepAlive(h)
	return nil
}

// handleOf gives the handle of an object, which is its first field, so that methods of a nil object need no check each.
func handleOf[T any](object *T) *handle {
	if object == nil {
		return nil
	}
	return *(**handle)(unsafe.Pointer(object))
}

// rawOf is 0 of an object that is nil, or that no constructor made. The caller keeps the object alive.
func rawOf[T any](object *T) uintptr { return handleOf(object).raw() }

// made refuses an object that is nil or that no constructor made, where the fields of one are read, in C's words.
func made[T any](what string, object *T) error {
	if handleOf(object) == nil {
		return invalid("%s is null, expected one that was made", what)
	}
	return nil
}

func closeOf[T any](object *T) error { return handleOf(object).close() }

// saturate maps a number that does not fit int32 to one that C refuses, instead of wrapping it into the valid range.
func saturate(n int) int {
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	if n < math.MinInt32 {
		return math.MinInt32
	}
	return n
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cText refuses what C would silently cut.
func cText(what, text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return invalid("%s holds a NUL byte at %d, expected text without", what, i)
	}
	return nil
}

// cString is the text that C wrote, up to its NUL.
func cString(buffer []byte) string {
	text, _, _ := bytes.Cut(buffer, []byte{0})
	return string(text)
}

// reinterpret gives the same elements, of a type of the same size, or at least the same address.
func reinterpret[To, From any](slice []From) []To { return *(*[]To)(unsafe.Pointer(&slice)) }

// elementBytes gives the bytes of a slice's elements, in place.
func elementBytes[T float32 | uint16](slice []T) []byte {
	if len(slice) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&slice[0])), len(slice)*int(unsafe.Sizeof(slice[0])))
}

// Element is an element type of arrays on a device.
type Element interface {
	~int32 | ~uint32 | ~int64 | ~float32 | ~uint16
}

// DeviceSlice presents count elements at an address of a CUDA device as a slice. Calls of objects on that device take
// it where they ask for the device's memory. Go must neither read nor write its elements.
func DeviceSlice[T Element](address uintptr, count int) []T {
	header := struct {
		address  uintptr
		len, cap int
	}{address, count, count}
	return *(*[]T)(unsafe.Pointer(&header))
}

var abi struct {
	once sync.Once
	err  error
}

// checkABI guards every entry into the library that needs no other object.
func checkABI() error {
	abi.once.Do(func() {
		f := newFailure()
		native.Flat_check_abi(f.bytes())
		abi.err = f.done()
	})
	return abi.err
}

// drainLog hands over the library's messages, if there is a logger.
func drainLog() {
	logger.mutex.Lock()
	write := logger.write
	logger.mutex.Unlock()
	if write == nil {
		return
	}
	text := make([]byte, 512)
	for {
		level := native.Flat_log_take(text)
		if level < 0 {
			return
		}
		write(LogLevel(level+1), cString(text))
	}
}
