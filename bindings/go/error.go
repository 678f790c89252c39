// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"sidbeam.io/sidbeam/internal/native"
)

// Code is the kind of a failure. It is itself an error, for errors.Is: errors.Is(err, sidbeam.Corrupt).
type Code int32

// Kinds of failures. A number that is not here is a kind that was added later.
const (
	InvalidArgument Code = 1  // an argument, a field or a value in an array; the message names it
	OutOfMemory     Code = 2  // the allocator returned nothing, or the build would exceed its memory limit
	IOError         Code = 3  // the operating system refused: no such file, no space, no permission
	Corrupt         Code = 4  // the bytes of an index are damaged, or are not an index
	Unsupported     Code = 5  // made for a newer library, or a combination that is not offered
	MissingSection  Code = 6  // the index was built without what this call needs; the message names the option
	Collision       Code = 7  // two items share a SID and the builder was told to refuse that
	Cancelled       Code = 8  // the context of a build or a request was cancelled
	BadState        Code = 9  // called at the wrong time: closed, in use by another goroutine, a slot that is done
	NoDevice        Code = 10 // the device, its driver or its plugin is missing
	Internal        Code = 11 // a defect of the library
	DeviceError     Code = 12 // the device reported an error, in this call or in work enqueued before it
	QueueFull       Code = 13 // the runner holds as many requests as it may; nothing was taken

	DeadlineExceeded Code = 14 // the request's deadline passed before it could start
)

// Name is the library's name of the code, for instance "invalid argument".
func (c Code) Name() string { return native.Sidbeam_status_name(int(c)) }

// Error makes a Code an error, for comparison.
func (c Code) Error() string { return "sidbeam: " + c.Name() }

// Error is what every failing call of this package returns.
type Error struct {
	Code    Code
	Message string // one line: what, expected, came
	cause   error  // why the context ended, or what the operating system said
}

// Name is the name of the code, for instance "invalid argument".
func (e *Error) Name() string { return e.Code.Name() }

// Error is "sidbeam: ", the name of the code and the message.
func (e *Error) Error() string { return "sidbeam: " + e.Name() + ": " + e.Message }

// Is says whether target is the code of this error.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap gives what errors.Is compares with too: of what was cancelled the error of its context, of a deadline that has
// passed context.DeadlineExceeded, and of what the operating system refused its error, which is fs.ErrNotExist where a
// file is missing.
func (e *Error) Unwrap() error { return e.cause }

func invalid(format string, values ...any) error {
	return &Error{Code: InvalidArgument, Message: fmt.Sprintf(format, values...)}
}

// failure is a sidbeam_error, to which a call of C writes what went wrong in that very call; a message kept per thread
// could be another goroutine's. It is pooled: it lies on the heap, since C sees it, and steps must not allocate.
type failure struct {
	size    uint32
	code    int32
	message [504]byte
}

var failures = sync.Pool{New: func() any { return new(failure) }}

func newFailure() *failure { return failures.Get().(*failure) }

func (f *failure) bytes() []byte { return (*[unsafe.Sizeof(failure{})]byte)(unsafe.Pointer(f))[:] }

// done returns the call's error, nil after success, and gives the buffer back.
func (f *failure) done() error {
	if f.code == 0 {
		failures.Put(f)
		return nil
	}
	message := cString(f.message[:])
	err := &Error{Code: Code(f.code), Message: inGo(message), cause: causeOf(Code(f.code), message)}
	failures.Put(f)
	return err
}

// causeOf is what Unwrap gives of a message of the library's.
func causeOf(code Code, message string) error {
	switch code {
	case IOError:
		return systemError(message)
	case DeadlineExceeded:
		return context.DeadlineExceeded
	}
	return nil
}

// systemError is what a message says behind its last path, say "cannot open 'a': No such file or directory (...".
func systemError(message string) error {
	text := message[strings.LastIndexByte(message, '\'')+1:]
	text, _, _ = strings.Cut(text, " (")
	text, _, _ = strings.Cut(text, "; ")
	text = strings.TrimSpace(text[strings.LastIndexByte(text, ':')+1:])
	if text == "it holds no catalogue" {
		return fs.ErrNotExist
	}
	for number := syscall.Errno(1); number < lastErrno; number++ {
		if strings.EqualFold(number.Error(), text) {
			return number
		}
	}
	return nil
}

const lastErrno = 134 // of Linux
