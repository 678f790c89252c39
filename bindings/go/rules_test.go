// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"sidbeam.io/sidbeam"
)

// attributed opens the catalogue of tests/bindings/make_attributed.c.
func attributed(t *testing.T) *sidbeam.Index {
	t.Helper()
	cases := os.Getenv("SIDBEAM_CASES")
	if cases == "" {
		t.Skip("SIDBEAM_CASES is not set; test.sh does")
	}
	index, err := sidbeam.Open(filepath.Join(filepath.Dir(cases), "attributed.sidx"), sidbeam.OpenConfig{})
	must(t, err)
	t.Cleanup(func() { _ = index.Close() })
	return index
}

// kept gives the ids less 1000 of a filter's items, as a set.
func kept(t *testing.T, index *sidbeam.Index, filter *sidbeam.Filter) map[int64]bool {
	t.Helper()
	rows, err := filter.Rows()
	must(t, err)
	ids, err := index.ItemIDs(rows)
	must(t, err)
	info, err := filter.Info()
	must(t, err)
	found := map[int64]bool{}
	for _, id := range ids {
		found[id-1000] = true
	}
	if info.Items != int64(len(rows)) || len(found) != len(rows) {
		t.Errorf("%d items in info, %d rows, %d ids", info.Items, len(rows), len(found))
	}
	return found
}

func passing(test func(i int64) bool) map[int64]bool {
	found := map[int64]bool{}
	for i := int64(0); i < 120; i++ {
		if test(i) {
			found[i] = true
		}
	}
	return found
}

func isCheap(i int64) bool { return i%11 != 0 && i%40 < 20 }

func TestFiltersOfTermsAndTexts(t *testing.T) {
	index := attributed(t)
	placed := func(i int64) bool { return i%9 != 4 }
	for text, each := range map[string]struct {
		term sidbeam.Term
		test func(i int64) bool
	}{
		"price<20": {sidbeam.Term{Attribute: "price", Op: sidbeam.TermLess, Integers: []int64{20}}, isCheap},
		"price in (3,5)": {sidbeam.Term{Attribute: "price", Integers: []int64{3, 5}},
			func(i int64) bool { return i%11 != 0 && (i%40 == 3 || i%40 == 5) }},
		"weight between 0.5 and 7.25": {
			sidbeam.Term{Attribute: "weight", Op: sidbeam.TermBetween, Numbers: []float64{0.5, 7.25}},
			func(i int64) bool { return i%13 != 5 && i >= 4 && i <= 58 }},
		"not in_stock": {sidbeam.Term{Attribute: "in_stock", Bools: []bool{false}}, func(i int64) bool { return i%3 == 0 }},
		"region in (us, ca)": {sidbeam.Term{Attribute: "region", Strings: []string{"us", "ca"}},
			func(i int64) bool { return placed(i) && i%4 < 2 }},
		"region=us": {sidbeam.Term{Attribute: "region", Op: sidbeam.TermEqual, Strings: []string{"us"}},
			func(i int64) bool { return placed(i) && i%4 == 0 }},
		"region is null": {sidbeam.Term{Attribute: "region", Op: sidbeam.TermIsNull},
			func(i int64) bool { return !placed(i) }},
		"tags contains (new, gift)": {sidbeam.Term{Attribute: "tags", Strings: []string{"new", "gift"}},
			func(i int64) bool { return i%10 != 9 && i%8&5 != 0 }},
		"false": {sidbeam.Term{Attribute: "price", Integers: []int64{}}, func(int64) bool { return false }},
	} {
		parsed, err := index.FilterText(text)
		must(t, err)
		made, err := index.FilterTerm(each.term)
		must(t, err)
		for _, filter := range []*sidbeam.Filter{parsed, made} {
			if got := kept(t, index, filter); !reflect.DeepEqual(got, passing(each.test)) {
				t.Errorf("%s: %v", text, got)
			}
			printed, err := filter.Text()
			must(t, err)
			again, err := index.FilterText(printed)
			must(t, err)
			if got := kept(t, index, again); !reflect.DeepEqual(got, passing(each.test)) {
				t.Errorf("%s, printed as %s: %v", text, printed, got)
			}
		}
	}
}

func TestFiltersOfRowsAndItems(t *testing.T) {
	index := attributed(t)
	mask, packed := make([]bool, 120), make([]byte, 15)
	want := []int64{}
	for row := int64(0); row < 120; row += 7 {
		mask[row] = true
		packed[row/8] |= 1 << (row % 8)
		want = append(want, row)
	}
	// A Roaring bitmap: cookie, one container with key 0 of so many rows, where they are, and they.
	bitmap := []byte{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, byte(len(want) - 1), 0, 16, 0, 0, 0}
	for _, row := range want {
		bitmap = append(bitmap, byte(row), 0)
	}
	byMask, err := index.FilterMask(mask)
	must(t, err)
	byBits, err := index.FilterBits(packed)
	must(t, err)
	byBitmap, err := index.FilterRoaring(bitmap)
	must(t, err)
	byRows, unknown, err := index.FilterItems(sidbeam.ItemList{Rows: append([]int64{-1, 120}, want...)})
	must(t, err)
	for i, filter := range []*sidbeam.Filter{byMask, byBits, byBitmap, byRows} {
		if rows, err := filter.Rows(); err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("filter %d: %v, %v", i, rows, err)
		}
		_, err := filter.Text()
		fails(t, err, sidbeam.Unsupported, "the filter has no text")
	}
	byID, missing, err := index.FilterItems(sidbeam.ItemList{IDs: []int64{1003, 5, 1003}})
	must(t, err)
	if got := kept(t, index, byID); unknown != 2 || missing != 1 || !reflect.DeepEqual(got, map[int64]bool{3: true}) {
		t.Errorf("%d and %d unknown, %v", unknown, missing, got)
	}
	_, err = index.FilterMask(mask[1:])
	fails(t, err, sidbeam.InvalidArgument, "119 bytes, expected 120, one per item")
	_, err = index.FilterBits(packed[1:])
	fails(t, err, sidbeam.InvalidArgument, "120 bits from bit 0 on in 14 bytes")
	_, err = index.FilterRoaring(bitmap[1:])
	fails(t, err, sidbeam.InvalidArgument, "Roaring bitmap: at byte 0")
}

func TestFiltersAreJoinedAndUpdated(t *testing.T) {
	index := attributed(t)
	cheap, err := index.FilterText("price<20")
	must(t, err)
	stocked, err := index.FilterTerm(sidbeam.Term{Attribute: "in_stock", Bools: []bool{true}})
	must(t, err)
	both, err := cheap.And(stocked)
	must(t, err)
	either, err := cheap.Or(stocked)
	must(t, err)
	dear, err := cheap.Not()
	must(t, err)
	must(t, cheap.Prepare())
	changed, unknown, err := cheap.Update(sidbeam.ItemList{IDs: []int64{1000, 1001, 3}}, []bool{true, false, true})
	must(t, err)
	for i, each := range []struct {
		filter *sidbeam.Filter
		test   func(i int64) bool
	}{
		{both, func(i int64) bool { return isCheap(i) && i%3 != 0 }},
		{either, func(i int64) bool { return isCheap(i) || i%3 != 0 }},
		{dear, func(i int64) bool { return !isCheap(i) }},
		{changed, func(i int64) bool { return i == 0 || isCheap(i) && i != 1 }},
		{cheap, isCheap},
	} {
		if got := kept(t, index, each.filter); !reflect.DeepEqual(got, passing(each.test)) {
			t.Errorf("filter %d: %v", i, got)
		}
	}
	info, err := changed.Info()
	must(t, err)
	if !info.Prepared || info.SIDs <= 0 || info.Bytes <= 0 || unknown != 1 {
		t.Errorf("%+v, %d unknown", info, unknown)
	}
	_, _, err = cheap.Update(sidbeam.ItemList{Rows: []int64{1, 2}}, []bool{true})
	fails(t, err, sidbeam.InvalidArgument, "allowed has 1 entries, expected 2, one per item")
	_, err = cheap.And(nil)
	fails(t, err, sidbeam.InvalidArgument, "the other filter is nil")
	other, err := attributed(t).FilterText("true")
	must(t, err)
	_, err = cheap.Or(other)
	fails(t, err, sidbeam.InvalidArgument, "is of another index")
	must(t, cheap.Close())
	must(t, cheap.Close())
	_, err = cheap.And(stocked)
	fails(t, err, sidbeam.BadState, "filter is closed")
	must(t, index.Close())
	if _, err := stocked.Not(); err != nil { // it holds its index
		t.Error(err)
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	index := attributed(t)
	for text, expected := range map[string]string{
		"price<":     "at byte 6",
		"colour=1":   "column 'colour' is not there, expected one of 'in_stock', 'price'",
		"price=dear": "column 'price' holds integers, expected an integer",
	} {
		_, err := index.FilterText(text)
		fails(t, err, sidbeam.InvalidArgument, expected)
	}
	for _, each := range []struct {
		term     sidbeam.Term
		expected string
	}{
		{sidbeam.Term{Attribute: "a\x00b"}, "Attribute holds a NUL byte at 1"},
		{sidbeam.Term{Attribute: "region", Strings: []string{"a\x00"}}, "Strings holds a NUL byte at 1"},
		{sidbeam.Term{Attribute: "weight", Op: sidbeam.TermLess, Numbers: []float64{math.NaN()}}, "a value of < is NaN"},
		{sidbeam.Term{Attribute: "tags", Op: sidbeam.TermLess, Strings: []string{"a"}}, "column 'tags' holds"},
		{sidbeam.Term{Attribute: "price", Op: 99, Integers: []int64{1}}, "op is 99, expected TermEqual (1) to"},
		{sidbeam.Term{Attribute: "price", Integers: []int64{1}, Strings: []string{"a"}}, "gives 2 arrays of values"},
	} {
		_, err := index.FilterTerm(each.term)
		fails(t, err, sidbeam.InvalidArgument, each.expected)
	}
	_, _, err := index.FilterItems(sidbeam.ItemList{IDs: []int64{1}, Rows: []int64{1}})
	fails(t, err, sidbeam.InvalidArgument, "items has 2 of IDs, Names and Rows, expected one of them")
	_, _, err = index.FilterItems(sidbeam.ItemList{Names: []string{"a"}})
	fails(t, err, sidbeam.InvalidArgument, "items gives names, expected numbers")
	must(t, index.Close())
	_, err = index.FilterText("true")
	fails(t, err, sidbeam.BadState, "index is closed")
}

// found steps what has been started with equal logits and gives the ids of each slot's items.
func found(t *testing.T, index *sidbeam.Index, session *sidbeam.Session, slots int) [][]int64 {
	t.Helper()
	beams, err := session.Beams()
	must(t, err)
	active := func() bool {
		for slot := 0; slot < slots; slot++ {
			if beams.Active.At(slot) > 0 {
				return true
			}
		}
		return false
	}
	for active() {
		must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: make([]float32, 3), Slots: slots, Rows: 6, Columns: 3,
			SlotStride: sidbeam.Broadcast, RowStride: sidbeam.Broadcast}}))
	}
	items := session.NewItems(slots, 10)
	must(t, session.Items(nil, items))
	out := make([][]int64, slots)
	for slot := range out {
		rows := items.ItemRows[slot*10:][:items.Offsets[(slot+1)*7-1]]
		out[slot], err = index.ItemIDs(rows)
		must(t, err)
	}
	return out
}

func sixItems(t *testing.T) *sidbeam.Index {
	t.Helper()
	return build(t, sidbeam.BuilderConfig{Codes: []int32{3, 3}},
		sidbeam.Pairs{Codes: []int32{0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 2, 2}, IDs: []int64{10, 11, 12, 13, 14, 15}})
}

func ruled(t *testing.T, index *sidbeam.Index, rules sidbeam.Rules) *sidbeam.Constraint {
	t.Helper()
	constraint, err := sidbeam.NewRuledConstraint(index, rules)
	must(t, err)
	return constraint
}

func TestSlotsHaveRulesOfTheirOwn(t *testing.T) {
	index := sixItems(t)
	filter, _, err := index.FilterItems(sidbeam.ItemList{IDs: []int64{10, 12, 15}})
	must(t, err)
	excluded := &sidbeam.ItemList{IDs: []int64{10, 99}}
	under := ruled(t, index, sidbeam.Rules{Filter: filter, Excluded: excluded})
	more, err := under.Exclude(sidbeam.ItemList{Rows: []int64{5, 77}})
	must(t, err)
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: 6, Beams: 6})
	must(t, session.Start(sidbeam.StartArgs{Constraints: []sidbeam.Constrainer{
		nil,
		ruled(t, index, sidbeam.Rules{Excluded: excluded}),
		ruled(t, index, sidbeam.Rules{Allowed: &sidbeam.ItemList{Rows: []int64{1, 3}}}),
		ruled(t, index, sidbeam.Rules{Allowed: &sidbeam.ItemList{}}),
		under,
		more,
	}}))
	filter, excluded = nil, nil
	runtime.GC() // the slots hold what they need
	want := [][]int64{{10, 11, 12, 13, 14, 15}, {11, 12, 13, 14, 15}, {11, 13}, {}, {12, 15}, {12}}
	if got := found(t, index, session, 6); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	info, err := more.Info()
	must(t, err)
	if !info.Rules || info.AllowedSIDs != 1 || info.AllowedItems != 1 || info.UnknownExcluded != 2 ||
		info.UnknownAllowed != 0 {
		t.Errorf("%+v", info)
	}
	lists, err := under.ItemRowsOf([]int64{0, 1, 4}, sidbeam.ItemLimits{})
	must(t, err)
	if !reflect.DeepEqual(lists, sidbeam.ItemLists{Rows: []int64{2, 5}, Offsets: []int64{0, 0, 1, 2}}) {
		t.Errorf("%+v", lists)
	}
}

func TestRequestsHaveRulesOfTheirOwn(t *testing.T) {
	config := tinyConfig(t)
	index := config.Constraint.(*sidbeam.Index)
	runner := newRunner(t, config)
	request := history
	whole := run(t, runner, request)
	listed, err := index.ItemRowsOf(whole.Ordinals, sidbeam.ItemLimits{})
	must(t, err)
	seen := listed.Rows
	constraint := ruled(t, index, sidbeam.Rules{Excluded: &sidbeam.ItemList{Rows: seen}})
	request.Constraint = constraint
	left := run(t, runner, request)
	listed, err = constraint.ItemRowsOf(append(left.Ordinals, whole.Ordinals...), sidbeam.ItemLimits{})
	must(t, err)
	rows := listed.Rows
	for _, row := range rows {
		for _, other := range seen {
			if row == other {
				t.Errorf("row %d is excluded", row)
			}
		}
	}
	if len(left.Ordinals) != 5 || len(rows) < 5 || left.Scores[0] > whole.Scores[4] {
		t.Errorf("%+v after %+v, rows %v", left, whole, rows)
	}
	request.Constraint = ruled(t, index, sidbeam.Rules{Allowed: &sidbeam.ItemList{}})
	if none := run(t, runner, request); len(none.Ordinals) != 0 {
		t.Errorf("%+v where nothing is allowed", none)
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	index := sixItems(t)
	other, err := sixItems(t).FilterText("true")
	must(t, err)
	_, err = sidbeam.NewRuledConstraint(index, sidbeam.Rules{Filter: other})
	fails(t, err, sidbeam.InvalidArgument, "is of another index, expected one of")
	_, err = sidbeam.NewRuledConstraint(index, sidbeam.Rules{Filter: new(sidbeam.Filter)})
	fails(t, err, sidbeam.InvalidArgument, "Filter is a Filter that was not made")
	_, err = sidbeam.NewRuledConstraint(index, sidbeam.Rules{Excluded: &sidbeam.ItemList{Names: []string{"a"}}})
	fails(t, err, sidbeam.InvalidArgument, "excluded gives names, expected numbers")
	_, err = sidbeam.NewRuledConstraint(index, sidbeam.Rules{Allowed: &sidbeam.ItemList{IDs: []int64{}, Rows: []int64{}}})
	fails(t, err, sidbeam.InvalidArgument, "Allowed has 2 of IDs, Names and Rows")
	constraint := ruled(t, index, sidbeam.Rules{Excluded: &sidbeam.ItemList{}})
	must(t, constraint.Close())
	_, err = constraint.Exclude(sidbeam.ItemList{})
	fails(t, err, sidbeam.BadState, "constraint is closed")
}

func TestGoroutinesShareAFilter(t *testing.T) {
	index := attributed(t)
	cheap, err := index.FilterText("price<20")
	must(t, err)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			constraint, err := sidbeam.NewRuledConstraint(index, sidbeam.Rules{Filter: cheap})
			if err == nil {
				defer constraint.Close()
			}
			if info, err := constraint.Info(); err != nil || info.AllowedItems != 54 {
				t.Errorf("%+v, %v", info, err)
			}
		}()
	}
	group.Wait()
}
