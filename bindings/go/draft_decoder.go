// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// DraftConfig is what a [DraftDecoder] is made from. Head and Index are needed.
type DraftConfig struct {
	Runtime      *Runtime // nil: the process's
	Head         *DraftHead
	Index        *Index // of the head's numbers of codes and, where both name one, of its codebook
	Requests     int    // most requests of a run, 1 .. 2^20; 0: 1
	Beams        int    // M, 1 .. MaxBeams; 0: 1
	Verification DraftVerification
	// NormalizeFull, NormalizeLevel, which is the same here, or, with DraftVerifyTrie, NormalizeValid.
	Normalization Normalization
	TopK          int   // codes per beam that DraftVerifyHash looks up; 0: M
	MaxListed     int64 // on CUDA the most item rows that a request's rules may list, excluded or allowed; 0: 4096
	// On CUDA see RunOn. The weights are uploaded for the head's first decoder there, the index if it is not there yet;
	// those of runs' constraints must be.
	Device Device
}

// DraftDecoder is beam search through a draft head: from the hidden states of the prompt and of L placeholders, all
// levels of many requests in one call. One goroutine at a time, except Close. On CUDA it is closed when its work has
// ended, and products are rounded to the type of the weights.
type DraftDecoder struct {
	handle                  *handle
	requests, beams, levels int
	device                  Device
}

// NewDraftDecoder makes a decoder and all its memory. It holds the head and the index, which may be closed before it.
// Errors: InvalidArgument (another number of levels or codes, another codebook: the message says which),
// MissingSection (the index was built without what the verification needs), Unsupported (SIDs of variable length),
// NoDevice, OutOfMemory.
func NewDraftDecoder(config DraftConfig) (*DraftDecoder, error) {
	if config.Head == nil || config.Index == nil {
		return nil, invalid("Head or Index is nil, expected both")
	}
	requests, beams := orOne(config.Requests), orOne(config.Beams)
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_draft_decoder_create(runtime, rawOf(config.Head), rawOf(config.Index),
			requests, beams, int(config.Verification), int(config.Normalization), saturate(config.TopK),
			config.MaxListed, int(config.Device.Type), saturate(config.Device.ID), f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(config)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &DraftDecoder{newHandle(box), requests, beams, len(config.Head.info.Codes), config.Device}, nil
}

// Close gives the decoder back, after the running call. Closing again does nothing.
func (d *DraftDecoder) Close() error { return closeOf(d) }

// DraftArgs are the requests of a run. Only Hidden is needed.
type DraftArgs struct {
	Hidden      Rows          // [Slots, L + 1, Hidden]: per request h_0, then a state per placeholder, of any type
	Constraints []Constrainer // [Slots]; an entry, or all of it, may be nil: the decoder's index
	Widths      []int32       // [Slots] beams, 1 .. M, or 0 for M; nil: M
	WidthLevels int           // W, 1 .. L: Widths is [Slots, W], as in StartArgs; 0: one per request
	Stream      uintptr       // cudaStream_t; not read on the CPU
}

// Drafts is what a run found: n requests of M beams, best first; beams that found no SID come last.
type Drafts struct {
	Beams, Levels int       // M, L
	Live          []int32   // [n] SIDs found
	Errors        []int32   // [n] SlotError: NaN or +Inf in logits that mattered; Live is 0 then
	SIDs          []int32   // [n, M, L] codes; -1 where there is no SID
	Scores        []float32 // [n, M] log-probabilities, falling; -Inf where there is no SID
	Ordinals      []int64   // [n, M] in the request's index; -1: no SID, or none that exists
}

// SID gives the codes of a beam of a request.
func (d *Drafts) SID(request, beam int) []int32 {
	at := (request*d.Beams + beam) * d.Levels
	return d.SIDs[at : at+d.Levels]
}

// Run decodes requests. Errors: InvalidArgument (hidden states of another shape, more requests than the decoder has, a
// width, a constraint of another shape or codebook), MissingSection, Unsupported (on CUDA, where the arrays are on the
// device: see RunOn), NoDevice (hidden states of another device), OutOfMemory, BadState (closed); the decoder can be
// used as before.
func (d *DraftDecoder) Run(args DraftArgs) (*Drafts, error) {
	if err := made("draft decoder", d); err != nil {
		return nil, err
	}
	if d.device.Type != CPU {
		return nil, &Error{Code: Unsupported, Message: "the decoder's arrays are on a device, expected RunOn"}
	}
	rows := &args.Hidden
	states, elements, dtype, err := rows.memory()
	if err != nil {
		return nil, err
	}
	constraints, alive, err := boxes(args.Constraints)
	if err != nil {
		return nil, err
	}
	if rows.Slots < 1 || rows.Slots > d.requests {
		return nil, invalid("the number of slots of hidden is %d, expected 1..%d", rows.Slots, d.requests)
	}
	n, all := rows.Slots, rows.Slots*d.beams
	out := &Drafts{d.beams, d.levels, make([]int32, n), make([]int32, n), make([]int32, all*d.levels),
		make([]float32, all), make([]int64, all)}
	f := newFailure()
	native.Flat_draft_decoder_run(rawOf(d), states, elements, int(dtype), int(rows.Device.Type),
		saturate(rows.Device.ID), int64(rows.Slots), int64(rows.Rows), int64(rows.Columns), int64(rows.SlotStride),
		int64(rows.RowStride), constraints, args.Widths, saturate(args.WidthLevels), out.Live, out.Errors,
		out.SIDs, out.Scores, out.Ordinals, f.bytes())
	runtime.KeepAlive(d)
	runtime.KeepAlive(alive)
	if err := f.done(); err != nil {
		return nil, err
	}
	return out, nil
}
