// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// DraftInput says what the linear head of a level of a [DraftHead] multiplies.
type DraftInput int32

// Inputs of a head.
const (
	DraftInputBoth   DraftInput = iota // [h_l ; s_l]
	DraftInputHidden                   // h_l: no state, and so no transition
	DraftInputState                    // s_l: no placeholders
)

// String is the input's name.
func (i DraftInput) String() string { return name(int32(i), "both", "hidden", "state") }

// DraftTransition says how the embedding of the chosen code changes the state.
type DraftTransition int32

// Transitions.
const (
	DraftTransitionRNN  DraftTransition = iota // PyTorch's RNNCell, with tanh
	DraftTransitionGRU                         // PyTorch's GRUCell; its rows are those of the gates reset, update, new
	DraftTransitionAdd                         // the embedding is added
	DraftTransitionNone                        // the state stays h_0
)

// String is the transition's name.
func (t DraftTransition) String() string { return name(int32(t), "rnn", "gru", "add", "none") }

// DraftVerification says how SIDs are kept from being invalid.
type DraftVerification int32

// Verifications.
const (
	DraftVerifyTrie DraftVerification = iota // exactly, at every level; needs KindTrie
	DraftVerifyHash                          // by lookups at the last level: fewer SIDs may come back; needs KindHash
	DraftVerifyNone                          // not at all: SIDs that do not exist have ordinal -1
)

// String is the verification's name.
func (v DraftVerification) String() string { return name(int32(v), "trie", "hash", "none") }

// DraftWeights is the weights of a draft head of L levels: float32, or the bits of F16 or BF16. Arrays are dense, rows
// in PyTorch's order. I: 2 Hidden with DraftInputBoth (the columns of h_l first), else Hidden; G: 3 Hidden with
// DraftTransitionGRU, else Hidden; E: Embedding, or Hidden where that is 0.
type DraftWeights[T float32 | uint16] struct {
	DType      DType // F32 of float32; else F16 or BF16
	Hidden     int   // elements of a hidden state
	Embedding  int   // of a code; 0: Hidden
	Input      DraftInput
	Transition DraftTransition
	Codebook   string  // that of the indexes which the head is for; "": any
	Codes      []int32 // [L] V_l
	// A file is replaced even if its owner, mode, access list (ACL) or an extended attribute cannot be kept.
	AllowAttributeLoss bool

	HeadWeights [][]T // [L] of [V_l, I]
	HeadBiases  [][]T // [L] of [V_l]; nil, as every list and entry that may be missing: none
	// [L - 1], of all levels except the last: of [V_l, E]. Needed except with DraftTransitionNone.
	Embeddings [][]T
	// [L - 1] of [G, E], [G], [G, Hidden], [G]: W_i, b_i, W_r, b_r. The weights are needed with RNN and GRU.
	InputWeights, InputBiases, RecurrentWeights, RecurrentBiases [][]T
}

// elements is how many an array of a list has at a level.
func (w *DraftWeights[T]) elements(list, level int) int {
	codes, inputs, gates, embedding := int(w.Codes[level]), w.Hidden, w.Hidden, w.Embedding
	if w.Input == DraftInputBoth {
		inputs *= 2
	}
	if w.Transition == DraftTransitionGRU {
		gates *= 3
	}
	if embedding == 0 {
		embedding = w.Hidden
	}
	return [...]int{codes * inputs, codes, codes * embedding, gates * embedding, gates, gates * w.Hidden, gates}[list]
}

// packed gives all arrays one after the other, and where each begins, in bytes; -1: none.
func (w *DraftWeights[T]) packed() (data []byte, offsets []int64, err error) {
	names := [...]string{"HeadWeights", "HeadBiases", "Embeddings", "InputWeights", "InputBiases", "RecurrentWeights",
		"RecurrentBiases"}
	for i, list := range [][][]T{w.HeadWeights, w.HeadBiases, w.Embeddings, w.InputWeights, w.InputBiases,
		w.RecurrentWeights, w.RecurrentBiases} {
		if len(list) > len(w.Codes) {
			return nil, nil, invalid("%s has %d levels, expected at most %d", names[i], len(list), len(w.Codes))
		}
		for l := range w.Codes {
			if l >= len(list) || list[l] == nil {
				offsets = append(offsets, -1)
				continue
			}
			if expected := w.elements(i, l); len(list[l]) != expected {
				return nil, nil, invalid("%s[%d] has %d elements, expected %d", names[i], l, len(list[l]), expected)
			}
			offsets = append(offsets, int64(len(data)))
			data = append(data, elementBytes(list[l])...)
		}
	}
	return data, offsets, nil
}

// WriteDraftHead writes a head's file, which appears whole or not at all. The same weights give the same bytes. Errors:
// InvalidArgument (the message names what is missing or wrong), IOError, Unsupported (no libsidbeam_runner.so.1).
func WriteDraftHead[T float32 | uint16](path string, weights DraftWeights[T]) error {
	if err := firstError(checkABI(), cText("path", path), cText("Codebook", weights.Codebook)); err != nil {
		return err
	}
	var one T
	if _, wide := any(one).(float32); wide != (weights.DType == F32) {
		return invalid("DType is %v, expected F32 of float32, F16 or BF16 of their bits", weights.DType)
	}
	data, offsets, err := weights.packed()
	if err != nil {
		return err
	}
	shape := []int64{int64(len(weights.Codes)), int64(weights.Hidden), int64(weights.Embedding), int64(weights.Input),
		int64(weights.Transition), int64(weights.DType)}
	f := newFailure()
	native.Flat_draft_head_write(path, shape, weights.Codes, data, offsets, weights.Codebook,
		flag(weights.AllowAttributeLoss), f.bytes())
	return f.done()
}

// DraftHead is the weights of NEZHA's draft head, which writes SIDs from the hidden states of one prefill: immutable,
// to be shared by any number of decoders and goroutines. Decoders hold what they need of it.
type DraftHead struct {
	handle *handle
	info   DraftInfo
}

// DraftInfo is what a draft head is.
type DraftInfo struct {
	Hidden, Embedding int // Embedding is 0 with DraftTransitionNone
	Input             DraftInput
	Transition        DraftTransition
	DType             DType   // of the weights in the file
	Codes             []int32 // of each level
	Parameters        int64   // elements of all weights
	FileBytes         int64
	MemoryBytes       int64
	Codebook          string // that of the indexes which the head is for; "": any
}

// OpenDraftHead opens a file and checks all of it; the file is not needed afterwards. Errors: IOError, Corrupt,
// Unsupported (a newer format, or no libsidbeam_runner.so.1), OutOfMemory.
func OpenDraftHead(path string) (*DraftHead, error) {
	if err := firstError(checkABI(), cText("path", path)); err != nil {
		return nil, err
	}
	f := newFailure()
	box := native.Flat_draft_head_open(path, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	head := &DraftHead{handle: newHandle(box)}
	return head, head.read()
}

func (h *DraftHead) read() error {
	numbers, codes := make([]int64, native.FLAT_DRAFT_COUNT), make([]int32, MaxLevels)
	var codebook []byte
	for _, last := range [2]bool{false, true} {
		f := newFailure()
		length := native.Flat_draft_head_get_info(rawOf(h), numbers, codes, codebook, f.bytes())
		runtime.KeepAlive(h)
		if err := f.done(); err != nil {
			return err
		}
		if !last {
			codebook = make([]byte, length)
		}
	}
	h.info = DraftInfo{
		Hidden:      int(numbers[native.FLAT_DRAFT_HIDDEN]),
		Embedding:   int(numbers[native.FLAT_DRAFT_EMBEDDING]),
		Input:       DraftInput(numbers[native.FLAT_DRAFT_INPUT]),
		Transition:  DraftTransition(numbers[native.FLAT_DRAFT_TRANSITION]),
		DType:       DType(numbers[native.FLAT_DRAFT_DTYPE]),
		Codes:       codes[:numbers[native.FLAT_DRAFT_LEVELS]],
		Parameters:  numbers[native.FLAT_DRAFT_PARAMETERS],
		FileBytes:   numbers[native.FLAT_DRAFT_FILE_BYTES],
		MemoryBytes: numbers[native.FLAT_DRAFT_MEMORY_BYTES],
		Codebook:    string(codebook),
	}
	return nil
}

// Info says what the head is.
func (h *DraftHead) Info() DraftInfo {
	if h == nil {
		return DraftInfo{}
	}
	return h.info
}

// Close gives the head back; its decoders go on. Closing again does nothing.
func (h *DraftHead) Close() error { return closeOf(h) }
