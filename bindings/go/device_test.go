// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"math"
	"os"
	"testing"

	"sidbeam.io/sidbeam"
	"sidbeam.io/sidbeam/internal/emulator"
)

// emulated gives an index whose runtime has the CUDA plugin for the emulator of tests/gpu. Nothing here has run on a
// GPU.
func emulated(t *testing.T) (*sidbeam.Runtime, *sidbeam.Index) {
	t.Helper()
	plugin := os.Getenv("SIDBEAM_CUDA_EMULATED")
	if plugin == "" {
		t.Skip("SIDBEAM_CUDA_EMULATED names no plugin (bindings/go/test.sh sets it)")
	}
	must(t, emulator.Open(plugin))
	with, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{CUDALibrary: plugin})
	must(t, err)
	t.Cleanup(func() { _ = with.Close() })
	builder := builderOf(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{4, 4}}, threePairs)
	index, err := builder.Finish(context.Background())
	must(t, err)
	t.Cleanup(func() { _ = index.Close() })
	return with, index
}

var onCUDA = sidbeam.Device{Type: sidbeam.CUDA}

// array is values on the device.
type array[T sidbeam.Element] struct {
	t       *testing.T
	address uintptr
	slice   []T
}

func put[T sidbeam.Element](t *testing.T, values ...T) array[T] {
	t.Helper()
	address, err := emulator.Put(values)
	must(t, err)
	return array[T]{t, address, sidbeam.DeviceSlice[T](address, len(values))}
}

func (a array[T]) is(what string, want ...T) {
	a.t.Helper()
	reads(a.t, what, a.address, want...)
}

func reads[T sidbeam.Element](t *testing.T, what string, address uintptr, want ...T) {
	t.Helper()
	got := make([]T, len(want))
	must(t, emulator.Get(address, got))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: expected %v, got %v", what, want, got)
			return
		}
	}
}

func TestSessionOnADevice(t *testing.T) {
	with, index := emulated(t)
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Runtime: with, Constraint: index, Beams: 2, Device: onCUDA})
	must(t, err)
	if kinds, bytes, err := index.Uploaded(0); err != nil || kinds != sidbeam.KindTrie || bytes <= 0 {
		t.Errorf("uploaded: expected the trie, got %d, %d bytes, %v", kinds, bytes, err)
	}
	_, err = session.Beams()
	fails(t, err, sidbeam.Unsupported, "the session's arrays are on a device")
	must(t, session.Start(sidbeam.StartArgs{}))
	for _, level := range twoLevels {
		rows := sidbeam.Rows{F32: put(t, level...).slice, Device: onCUDA, Slots: 1, Rows: 2, Columns: 4,
			RowStride: sidbeam.Broadcast}
		must(t, session.Step(sidbeam.StepArgs{Slots: put(t, int32(0)).slice, Rows: rows}))
	}
	beams, err := session.DeviceBeams()
	must(t, err)
	reads(t, "codes", beams.Codes, int32(2), 3)
	fetched, err := session.Fetch(0)
	must(t, err)
	reads(t, "live", beams.Live, int32(2)) // and waits for the copies
	if fetched.Codes.At(0) != 2 || math.Abs(float64(fetched.Scores.At(1))+8.215) > 1e-3 {
		t.Errorf("fetched: expected token 2 and score -8.215, got %d and %v", fetched.Codes.At(0), fetched.Scores.At(1))
	}
	ordinals := put[int64](t, 0, 0)
	must(t, session.ItemsOn(nil, &sidbeam.Items{Ordinals: ordinals.slice}, 0))
	ordinals.is("ordinals", 2, 1)
	must(t, session.Close())
	if fetched.Codes.At(1) != 3 {
		t.Errorf("pinned memory lives as long as its views: expected 3, got %d", fetched.Codes.At(1))
	}
}

func TestRowMapOnADevice(t *testing.T) {
	with, index := emulated(t)
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Runtime: with, Constraint: index, Beams: 2, Device: onCUDA})
	must(t, err)
	defer session.Close()
	must(t, session.Start(sidbeam.StartArgs{}))
	host := sidbeam.Rows{F32: append(append([]float32{}, twoLevels[0]...), twoLevels[1]...), Rows: 2, Columns: 4}
	rows := host
	rows.F32, rows.Device = put(t, host.F32...).slice, onCUDA
	rowMap, lse := put[int32](t, 1, -1), put[float32](t, 5, 7)
	fails(t, session.Step(sidbeam.StepArgs{Rows: host, RowMap: rowMap.slice}), sidbeam.NoDevice,
		"the device of logits is 0")
	host.Device = onCUDA
	fails(t, session.Step(sidbeam.StepArgs{Rows: host, RowMap: rowMap.slice}), sidbeam.InvalidArgument,
		"logits is memory of the host, expected memory of CUDA device 0")
	err = session.Step(sidbeam.StepArgs{Rows: rows, RowMap: []int32{1, -1}})
	fails(t, err, sidbeam.InvalidArgument, "row_map is memory of the host")
	must(t, session.Step(sidbeam.StepArgs{Rows: rows, RowMap: rowMap.slice, LSE: lse.slice}))
	beams, err := session.DeviceBeams()
	must(t, err)
	reads(t, "scores", beams.Scores, float32(-3), -6)
}

func TestConstraintSetOnADevice(t *testing.T) {
	with, index := emulated(t)
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{
		Runtime: with, Constraints: []sidbeam.Constrainer{index}, Device: onCUDA})
	must(t, err)
	defer set.Close()
	states, after := put[int64](t, 9, 9), put[int64](t, 9, 9)
	must(t, set.Prefixes(nil, put[int32](t, 0, 1).slice, 1, put[int32](t, 1, 1).slice, states.slice, 0))
	must(t, set.Advance(nil, states.slice, nil, put[int32](t, 2, 1).slice, after.slice, 0))
	after.is("after a code that may not follow", -1, -1)
	words := put[uint32](t, 9, 9)
	must(t, set.Bitmask(nil, states.slice, 1, words.slice, 0))
	words.is("after 0: 1 and 3; after 1: nothing", 1<<1|1<<3, 0)
	logits := put[float32](t, 1, 2, 3, 4, 1, 2, 3, 4)
	rows := sidbeam.Rows{F32: logits.slice, Device: onCUDA, Rows: 2, Columns: 4}
	codes := put[int32](t, 9, 9)
	top := sidbeam.TopK{States: states.slice, Logits: rows, K: 1, Normalization: sidbeam.NormalizeNone,
		Codes: codes.slice, LogProbs: put[float32](t, 9, 9).slice}
	must(t, set.TopK(top))
	codes.is("codes", 3, -1)
	must(t, set.Mask(nil, states.slice, rows, 0))
	none := float32(math.Inf(-1))
	logits.is("logits", none, 2, none, 4, none, none, none, none)
	fails(t, set.Advance(nil, states.slice, nil, []int32{1, 1}, after.slice, 0), sidbeam.InvalidArgument,
		"codes is memory of the host, expected memory of CUDA device 0")
}

func TestUploadAndUnload(t *testing.T) {
	_, index := emulated(t)
	must(t, index.Upload(sidbeam.UploadConfig{Kinds: sidbeam.KindTrie, ChunkBytes: 4096}))
	if kinds, bytes, err := index.Uploaded(0); err != nil || kinds != sidbeam.KindTrie || bytes <= 0 {
		t.Errorf("uploaded: expected the trie, got %d, %d bytes, %v", kinds, bytes, err)
	}
	must(t, index.Unload(0))
	if kinds, bytes, err := index.Uploaded(0); err != nil || kinds != 0 || bytes != 0 {
		t.Errorf("unloaded: expected nothing, got %d, %d bytes, %v", kinds, bytes, err)
	}
	fails(t, index.Upload(sidbeam.UploadConfig{Kinds: sidbeam.KindHash}), sidbeam.MissingSection,
		"kinds asks for a hash set")
}
