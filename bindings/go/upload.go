// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// UploadConfig says what is copied to a CUDA device, and how.
type UploadConfig struct {
	Device         int
	Kinds          Kind    // those that strategies need, or'ed; 0: all that the index has
	SkipVerify     bool    // else the structure is checked on the device, to the depth of VerifyFull
	Stream         uintptr // cudaStream_t; 0: one of the library's own
	ChunkBytes     int64   // bytes per copy; 0: 8 MiB
	BytesPerSecond int64   // upper limit of the rate, so that other copies have room; 0: none
}

// Upload copies what decoding reads of an index to a device, and returns when it is there. Creating a session or a
// constraint set also does so, if it is not there. Errors: InvalidArgument, MissingSection (a kind that the index
// lacks), NoDevice, OutOfMemory, Corrupt, DeviceError; then nothing has changed.
func (x *Index) Upload(config UploadConfig) error {
	f := newFailure()
	native.Flat_index_upload(rawOf(x), saturate(config.Device), int(config.Kinds), flag(!config.SkipVerify),
		int64(config.Stream), config.ChunkBytes, config.BytesPerSecond, f.bytes())
	runtime.KeepAlive(x)
	err := f.done()
	drainLog()
	return err
}

// Uploaded says which kinds are on a device, 0 for none, and how many bytes they take there.
func (x *Index) Uploaded(device int) (kinds Kind, bytes int64, err error) {
	var numbers [2]int64
	f := newFailure()
	native.Flat_index_get_upload(rawOf(x), saturate(device), numbers[:], f.bytes())
	runtime.KeepAlive(x)
	return Kind(numbers[0]), numbers[1], f.done()
}

// Unload gives up the index's own hold on its copies on a device. Sessions and constraint sets keep theirs.
func (x *Index) Unload(device int) error {
	f := newFailure()
	native.Flat_index_unload(rawOf(x), saturate(device), f.bytes())
	runtime.KeepAlive(x)
	return f.done()
}
