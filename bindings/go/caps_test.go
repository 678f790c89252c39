// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
)

// cappedByRegion gives the items of attributed of which a region has no more than cap before them; some have none.
func cappedByRegion(ids []int64, cap int) []int64 {
	counts, kept := map[int64]int{}, []int64{}
	for _, id := range ids {
		i := id - 1000
		if i%9 != 4 {
			if counts[i%4] == cap {
				continue
			}
			counts[i%4]++
		}
		kept = append(kept, id)
	}
	return kept
}

func TestCapsOnItemsOfBeams(t *testing.T) {
	const slots, beams, limit = 2, 30, 120
	index := attributed(t)
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: slots, Beams: beams})
	must(t, session.Start(sidbeam.StartArgs{}))
	for level := 0; level < 3; level++ {
		must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: make([]float32, 8), Slots: slots, Rows: beams,
			Columns: 8, SlotStride: sidbeam.Broadcast, RowStride: sidbeam.Broadcast}}))
	}
	items := session.NewItems(slots, limit)
	listed := func() []int64 { // of the second slot
		must(t, session.Items(nil, items))
		ids, err := index.ItemIDs(items.ItemRows[limit:][:items.Offsets[len(items.Offsets)-1]])
		must(t, err)
		return ids
	}
	every := listed()
	for _, cap := range []int{1, 2, 1000} {
		items.Cap, items.CapBy = cap, "region"
		want := cappedByRegion(every, cap)
		if got := listed(); !reflect.DeepEqual(got, want) {
			t.Errorf("cap %d: expected %v, got %v", cap, want, got)
		}
		if short := len(want) < len(every); (items.CameShort[1] != 0) != short || (cap < 1000) != short {
			t.Errorf("cap %d: %d items of %d, came short %v", cap, len(want), len(every), items.CameShort)
		}
	}
	items.CapBy = "colour"
	fails(t, session.Items(nil, items), sidbeam.InvalidArgument,
		"slot 0: cap_attribute 'colour' is not there, expected one of 'in_stock', 'price'")
	items.CapBy, items.CameShort = "region", make([]int32, 1)
	fails(t, session.Items(nil, items), sidbeam.InvalidArgument, "came_short has 1 elements, expected at least 2")
}

func TestCapsOnItemsOfOrdinals(t *testing.T) {
	index := attributed(t)
	info, err := index.Info()
	must(t, err)
	ordinals := make([]int64, info.SIDs)
	for i := range ordinals {
		ordinals[i] = info.SIDs - 1 - int64(i)
	}
	under := ruled(t, index, sidbeam.Rules{Excluded: &sidbeam.ItemList{IDs: []int64{1000, 1001, 1119}}})
	for _, of := range []interface {
		ItemRowsOf([]int64, sidbeam.ItemLimits) (sidbeam.ItemLists, error)
	}{index, under} {
		every, err := of.ItemRowsOf(ordinals, sidbeam.ItemLimits{})
		must(t, err)
		ids, err := index.ItemIDs(every.Rows)
		must(t, err)
		lists, err := of.ItemRowsOf(ordinals, sidbeam.ItemLimits{Cap: 3, CapBy: "region"})
		must(t, err)
		got, err := index.ItemIDs(lists.Rows)
		must(t, err)
		if want := cappedByRegion(ids, 3); !reflect.DeepEqual(got, want) || !lists.CameShort || lists.Truncated {
			t.Errorf("expected %v and that it came short, got %v, %v, %v", want, got, lists.CameShort, lists.Truncated)
		}
		lists, err = of.ItemRowsOf(ordinals, sidbeam.ItemLimits{Cap: 3, CapBy: "region", Total: 5})
		must(t, err)
		if len(lists.Rows) != 5 || lists.CameShort || !lists.Truncated {
			t.Errorf("%+v", lists)
		}
		_, err = of.ItemRowsOf(ordinals, sidbeam.ItemLimits{Cap: 3})
		fails(t, err, sidbeam.InvalidArgument, "cap is 3 and cap_attribute is nil, expected the attribute that it is for")
		_, err = of.ItemRowsOf(ordinals, sidbeam.ItemLimits{Cap: 3, CapBy: "weight"})
		fails(t, err, sidbeam.InvalidArgument, "cap_attribute 'weight' holds numbers (f32)")
	}
}

func TestCapsOnItemsOfAResult(t *testing.T) {
	config := tinyConfig(t)
	makers := make([]int64, 60)
	for i := range makers {
		makers[i] = int64(i % 3)
	}
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{tinyCodes, tinyCodes, tinyCodes}})
	must(t, err)
	must(t, builder.DeclareAttribute("maker", sidbeam.AttributeInt64))
	must(t, builder.Add(sidbeam.Pairs{Codes: randomSIDs(60, tinyLevels, tinyCodes)}))
	must(t, builder.SetAttribute("maker", sidbeam.AttributeValues{Integers: makers}))
	index, err := builder.Finish(context.Background())
	must(t, err)
	config.Constraint, config.Beams = index, 20
	result := run(t, newRunner(t, config), history)
	lists, err := index.ItemRowsOf(result.Ordinals, sidbeam.ItemLimits{Cap: 1, CapBy: "maker"})
	must(t, err)
	ids, err := index.ItemIDs(lists.Rows)
	must(t, err)
	if len(ids) != 3 || ids[0]%3 == ids[1]%3 || ids[0]%3 == ids[2]%3 || ids[1]%3 == ids[2]%3 || !lists.CameShort {
		t.Errorf("expected one of each maker, got %v, %+v", ids, lists)
	}
}
