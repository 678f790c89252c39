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

static const char* open_emulator(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) return dlerror();
  *(void**)&allocate = dlsym(library, "cudaMalloc");
  *(void**)&copy = dlsym(library, "cudaMemcpy");
  *(void**)&synchronize = dlsym(library, "cudaDeviceSynchronize");
  return allocate == NULL || copy == NULL || synchronize == NULL ? "the emulator has other symbols" : NULL;
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
