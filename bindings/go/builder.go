// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"
	"sync"

	"sidbeam.io/sidbeam/internal/native"
)

// BuilderConfig is the shape of a catalogue. Only Codes is needed.
type BuilderConfig struct {
	Runtime        *Runtime   // nil: the process's
	Codes          []int32    // [L], V_l: codes of level l are 0 .. Codes[l]-1; 1 .. MaxLevels levels
	VariableLength bool       // SIDs of 1 to L codes; else every SID has L
	IDType         IDType     // of the items
	Kinds          Kind       // or'ed; 0: KindTrie
	Collisions     Collisions // what to do where items share a SID
	Threads        int        // 1 .. 1024; 0: the runtime's
	MemoryLimit    int64      // bytes; a build that needs more fails with OutOfMemory; 0: none
	Codebook       string     // fingerprint of the codebook (tokenizer) that made the SIDs, any text
	HashSeed       int64      // with KindHash, where strangers choose SIDs: secret, but in the file; 0: from a public list

	// Write replaces a file even if its owner, mode, access list (ACL) or extended attributes cannot be kept; those that
	// are left grant nobody more than the old file did. Otherwise it fails with IOError.
	AllowAttributeLoss bool

	// The index keeps the priorities, for Index.ItemPriorities. They take nothing where all are equal, and otherwise 2, 4
	// or 8 bytes an item row, as few as their range allows.
	KeepPriorities bool
}

// Builder makes an index of (SID, item) pairs: Add, Add, ... then Write or Finish. The same pairs and options give the
// same bytes, whatever the order, the calls that brought them and the number of threads. One goroutine at a time,
// except for Progress and Close.
type Builder struct {
	handle   *handle
	levels   int
	codes    []int32
	variable bool
	idType   IDType
	running  sync.Mutex // held by calls that a context may cancel: the builder has one flag for cancellation
}

// NewBuilder makes an empty builder. Errors: InvalidArgument (a field of config), OutOfMemory.
func NewBuilder(config BuilderConfig) (*Builder, error) {
	if err := cText("Codebook", config.Codebook); err != nil {
		return nil, err
	}
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_builder_create(runtime, config.Codes, flag(config.VariableLength), int(config.IDType),
			int(config.Kinds), int(config.Collisions), saturate(config.Threads), config.MemoryLimit, config.Codebook,
			config.HashSeed, flag(config.AllowAttributeLoss), flag(config.KeepPriorities), f.bytes())
	}); err != nil {
		return nil, err
	}
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Builder{handle: newHandle(box), levels: len(config.Codes), codes: append([]int32(nil), config.Codes...),
		variable: config.VariableLength, idType: config.IDType}, nil
}

// Pairs are (SID, item) pairs, N of them.
type Pairs struct {
	Codes      []int32  // [N, L]; what is past a length is not read
	Lengths    []int32  // [N], nil: all of L codes
	IDs        []int64  // [N] ids of the items, Uint64 ids as the same bits; nil: the pair's number, over all calls
	Names      []string // [N] in place of IDs, with IDString
	Priorities []int64  // [N], nil: 0
}

// Add copies pairs. Errors: InvalidArgument with row, level and value (codes, lengths, ids here and none before),
// BadState after Plan, Write or Finish, OutOfMemory; then nothing of this call has been added.
func (b *Builder) Add(pairs Pairs) error {
	if err := made("builder", b); err != nil {
		return err
	}
	count, err := pairs.count(b.levels)
	if err != nil {
		return err
	}
	if pairs.Codes == nil {
		pairs.Codes = []int32{}
	}
	f := newFailure()
	if pairs.Names != nil {
		names, offsets := join(pairs.Names)
		native.Flat_builder_add_named(rawOf(b), pairs.Codes, b.levels, pairs.Lengths, int64(count), names, offsets,
			pairs.Priorities, f.bytes())
	} else {
		native.Flat_builder_add(rawOf(b), pairs.Codes, b.levels, pairs.Lengths, int64(count), pairs.IDs,
			pairs.Priorities, f.bytes())
	}
	runtime.KeepAlive(b)
	return f.done()
}

// count is the number of pairs, on which all given arrays must agree.
func (p *Pairs) count(levels int) (int, error) {
	if levels == 0 || len(p.Codes)%levels != 0 {
		return 0, invalid("Codes has %d elements, expected rows of %d levels", len(p.Codes), levels)
	}
	count := len(p.Codes) / levels
	for _, array := range []struct {
		name  string
		given bool
		have  int
	}{
		{"Lengths", p.Lengths != nil, len(p.Lengths)},
		{"IDs", p.IDs != nil, len(p.IDs)},
		{"Names", p.Names != nil, len(p.Names)},
		{"Priorities", p.Priorities != nil, len(p.Priorities)},
	} {
		if array.given && array.have != count {
			return 0, invalid("%s has %d elements, expected %d, as many as SIDs", array.name, array.have, count)
		}
	}
	if p.Names != nil && p.IDs != nil {
		return 0, invalid("IDs and Names are both given, expected one of them")
	}
	return count, nil
}

// join lays names one after the other: name i is bytes[offsets[i]:offsets[i+1]].
func join(names []string) (bytes []byte, offsets []int64) {
	total := 0
	for _, name := range names {
		total += len(name)
	}
	bytes, offsets = make([]byte, 0, total), make([]int64, 1, len(names)+1)
	for _, name := range names {
		bytes = append(bytes, name...)
		offsets = append(offsets, int64(len(bytes)))
	}
	return bytes, offsets
}

// SetMetadata keeps a key and a value in the index; a key that is given again replaces the value.
func (b *Builder) SetMetadata(key, value string) error {
	if err := firstError(cText("key", key), cText("value", value)); err != nil {
		return err
	}
	f := newFailure()
	native.Flat_builder_set_metadata(rawOf(b), key, value, f.bytes())
	runtime.KeepAlive(b)
	return f.done()
}

// Write writes the index beside path, syncs it and renames it to path: a reader sees the old file or the whole new one.
// On an error, or when ctx ends, the old file is as it was and nothing else is left. Links are followed; owner, mode
// and attributes of the old file are kept (see AllowAttributeLoss). May be called again.
// Errors: InvalidArgument (nothing added), Collision, Cancelled (errors.Is finds the context's error too), IOError,
// OutOfMemory.
func (b *Builder) Write(ctx context.Context, path string) error {
	if err := cText("path", path); err != nil {
		return err
	}
	return b.cancellable(ctx, func(f *failure) { native.Flat_builder_write(rawOf(b), path, f.bytes()) })
}

// Finish makes the same index in memory. Errors: those of Write except the file's.
func (b *Builder) Finish(ctx context.Context) (*Index, error) {
	var box uintptr
	if err := b.cancellable(ctx, func(f *failure) {
		box = native.Flat_builder_finish(rawOf(b), f.bytes())
	}); err != nil {
		return nil, err
	}
	return newIndex(box)
}

// Progress says how far the running call is: done of total, in units of the phase. From any goroutine.
func (b *Builder) Progress() (phase Phase, done, total int64) { return progressOf(handleOf(b)) }

// progressOf is that of a builder or a compaction, or nothing of none.
func progressOf(h *handle) (phase Phase, done, total int64) {
	if h == nil {
		return 0, 0, 0
	}
	var numbers [3]int64
	f := newFailure()
	native.Flat_get_progress(h.raw(), numbers[:], f.bytes())
	runtime.KeepAlive(h)
	_ = f.done() // with room for 3 numbers it cannot fail
	return Phase(numbers[0]), numbers[1], numbers[2]
}

// Close gives the builder's memory back, after the running call. Closing again does nothing.
func (b *Builder) Close() error { return closeOf(b) }

// cancellable runs a call that ends early when ctx does.
func (b *Builder) cancellable(ctx context.Context, call func(f *failure)) error {
	if err := made("builder", b); err != nil {
		return err
	}
	if !b.running.TryLock() {
		return &Error{Code: BadState, Message: "builder is in use by another goroutine"}
	}
	defer b.running.Unlock()
	return cancellable(ctx, b.handle, call)
}
