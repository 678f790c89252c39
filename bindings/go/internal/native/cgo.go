// SPDX-License-Identifier: Apache-2.0

// Package native is what SWIG makes of bindings/sidbeam.i (see ../../generate.sh), and where cgo finds the library.
// Package sidbeam puts a face on it.
package native

// #cgo pkg-config: sidbeam
// #cgo LDFLAGS: -ldl
import "C"
