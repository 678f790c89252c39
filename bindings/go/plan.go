// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"

	"sidbeam.io/sidbeam/internal/native"
)

// Plan is the sizes of an index that has not been built, in bytes unless it says otherwise.
type Plan struct {
	Exact       bool  // counted; else expected for SIDs drawn uniformly (real SIDs share prefixes and need less)
	SIDs, Items int64 // distinct SIDs; (SID, item) pairs
	FileBytes   int64 // the whole file
	PeakBytes   int64 // memory that the build takes at most, the file's pages included
	HashBytes   int64
	ItemBytes   int64 // item rows, ids, names
	Levels      []LevelPlan
}

// LevelPlan is what a level takes of a [Plan].
type LevelPlan struct {
	Nodes                                                           int64 // distinct prefixes of l+1 codes
	RowPointerBytes, TokenBytes, DenseBytes, OrdinalBytes, EndBytes int64 // of the trie
	SortedBytes                                                     int64 // the column of the sorted SIDs
}

// Plan sorts what was added (Write and Finish then need not) and gives exact sizes. Errors: as Finish.
func (b *Builder) Plan(ctx context.Context) (*Plan, error) {
	numbers := make([]int64, native.FLAT_PLAN_COUNT)
	if err := b.cancellable(ctx, func(f *failure) {
		native.Flat_builder_plan(b.handle.raw(), numbers, f.bytes())
	}); err != nil {
		return nil, err
	}
	return newPlan(numbers, b.levels), nil
}

// EstimatePlan gives the sizes expected for a number of distinct SIDs drawn uniformly, one item each, without building
// anything. Errors: InvalidArgument (config, or more SIDs than the codes allow).
func EstimatePlan(config BuilderConfig, sids int64) (*Plan, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	numbers := make([]int64, native.FLAT_PLAN_COUNT)
	f := newFailure()
	native.Flat_plan_estimate(config.Codes, flag(config.VariableLength), int(config.IDType), int(config.Kinds), sids,
		numbers, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	return newPlan(numbers, len(config.Codes)), nil
}

func newPlan(numbers []int64, levels int) *Plan {
	plan := &Plan{
		Exact:     numbers[native.FLAT_PLAN_EXACT] != 0,
		SIDs:      numbers[native.FLAT_PLAN_SIDS],
		Items:     numbers[native.FLAT_PLAN_ITEMS],
		FileBytes: numbers[native.FLAT_PLAN_FILE_BYTES],
		PeakBytes: numbers[native.FLAT_PLAN_PEAK_BYTES],
		HashBytes: numbers[native.FLAT_PLAN_HASH_BYTES],
		ItemBytes: numbers[native.FLAT_PLAN_ITEM_BYTES],
	}
	for l := 0; l < levels; l++ {
		plan.Levels = append(plan.Levels, LevelPlan{
			Nodes:           numbers[native.FLAT_PLAN_NODES+l],
			RowPointerBytes: numbers[native.FLAT_PLAN_ROW_POINTER_BYTES+l],
			TokenBytes:      numbers[native.FLAT_PLAN_TOKEN_BYTES+l],
			DenseBytes:      numbers[native.FLAT_PLAN_DENSE_BYTES+l],
			OrdinalBytes:    numbers[native.FLAT_PLAN_ORDINAL_BYTES+l],
			EndBytes:        numbers[native.FLAT_PLAN_END_BYTES+l],
			SortedBytes:     numbers[native.FLAT_PLAN_SORTED_BYTES+l],
		})
	}
	return plan
}
