// The smallest complete use of sidbeam from Go: it prints what samples/minimal.c prints.
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"log"

	"sidbeam.io/sidbeam"
)

func main() {
	catalogue := []int32{0, 1, 0, 3, 2, 2}             // three items, each a SID of two codes
	logits := [2][]float32{{3, 9, 2, 1}, {1, 1, 4, 2}} // the model's, per level, here for every beam

	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}})
	check(err)
	defer builder.Close()
	check(builder.Add(sidbeam.Pairs{Codes: catalogue}))
	index, err := builder.Finish(context.Background())
	check(err)
	defer index.Close()

	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 2}) // one request at a time
	check(err)
	defer session.Close()
	check(session.Start(sidbeam.StartArgs{}))
	for _, row := range logits {
		check(session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: row, Slots: 1, Rows: 2, Columns: 4,
			RowStride: sidbeam.Broadcast}})) // both beams read the same logits row
	}

	beams, err := session.Beams()
	check(err)
	items := session.NewItems(1, 2)
	check(session.Items(nil, items))
	for m := 0; m < int(beams.Live.At(0)); m++ {
		fmt.Printf("item %d  score %.3f\n", items.Ordinals[m], beams.Scores.At(m))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
