// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"testing"

	"sidbeam.io/sidbeam/internal/native"
)

// The constants of this package have the values of the headers.
func TestConstants(t *testing.T) {
	for _, pair := range []struct {
		name      string
		here, got int
	}{
		{"INVALID_ARGUMENT", int(InvalidArgument), native.SIDBEAM_INVALID_ARGUMENT},
		{"OUT_OF_MEMORY", int(OutOfMemory), native.SIDBEAM_OUT_OF_MEMORY},
		{"IO_ERROR", int(IOError), native.SIDBEAM_IO_ERROR},
		{"CORRUPT", int(Corrupt), native.SIDBEAM_CORRUPT},
		{"UNSUPPORTED", int(Unsupported), native.SIDBEAM_UNSUPPORTED},
		{"MISSING_SECTION", int(MissingSection), native.SIDBEAM_MISSING_SECTION},
		{"COLLISION", int(Collision), native.SIDBEAM_COLLISION},
		{"CANCELLED", int(Cancelled), native.SIDBEAM_CANCELLED},
		{"BAD_STATE", int(BadState), native.SIDBEAM_BAD_STATE},
		{"NO_DEVICE", int(NoDevice), native.SIDBEAM_NO_DEVICE},
		{"INTERNAL", int(Internal), native.SIDBEAM_INTERNAL},
		{"DEVICE_ERROR", int(DeviceError), native.SIDBEAM_DEVICE_ERROR},
		{"QUEUE_FULL", int(QueueFull), native.SIDBEAM_QUEUE_FULL},
		{"DEADLINE_EXCEEDED", int(DeadlineExceeded), native.SIDBEAM_DEADLINE_EXCEEDED},
		{"WEIGHTS_STORED", int(WeightsStored), native.SIDBEAM_WEIGHTS_STORED},
		{"WEIGHTS_F32", int(WeightsF32), native.SIDBEAM_WEIGHTS_F32},
		{"WEIGHTS_F16", int(WeightsF16), native.SIDBEAM_WEIGHTS_F16},
		{"WEIGHTS_BF16", int(WeightsBF16), native.SIDBEAM_WEIGHTS_BF16},
		{"WEIGHTS_INT8", int(WeightsInt8), native.SIDBEAM_WEIGHTS_INT8},
		{"SPECULATE_STRICT", int(SpeculateStrict), native.SIDBEAM_SPECULATE_STRICT},
		{"SPECULATE_RELAXED", int(SpeculateRelaxed), native.SIDBEAM_SPECULATE_RELAXED},
		{"MAX_LEVELS", MaxLevels, native.SIDBEAM_MAX_LEVELS},
		{"MAX_CODES", MaxCodes, native.SIDBEAM_MAX_CODES},
		{"MAX_BEAMS", MaxBeams, native.SIDBEAM_MAX_BEAMS},
		{"KIND_TRIE", int(KindTrie), native.SIDBEAM_KIND_TRIE},
		{"KIND_SORTED", int(KindSorted), native.SIDBEAM_KIND_SORTED},
		{"KIND_HASH", int(KindHash), native.SIDBEAM_KIND_HASH},
		{"KIND_COMPACT_TRIE", int(KindCompactTrie), native.SIDBEAM_KIND_COMPACT_TRIE},
		{"ID_I64", int(IDInt64), native.SIDBEAM_ID_I64},
		{"ID_U64", int(IDUint64), native.SIDBEAM_ID_U64},
		{"ID_STRING", int(IDString), native.SIDBEAM_ID_STRING},
		{"COLLISIONS_KEEP", int(CollisionsKeep), native.SIDBEAM_COLLISIONS_KEEP},
		{"COLLISIONS_ERROR", int(CollisionsError), native.SIDBEAM_COLLISIONS_ERROR},
		{"COLLISIONS_FIRST", int(CollisionsFirst), native.SIDBEAM_COLLISIONS_FIRST},
		{"PHASE_SORT", int(PhaseSort), native.SIDBEAM_PHASE_SORT},
		{"PHASE_SCAN", int(PhaseScan), native.SIDBEAM_PHASE_SCAN},
		{"PHASE_EMIT", int(PhaseEmit), native.SIDBEAM_PHASE_EMIT},
		{"PHASE_CHECKSUM", int(PhaseChecksum), native.SIDBEAM_PHASE_CHECKSUM},
		{"PHASE_SYNC", int(PhaseSync), native.SIDBEAM_PHASE_SYNC},
		{"PHASE_GATHER", int(PhaseGather), native.SIDBEAM_PHASE_GATHER},
		{"PHASE_WRITE", int(PhaseWrite), native.SIDBEAM_PHASE_WRITE},
		{"SYNC_PUBLISH", int(SyncPublish), native.SIDBEAM_SYNC_PUBLISH},
		{"SYNC_INTERVAL", int(SyncInterval), native.SIDBEAM_SYNC_INTERVAL},
		{"SYNC_HOST", int(SyncHost), native.SIDBEAM_SYNC_HOST},
		{"RESIDENCY_MAP", int(ResidencyMap), native.SIDBEAM_RESIDENCY_MAP},
		{"RESIDENCY_PREFAULT", int(ResidencyPrefault), native.SIDBEAM_RESIDENCY_PREFAULT},
		{"RESIDENCY_LOCK", int(ResidencyLock), native.SIDBEAM_RESIDENCY_LOCK},
		{"RESIDENCY_COPY", int(ResidencyCopy), native.SIDBEAM_RESIDENCY_COPY},
		{"TERM_ANY_OF of the flat layer", int(TermAnyOf), native.FLAT_TERM_ANY_OF},
		{"TERM_EQUAL", int(TermEqual), native.SIDBEAM_TERM_EQUAL},
		{"TERM_NOT_EQUAL", int(TermNotEqual), native.SIDBEAM_TERM_NOT_EQUAL},
		{"TERM_LESS", int(TermLess), native.SIDBEAM_TERM_LESS},
		{"TERM_AT_MOST", int(TermAtMost), native.SIDBEAM_TERM_AT_MOST},
		{"TERM_GREATER", int(TermGreater), native.SIDBEAM_TERM_GREATER},
		{"TERM_AT_LEAST", int(TermAtLeast), native.SIDBEAM_TERM_AT_LEAST},
		{"TERM_IN", int(TermIn), native.SIDBEAM_TERM_IN},
		{"TERM_BETWEEN", int(TermBetween), native.SIDBEAM_TERM_BETWEEN},
		{"TERM_CONTAINS", int(TermContains), native.SIDBEAM_TERM_CONTAINS},
		{"TERM_IS_NULL", int(TermIsNull), native.SIDBEAM_TERM_IS_NULL},
		{"VERIFY_HEADER", int(VerifyHeader), native.SIDBEAM_VERIFY_HEADER},
		{"VERIFY_CHECKSUMS", int(VerifyChecksums), native.SIDBEAM_VERIFY_CHECKSUMS},
		{"VERIFY_FULL", int(VerifyFull), native.SIDBEAM_VERIFY_FULL},
		{"STRATEGY_TRIE", int(StrategyTrie), native.SIDBEAM_STRATEGY_TRIE},
		{"STRATEGY_SORTED", int(StrategySorted), native.SIDBEAM_STRATEGY_SORTED},
		{"STRATEGY_SORTED_TOPK", int(StrategySortedTopK), native.SIDBEAM_STRATEGY_SORTED_TOPK},
		{"STRATEGY_HASH_FINAL", int(StrategyHashFinal), native.SIDBEAM_STRATEGY_HASH_FINAL},
		{"STRATEGY_NONE", int(StrategyNone), native.SIDBEAM_STRATEGY_NONE},
		{"MODE_SEARCH", int(ModeSearch), native.SIDBEAM_MODE_SEARCH},
		{"MODE_SAMPLE", int(ModeSample), native.SIDBEAM_MODE_SAMPLE},
		{"MODE_STOCHASTIC", int(ModeStochastic), native.SIDBEAM_MODE_STOCHASTIC},
		{"NORMALIZE_FULL", int(NormalizeFull), native.SIDBEAM_NORMALIZE_FULL},
		{"NORMALIZE_LEVEL", int(NormalizeLevel), native.SIDBEAM_NORMALIZE_LEVEL},
		{"NORMALIZE_VALID", int(NormalizeValid), native.SIDBEAM_NORMALIZE_VALID},
		{"NORMALIZE_NONE", int(NormalizeNone), native.SIDBEAM_NORMALIZE_NONE},
		{"F32", int(F32), native.SIDBEAM_DTYPE_F32},
		{"F16", int(F16), native.SIDBEAM_DTYPE_F16},
		{"BF16", int(BF16), native.SIDBEAM_DTYPE_BF16},
		{"CPU", int(CPU), native.SIDBEAM_DEVICE_CPU},
		{"CUDA", int(CUDA), native.SIDBEAM_DEVICE_CUDA},
		{"SLOT_BAD_ROW", int(SlotBadRow), native.SIDBEAM_SLOT_BAD_ROW},
		{"SLOT_BAD_LSE", int(SlotBadLSE), native.SIDBEAM_SLOT_BAD_LSE},
		{"SLOT_BAD_MAP", int(SlotBadMap), native.SIDBEAM_SLOT_BAD_MAP},
		{"LOG_ERROR", int(LogErrors) - 1, native.SIDBEAM_LOG_ERROR},
		{"LOG_WARNING", int(LogWarnings) - 1, native.SIDBEAM_LOG_WARNING},
		{"LOG_INFO", int(LogInfo) - 1, native.SIDBEAM_LOG_INFO},
		{"HIDDEN_FASTEST", int(HiddenFastest), native.SIDBEAM_HIDDEN_FASTEST},
		{"HIDDEN_CHILDREN", int(HiddenChildren), native.SIDBEAM_HIDDEN_CHILDREN},
		{"HIDDEN_PRODUCT", int(HiddenProduct), native.SIDBEAM_HIDDEN_PRODUCT},
		{"DRAFT_INPUT_BOTH", int(DraftInputBoth), native.SIDBEAM_DRAFT_INPUT_BOTH},
		{"DRAFT_INPUT_HIDDEN", int(DraftInputHidden), native.SIDBEAM_DRAFT_INPUT_HIDDEN},
		{"DRAFT_INPUT_STATE", int(DraftInputState), native.SIDBEAM_DRAFT_INPUT_STATE},
		{"DRAFT_TRANSITION_RNN", int(DraftTransitionRNN), native.SIDBEAM_DRAFT_TRANSITION_RNN},
		{"DRAFT_TRANSITION_GRU", int(DraftTransitionGRU), native.SIDBEAM_DRAFT_TRANSITION_GRU},
		{"DRAFT_TRANSITION_ADD", int(DraftTransitionAdd), native.SIDBEAM_DRAFT_TRANSITION_ADD},
		{"DRAFT_TRANSITION_NONE", int(DraftTransitionNone), native.SIDBEAM_DRAFT_TRANSITION_NONE},
		{"DRAFT_VERIFY_TRIE", int(DraftVerifyTrie), native.SIDBEAM_DRAFT_VERIFY_TRIE},
		{"DRAFT_VERIFY_HASH", int(DraftVerifyHash), native.SIDBEAM_DRAFT_VERIFY_HASH},
		{"DRAFT_VERIFY_NONE", int(DraftVerifyNone), native.SIDBEAM_DRAFT_VERIFY_NONE},
		{"BEAMS_COUNT", len(places{}), native.FLAT_BEAMS_COUNT},
	} {
		if pair.here != pair.got {
			t.Errorf("%s is %d here and %d in the headers", pair.name, pair.here, pair.got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, pair := range [][2]string{
		{Corrupt.Name(), "corrupt"}, {Code(99).Name(), "unknown status"}, {StrategySortedTopK.String(), "sorted_topk"},
		{Strategy(9).String(), "9"}, {BF16.String(), "bf16"}, {WeightsInt8.String(), "int8"}, {IDString.String(), "string"},
		{PhaseSync.String(), "sync"}, {PhaseWrite.String(), "write"}, {SyncInterval.String(), "interval"},
		{HiddenProduct.String(), "product"}, {DraftInputState.String(), "state"}, {DraftTransitionAdd.String(), "add"},
		{DraftVerifyNone.String(), "none"}, {SpeculateRelaxed.String(), "relaxed"},
		{NormalizeValid.String(), "valid"}, {ModeStochastic.String(), "stochastic"}, {Version(), "0.1.0"},
		{(&Error{Code: Corrupt, Message: "why"}).Error(), "sidbeam: corrupt: why"}, {Corrupt.Error(), "sidbeam: corrupt"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("expected %q, got %q", pair[1], pair[0])
		}
	}
}
