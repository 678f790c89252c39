// SPDX-License-Identifier: Apache-2.0

//go:build !norunner

package sidbeam_test

import (
	"context"
	"fmt"
	"time"

	"sidbeam.io/sidbeam"
)

// History tokens go in, items come out. The model is one of the repository's: its codes have the tokens from 0, 64 and
// 128 on, and its last token begins an answer.
func ExampleRunner() {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{64, 64, 64}})
	check(err)
	defer builder.Close()
	check(builder.Add(sidbeam.Pairs{Codes: []int32{5, 1, 2, 5, 1, 3, 9, 0, 0}, IDs: []int64{70, 71, 72}}))
	index, err := builder.Finish(context.Background())
	check(err)
	defer index.Close()
	model, err := sidbeam.OpenModel("../../samples/train/made_up", sidbeam.ModelConfig{})
	check(err)
	defer model.Close()
	runner, err := sidbeam.NewRunner(sidbeam.RunnerConfig{Model: model, Constraint: index, Beams: 3,
		Vocabulary: &sidbeam.Vocabulary{Offsets: []int64{0, 64, 128}}, BeginTokens: []int32{192}})
	check(err)
	defer runner.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a request that is late is not run
	defer cancel()
	result, err := runner.Run(ctx, sidbeam.Request{Tokens: []int32{9, 64, 128}}) // of the item 72
	check(err)
	lists, err := index.ItemRowsOf(result.Ordinals, sidbeam.ItemLimits{})
	check(err)
	ids, err := index.ItemIDs(lists.Rows)
	check(err)
	fmt.Println(len(ids), "items, the best with codes", result.SID(0))
	// Output: 3 items, the best with codes [5 1 3]
}

// Any number of requests at a time: Submit returns before they are done.
func ExampleRunner_Submit() {
	index := books()
	defer index.Close()
	model, err := sidbeam.OpenModel("../../samples/train/made_up", sidbeam.ModelConfig{})
	check(err)
	defer model.Close()
	runner, err := sidbeam.NewRunner(sidbeam.RunnerConfig{Model: model, Constraint: index, Beams: 2, Lanes: 2})
	check(err)
	defer runner.Close()
	var pending []*sidbeam.Pending
	for token := int32(0); token < 4; token++ {
		one, err := runner.Submit(context.Background(), sidbeam.Request{Tokens: []int32{token}})
		check(err)
		pending = append(pending, one)
	}
	found := 0
	for _, one := range pending {
		result, err := one.Result()
		check(err)
		found += len(result.Scores)
	}
	fmt.Println(found, "SIDs of", len(pending), "requests")
	// Output: 8 SIDs of 4 requests
}
