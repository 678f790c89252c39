// SPDX-License-Identifier: Apache-2.0

// Package specimen reaches the table of tests/bindings/arrow_specimen.c, whose address tests pass on. It is not part of
// package sidbeam.
package specimen

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static int64_t (*make)(int32_t bad);
static int64_t (*count)(void);

static const char* open_specimen(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) return dlerror();
  *(void**)&make = dlsym(library, "arrow_specimen");
  *(void**)&count = dlsym(library, "arrow_specimen_alive");
  return make == NULL || count == NULL ? "the specimen has other symbols" : NULL;
}

static int64_t specimen(int32_t bad) { return make(bad); }
static int64_t alive(void) { return count(); }
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Open loads the library, before anything else here is called.
func Open(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if message := C.open_specimen(name); message != nil {
		return errors.New(C.GoString(message))
	}
	return nil
}

// Stream is the address of a new stream; bad: with the code 9 in row 2.
func Stream(bad bool) uintptr {
	var is C.int32_t
	if bad {
		is = 1
	}
	return uintptr(C.specimen(is))
}

// Alive counts streams, schemas and arrays that have not been released.
func Alive() int64 { return int64(C.alive()) }
