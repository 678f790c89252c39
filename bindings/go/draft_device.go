// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// DeviceDrafts are the addresses of a decoder's arrays on its CUDA device, with the shapes and the meaning of [Drafts].
// They are always the same, get new contents by the next run, and are read in the order of the stream. They live as
// long as this value.
type DeviceDrafts struct {
	Beams, Levels                        int // M, L
	Live, Errors, SIDs, Scores, Ordinals uintptr

	owner *viewOwner
}

// RunOn enqueues a run of a decoder on CUDA, and does not wait for it. The hidden states are in the device's memory
// (see DeviceSlice), Constraints and Widths are the host's. Errors: those of [DraftDecoder.Run], Unsupported (on the
// CPU), BadState (an index that is not on the device, a stream that is being captured), DeviceError.
func (d *DraftDecoder) RunOn(args DraftArgs) (*DeviceDrafts, error) {
	return d.enqueue(native.FLAT_DRAFT_RUN, args)
}

// StartOn is the first half of RunOn, for CUDA graphs, which hold the second alone: it starts as many requests as the
// hidden states have, which it does not read, and holds the constraints until the next start.
func (d *DraftDecoder) StartOn(args DraftArgs) error {
	_, err := d.enqueue(native.FLAT_DRAFT_START, args)
	return err
}

// DecodeOn is the second half: it decodes the requests that were started, and reads no Constraints and no Widths. It
// may be captured, after a run of as many requests; sidbeam/draft.h says what a graph fixes.
func (d *DraftDecoder) DecodeOn(args DraftArgs) (*DeviceDrafts, error) {
	return d.enqueue(native.FLAT_DRAFT_DECODE, args)
}

func (d *DraftDecoder) enqueue(what int, args DraftArgs) (*DeviceDrafts, error) {
	rows := &args.Hidden
	states, elements, dtype, err := rows.memory()
	if err != nil {
		return nil, err
	}
	constraints, alive, err := boxes(args.Constraints)
	if err != nil {
		return nil, err
	}
	at := make([]int64, native.FLAT_DRAFTS_COUNT)
	f := newFailure()
	native.Flat_draft_decoder_enqueue(rawOf(d), what, states, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Slots), int64(rows.Rows), int64(rows.Columns), int64(rows.SlotStride),
		int64(rows.RowStride), constraints, args.Widths, saturate(args.WidthLevels), int64(args.Stream), at, f.bytes())
	runtime.KeepAlive(d)
	runtime.KeepAlive(alive)
	if err := f.done(); err != nil {
		return nil, err
	}
	owner, err := newViewOwner(handleOf(d))
	if err != nil {
		return nil, err
	}
	return &DeviceDrafts{d.beams, d.levels, uintptr(at[native.FLAT_DRAFTS_LIVE]), uintptr(at[native.FLAT_DRAFTS_ERRORS]),
		uintptr(at[native.FLAT_DRAFTS_SIDS]), uintptr(at[native.FLAT_DRAFTS_SCORES]),
		uintptr(at[native.FLAT_DRAFTS_ORDINALS]), owner}, nil
}
