// SPDX-License-Identifier: Apache-2.0

package sidbeam

import "fmt"

// Limits.
const (
	MaxLevels = 255     // codes of the longest SID
	MaxCodes  = 1 << 24 // codes of a level; with variable lengths the end counts as one
	MaxBeams  = 4096    // beams of a request
)

// Kind is a set of what an index can hold, or'ed together. Each serves the strategies named.
type Kind int32

// Kinds of an index.
const (
	KindTrie        Kind = 1 // stacked CSR: StrategyTrie, and constraint sets
	KindSorted      Kind = 2 // the SIDs in order: StrategySorted, StrategySortedTopK
	KindHash        Kind = 4 // a hash set of whole SIDs: StrategyHashFinal
	KindCompactTrie Kind = 8 // as KindTrie, in less space where few SIDs share a prefix
)

// IDType says what the ids of items are.
type IDType int32

// Types of ids.
const (
	IDInt64 IDType = iota
	IDUint64
	IDString
)

// Collisions says what is done where several items share a SID.
type Collisions int32

// What to do with collisions.
const (
	CollisionsKeep  Collisions = iota // all of them, by priority falling, then id rising
	CollisionsError                   // fail with Collision, naming the SID
	CollisionsFirst                   // only the first in that order
)

// Phase is a phase of a build, or of a compaction.
type Phase int32

// Phases of a build. A compaction gathers pairs before them, and writes a file after them.
const (
	PhaseSort Phase = iota
	PhaseScan
	PhaseEmit
	PhaseChecksum
	PhaseSync
	PhaseGather
	PhaseWrite
)

// Residency says where an opened file lives.
type Residency int32

// Residencies. Replacing a mapped file by rename is safe; truncating or overwriting it in place is not, and
// ResidencyCopy is there for those who cannot exclude it.
const (
	ResidencyMap      Residency = iota // mapped; pages come in when they are first read
	ResidencyPrefault                  // mapped, and every page read before open returns
	ResidencyLock                      // as ResidencyPrefault, and locked in memory (see ulimit -l)
	ResidencyCopy                      // read into memory; the file is closed
)

// Verify says how much of an index is checked. At any depth, a damaged file never makes a reader touch memory outside
// it.
type Verify int32

// Depths of a verification.
const (
	VerifyHeader    Verify = iota // the header, and every section's bounds; constant time
	VerifyChecksums               // and every section's checksum; reads the whole file
	VerifyFull                    // and the structure itself
)

// Sync says when a live catalogue forces to the disk what was published. What is not may be lost if the machine stops,
// never anything before it; a process that stops loses nothing that was published.
type Sync int32

// Ways to sync.
const (
	SyncPublish  Sync = iota // before Publish returns
	SyncInterval             // by the first Publish, Sync or Close that comes an interval after the last time
	SyncHost                 // by Sync
)

// Strategy says how valid codes are found.
type Strategy int32

// Strategies of a session.
const (
	StrategyTrie       Strategy = iota // exact, and the fastest; needs KindTrie
	StrategySorted                     // exact, by binary search; needs KindSorted
	StrategySortedTopK                 // approximate: only the TopK best codes of a beam are looked up; needs KindSorted
	StrategyHashFinal                  // unconstrained until the last level, then looked up; needs KindHash
	StrategyNone                       // unconstrained: SIDs that do not exist have ordinal -1
)

// Mode says what a session's beams are.
type Mode int32

// Modes of a session.
const (
	ModeSearch     Mode = iota // the best SIDs
	ModeSample                 // independent draws
	ModeStochastic             // draws without replacement: stochastic beams
)

// Normalization says how logits rows become log-probabilities.
type Normalization int32

// Normalizations.
const (
	NormalizeFull  Normalization = iota // log-softmax over all columns of the logits row, then restricted to valid codes
	NormalizeLevel                      // log-softmax over the columns of the level's codes, and the end's
	NormalizeValid                      // log-softmax over the valid codes of the beam
	NormalizeNone                       // rows are log-probabilities already
)

// DType is the type of an element of logits.
type DType int32

// Types of logits.
const (
	F32 DType = iota
	F16
	BF16
)

// DeviceType says where memory is and work is done.
type DeviceType int32

// Types of devices.
const (
	CPU DeviceType = iota
	CUDA
)

// Device is a device; the zero value is the CPU.
type Device struct {
	Type DeviceType
	ID   int
}

// SlotError says what is wrong with a slot, or'ed together; 0 is nothing.
type SlotError = int32

// The flags of Beams.Errors.
const (
	SlotBadRow SlotError = 1 // a logits row with NaN or +inf could have mattered
	SlotBadLSE SlotError = 2 // a given log-sum-exp of NaN or +inf could have mattered
	// On CUDA: a beam that had to be fed had no logits row, or one that is too narrow, or too wide to be truncated.
	SlotBadMap SlotError = 4
)

func name(n int32, names ...string) string {
	if n >= 0 && int(n) < len(names) {
		return names[n]
	}
	return fmt.Sprint(n)
}

// String is the strategy's name as the command's --strategy has it.
func (s Strategy) String() string {
	return name(int32(s), "trie", "sorted", "sorted_topk", "hash_final", "none")
}

// String is the mode's name.
func (m Mode) String() string { return name(int32(m), "search", "sample", "stochastic") }

// String is the phase's name.
func (p Phase) String() string {
	return name(int32(p), "sort", "scan", "emit", "checksum", "sync", "gather", "write")
}

// String is the name of the way.
func (s Sync) String() string { return name(int32(s), "publish", "interval", "host") }

// String is the type's name.
func (t IDType) String() string { return name(int32(t), "i64", "u64", "string") }

// String is the normalization's name.
func (n Normalization) String() string { return name(int32(n), "full", "level", "valid", "none") }

// String is the type's name.
func (t DType) String() string { return name(int32(t), "f32", "f16", "bf16") }
