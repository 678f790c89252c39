// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"

	"sidbeam.io/sidbeam"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// books has four items: their ids and, in order, the codes of each and its price.
func books() *sidbeam.Index {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}})
	check(err)
	defer builder.Close()
	check(builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	check(builder.Add(sidbeam.Pairs{Codes: []int32{0, 1, 0, 3, 2, 2, 2, 3}, IDs: []int64{70, 71, 72, 73}}))
	check(builder.SetAttribute("price", sidbeam.AttributeValues{Integers: []int64{30, 12, 25, 8}}))
	index, err := builder.Finish(context.Background())
	check(err)
	return index
}

// A catalogue becomes an index in memory; Write makes a file of the same for Open.
func ExampleBuilder() {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}}) // SIDs of two codes, each 0 .. 3
	check(err)
	defer builder.Close()
	check(builder.Add(sidbeam.Pairs{Codes: []int32{0, 1, 0, 3, 2, 2}, IDs: []int64{70, 71, 72}}))
	index, err := builder.Finish(context.Background())
	check(err)
	defer index.Close()
	info, err := index.Info()
	check(err)
	fmt.Println(info.Items, "items of", info.Levels, "codes")
	// Output: 3 items of 2 codes
}

func ExampleIndex() {
	index := books()
	defer index.Close()
	ordinal, err := index.FindSID(2, 2)
	check(err)
	from, to, err := index.ItemRows(ordinal)
	check(err)
	ids, err := index.ItemIDs([]int64{from})
	check(err)
	fmt.Println(to-from, "item, of id", ids[0])
	codes, _, err := index.Children(0) // what may follow the code 0
	check(err)
	fmt.Println(codes)
	// Output:
	// 1 item, of id 72
	// [1 3]
}

// One step per level, on the logits of a model. Here every beam has the same ones.
func ExampleSession() {
	index := books()
	defer index.Close()
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 2})
	check(err)
	defer session.Close()
	beams, err := session.Beams() // views, whose contents change with each step
	check(err)
	logits := [2][]float32{{3, 9, 2, 1}, {1, 1, 4, 2}}

	check(session.Start(sidbeam.StartArgs{}))
	for level := 0; beams.Active.At(0) > 0; level++ {
		check(session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits[level], Slots: 1, Rows: 2, Columns: 4,
			RowStride: sidbeam.Broadcast}}))
	}
	items := session.NewItems(1, 10)
	check(session.Items(nil, items))
	for m := 0; m < int(beams.Live.At(0)); m++ {
		ids, err := index.ItemIDs(items.ItemRowsOf(0, m))
		check(err)
		fmt.Printf("%d  %.3f\n", ids[0], beams.Scores.At(m))
	}
	// Output:
	// 72  -7.215
	// 71  -8.215
}

// Rules of one request: a filter that is known in advance, and what this user has seen.
func ExampleNewRuledConstraint() {
	index := books()
	defer index.Close()
	cheap, err := index.FilterText("price<28")
	check(err)
	defer cheap.Close()
	seen := sidbeam.ItemList{IDs: []int64{73}}
	constraint, err := sidbeam.NewRuledConstraint(index, sidbeam.Rules{Filter: cheap, Excluded: &seen})
	check(err)
	defer constraint.Close()
	lists, err := constraint.ItemRowsOf([]int64{0, 1, 2, 3}, sidbeam.ItemLimits{})
	check(err)
	ids, err := index.ItemIDs(lists.Rows)
	check(err)
	fmt.Println(ids)
	// Output: [71 72]
}

func ExampleFilter() {
	index := books()
	defer index.Close()
	cheap, err := index.FilterText("price<20")
	check(err)
	defer cheap.Close()
	soldOut, _, err := index.FilterItems(sidbeam.ItemList{IDs: []int64{73}})
	check(err)
	defer soldOut.Close()
	there, err := soldOut.Not()
	check(err)
	defer there.Close()
	both, err := cheap.And(there)
	check(err)
	defer both.Close()
	rows, err := both.Rows()
	check(err)
	fmt.Println(rows)
	// Output: [1]
}

// Engines that own the loop keep a state per sequence.
func ExampleConstraintSet() {
	index := books()
	defer index.Close()
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{index}})
	check(err)
	defer set.Close()
	states, words := []int64{0}, make([]uint32, 1)
	for _, code := range []int32{2, 3} {
		check(set.Bitmask(nil, states, 1, words, 0))
		fmt.Printf("%04b\n", words[0])
		check(set.Advance(nil, states, nil, []int32{code}, states, 0))
	}
	// Output:
	// 0101
	// 1100
}

// Items come and go while an index serves: each version is an index of its own.
func ExampleCatalog() {
	base := books()
	defer base.Close()
	catalog, err := sidbeam.NewCatalog(base, "", sidbeam.CatalogConfig{}) // in memory; a folder keeps it
	check(err)
	defer catalog.Close()
	check(catalog.Add(sidbeam.Pairs{Codes: []int32{1, 1}, IDs: []int64{74}}, nil))
	_, err = catalog.Remove(sidbeam.ItemList{IDs: []int64{70, 71}})
	check(err)
	version, err := catalog.Publish()
	check(err)
	newest, err := catalog.Snapshot(0)
	check(err)
	defer newest.Close()
	info, err := newest.Info()
	check(err)
	fmt.Println("version", version, "has", info.LiveItems, "items")
	// Output: version 2 has 3 items
}

func ExampleError() {
	_, err := sidbeam.Open("none.sidx", sidbeam.OpenConfig{})
	fmt.Println(err)
	fmt.Println(errors.Is(err, sidbeam.IOError), errors.Is(err, fs.ErrNotExist))
	// Output:
	// sidbeam: i/o error: cannot open 'none.sidx': No such file or directory
	// true true
}

// Draws instead of a search: exact samples of a model's law over items.
func ExampleDisc() {
	index := books()
	defer index.Close()
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 8, Mode: sidbeam.ModeSample})
	check(err)
	defer session.Close()
	disc, err := sidbeam.NewDisc(sidbeam.DiscConfig{Results: 2, Rounds: 4, Seed: 7, WithoutReplacement: true})
	check(err)
	defer disc.Close()
	beams, err := session.Beams()
	check(err)
	uniform, items := make([]float32, 4), session.NewItems(1, 8)
	for buffer := make([]int64, 8); ; {
		draws, err := disc.Next(buffer)
		check(err)
		if len(draws) == 0 {
			break
		}
		check(session.Start(sidbeam.StartArgs{Widths: []int32{int32(len(draws))}, Sampling: sidbeam.Sampling{
			Seeds: []int64{7}, Requests: []int64{0}, Draws: buffer}}))
		for beams.Active.At(0) > 0 {
			check(session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: uniform, Slots: 1, Rows: 8, Columns: 4,
				RowStride: sidbeam.Broadcast}}))
		}
		check(session.Items(nil, items))
		scores, masses := make([]float32, len(draws)), make([]float32, len(draws))
		beams.Scores.CopyTo(scores)
		beams.LogMasses.CopyTo(masses)
		check(disc.Add(sidbeam.DiscDraws{Draws: draws, Ordinals: items.Ordinals[:len(draws)], LogProbs: scores,
			LogMasses: masses}))
	}
	results, err := disc.Results()
	check(err)
	fmt.Println(len(results.Ordinals), "SIDs, different:", results.Ordinals[0] != results.Ordinals[1])
	// Output: 2 SIDs, different: true
}
