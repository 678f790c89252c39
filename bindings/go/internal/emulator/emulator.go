// SPDX-License-Identifier: Apache-2.0

// Package emulator reaches the CUDA emulator of tests/gpu, which gives tests device memory without a device.
// The emulator refuses to read the host's memory as a device's. It is not part of package sidbeam.
package emulator

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static int (*allocate)(void** out, size_t bytes);
static int (*copy)(void* to, const void* from, size_t bytes, int kind);
static int (*synchronize)(void);
static int (*make_stream)(void** out, unsigned flags);
static int (*begin_capture)(void* stream, int mode);
static int (*end_capture)(void* stream, void** graph);

static const char* open_emulator(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) return dlerror();
  *(void**)&allocate = dlsym(library, "cudaMalloc");
  *(void**)&copy = dlsym(library, "cudaMemcpy");
  *(void**)&synchronize = dlsym(library, "cudaDeviceSynchronize");
  *(void**)&make_stream = dlsym(library, "cudaStreamCreateWithFlags");
  *(void**)&begin_capture = dlsym(library, "cudaStreamBeginCapture");
  *(void**)&end_capture = dlsym(library, "cudaStreamEndCapture");
  return allocate == NULL || copy == NULL || synchronize == NULL || make_stream == NULL || begin_capture == NULL ||
                 end_capture == NULL
             ? "the emulator has other symbols"
             : NULL;
}

static uintptr_t new_stream(void) {
  void* stream = NULL;
  return make_stream(&stream, 1) != 0 ? 0 : (uintptr_t)stream;
}

static int begin(uintptr_t stream) { return begin_capture((void*)stream, 2); }

static int end(uintptr_t stream) {
  void* graph = NULL;
  return end_capture((void*)stream, &graph);
}

static uintptr_t put(const void* host, size_t bytes) {
  void* device = NULL;
  if (allocate(&device, bytes) != 0 || copy(device, host, bytes, 1) != 0) return 0;
  return (uintptr_t)device;
}

static int get(void* host, uintptr_t device, size_t bytes) {
  return synchronize() != 0 || copy(host, (const void*)device, bytes, 2) != 0;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"
)

// Open finds the emulator beside the plugin that was built for it.
func Open(plugin string) error {
	path := C.CString(filepath.Join(filepath.Dir(plugin), "libsidbeam_emulator.so"))
	defer C.free(unsafe.Pointer(path))
	if message := C.open_emulator(path); message != nil {
		return errors.New(C.GoString(message))
	}
	return nil
}

// NewStream gives a stream that the default one neither waits for nor holds up. It is not destroyed.
func NewStream() (uintptr, error) {
	stream := uintptr(C.new_stream())
	if stream == 0 {
		return 0, errors.New("the emulator makes no stream")
	}
	return stream, nil
}

// Capture makes calls whose work on the stream is not done.
func Capture(stream uintptr, calls func()) error {
	if C.begin(C.uintptr_t(stream)) != 0 {
		return errors.New("the emulator does not begin a capture")
	}
	calls()
	if C.end(C.uintptr_t(stream)) != 0 {
		return errors.New("the emulator does not end the capture")
	}
	return nil
}

// Put copies values to the device and gives their address, which is not freed.
func Put[T any](values []T) (uintptr, error) {
	address := C.put(unsafe.Pointer(&values[0]), C.size_t(len(values))*C.size_t(unsafe.Sizeof(values[0])))
	if address == 0 {
		return 0, fmt.Errorf("the emulator has no memory for %d elements", len(values))
	}
	return uintptr(address), nil
}

// Get waits for the device and fills values from an address of it.
func Get[T any](address uintptr, values []T) error {
	bytes := C.size_t(len(values)) * C.size_t(unsafe.Sizeof(values[0]))
	if C.get(unsafe.Pointer(&values[0]), C.uintptr_t(address), bytes) != 0 {
		return fmt.Errorf("the emulator refuses to copy from %#x", address)
	}
	return nil
}
