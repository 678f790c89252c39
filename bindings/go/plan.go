// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"

	"sidbeam.io/sidbeam/internal/native"
)

// Plan is the sizes of an index that has not been built, in bytes unless it says otherwise.
type Plan struct {
	Exact       bool      // counted; else expected for SIDs drawn uniformly (real SIDs share prefixes and need less)
	SIDs, Items int64     // distinct SIDs; (SID, item) pairs
	FileBytes   int64     // the whole file
	PeakBytes   int64     // most memory that the build takes, the file's pages included
	Nodes       []int64   // [L] distinct prefixes of l+1 codes
	Sections    []Section // of the file, in its order; their checksums are 0
}

// Plan sorts what was added, so that Write and Finish need not, and gives exact sizes. Errors: as Finish.
func (b *Builder) Plan(ctx context.Context) (*Plan, error) {
	var box uintptr
	if err := b.cancellable(ctx, func(f *failure) {
		box = native.Flat_builder_plan(rawOf(b), f.bytes())
	}); err != nil {
		return nil, err
	}
	return readPlan(box, b.levels)
}

// EstimatePlan gives the sizes expected for a number of distinct SIDs drawn uniformly, one item each, without building
// anything. Priorities that are kept count as of 8 bytes. Errors: InvalidArgument (config, or more SIDs than the codes
// allow).
func EstimatePlan(config BuilderConfig, sids int64) (*Plan, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	f := newFailure()
	box := native.Flat_plan_estimate(config.Codes, flag(config.VariableLength), int(config.IDType), int(config.Kinds),
		flag(config.KeepPriorities), sids, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	return readPlan(box, len(config.Codes))
}

// readPlan reads one of the library's plans, and gives it back.
func readPlan(box uintptr, levels int) (*Plan, error) {
	defer native.Flat_free(box)
	numbers := make([]int64, native.FLAT_PLAN_COUNT)
	f := newFailure()
	native.Flat_plan_get_info(box, numbers, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	sections, err := readSections(int(numbers[native.FLAT_PLAN_SECTION_COUNT]),
		func(i int, numbers []int64, kind, encoding []byte, f *failure) {
			native.Flat_plan_get_section(box, int64(i), numbers, kind, encoding, f.bytes())
		})
	return &Plan{
		Exact:     numbers[native.FLAT_PLAN_EXACT] != 0,
		SIDs:      numbers[native.FLAT_PLAN_SIDS],
		Items:     numbers[native.FLAT_PLAN_ITEMS],
		FileBytes: numbers[native.FLAT_PLAN_FILE_BYTES],
		PeakBytes: numbers[native.FLAT_PLAN_PEAK_BYTES],
		Nodes:     numbers[native.FLAT_PLAN_NODES:][:levels],
		Sections:  sections,
	}, err
}
