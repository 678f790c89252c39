// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"
	"sync"

	"sidbeam.io/sidbeam/internal/native"
)

// LogLevel says how much is logged.
type LogLevel int32

// Log levels; each includes those above it.
const (
	LogOff LogLevel = iota
	LogErrors
	LogWarnings
	LogInfo
)

var logger struct {
	mutex sync.Mutex
	write func(level LogLevel, message string)
}

// SetLogger sets the function that gets the messages of runtimes with a LogLevel; nil: none. It is called at the end of
// calls that may log (opening, building, verifying, uploading; never a step), on their goroutines, perhaps on several
// at once. Up to 64 messages wait; further ones are lost.
func SetLogger(write func(level LogLevel, message string)) {
	logger.mutex.Lock()
	logger.write = write
	logger.mutex.Unlock()
}

// RuntimeConfig is what a [Runtime] is made from; the zero value is all defaults.
type RuntimeConfig struct {
	Threads     int      // of a build or a verification, the caller's included, 1 .. 1024; 0: one per core
	StepThreads int      // of a step, the caller's included, 1 .. 1024; 0: 1. Results have the same bits whatever it is
	StepGrain   int64    // logits elements that justify one thread of a step; 0: 32768
	Log         LogLevel // see SetLogger
	CPUTarget   string   // instruction set of the kernels: "baseline", "avx2", "avx512", "neon"; "": the best there is
	CUDALibrary string   // path of the CUDA plugin; "": $SIDBEAM_CUDA_LIBRARY, beside the library, the system's folders
	// Addresses of C functions, described at sidbeam_device_allocator in sidbeam/runtime.h; 0: CUDA's own.
	DeviceAllocate, DeviceRelease, DeviceContext uintptr
}

// Runtime is the object from which every other is made: threads, instruction set, log, devices. Immutable; share it
// freely. Where a config asks for one, nil is the process's default runtime, made when first needed.
type Runtime struct{ handle *handle }

// NewRuntime makes a runtime. Errors: InvalidArgument (a field), Unsupported (a CPUTarget that this machine lacks, a
// library of another ABI), OutOfMemory.
func NewRuntime(config RuntimeConfig) (*Runtime, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	if err := firstError(cText("CPUTarget", config.CPUTarget), cText("CUDALibrary", config.CUDALibrary)); err != nil {
		return nil, err
	}
	f := newFailure()
	box := native.Flat_runtime_create(saturate(config.Threads), saturate(config.StepThreads), config.StepGrain,
		int(config.Log)-1, config.CPUTarget, config.CUDALibrary, int64(config.DeviceAllocate),
		int64(config.DeviceRelease), int64(config.DeviceContext), f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	drainLog()
	return &Runtime{newHandle(box)}, nil
}

// Close gives the runtime back; objects made from it go on. Closing again does nothing.
func (r *Runtime) Close() error { return closeOf(r) }

var common struct {
	once    sync.Once
	runtime *Runtime
	err     error
}

// withRuntime calls with the handle of a runtime, or of the process's where it is nil.
func withRuntime(r *Runtime, call func(box uintptr)) error {
	if r == nil {
		common.once.Do(func() { common.runtime, common.err = NewRuntime(RuntimeConfig{}) })
		if common.err != nil {
			return common.err
		}
		r = common.runtime
	}
	call(rawOf(r))
	runtime.KeepAlive(r)
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Version is the version of the loaded library, for instance "0.1.0".
func Version() string { return native.Sidbeam_version() }

// CPUTarget is the instruction set that kernels use by default on this machine: "baseline", "avx2", "avx512" or "neon".
func CPUTarget() string { return native.Sidbeam_cpu_target() }
