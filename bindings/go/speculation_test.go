// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"reflect"
	"runtime"
	"testing"

	"sidbeam.io/sidbeam"
)

const speculatedCodes, speculatedSlots = 6, 2

// host is two models whose logits depend on the prefix alone, which they know by the tree's lists of ancestors.
type host struct {
	seed  int64
	codes map[int32]int32 // by place
}

func (h *host) row(prefix []int32, draft bool) []float32 {
	hash := fnv.New64()
	fmt.Fprint(hash, h.seed, prefix)
	random := rand.New(rand.NewSource(int64(hash.Sum64())))
	row := make([]float32, speculatedCodes)
	for i := range row {
		row[i] = 4 * random.Float32()
		if other := random.Float32(); draft {
			row[i] += other * float32(h.seed%3)
		}
	}
	return row
}

func (h *host) rows(tree *sidbeam.SpeculationTree, draft bool) sidbeam.Rows {
	var logits []float32
	for node := 0; node < tree.Nodes; node++ {
		h.codes[tree.Places.At(node)] = tree.Codes.At(node)
		var prefix []int32
		for _, place := range contents(tree.Ancestors.Slice(node*tree.Depth, (node+1)*tree.Depth)) {
			if place >= 0 {
				prefix = append(prefix, h.codes[place])
			}
		}
		logits = append(logits, h.row(prefix, draft)...)
	}
	return sidbeam.Rows{F32: logits, Rows: tree.Nodes, Columns: speculatedCodes}
}

// perBeam has a row per beam of the draft that is stepped next.
func (h *host) perBeam(tree *sidbeam.SpeculationTree) sidbeam.Rows {
	byNode := h.rows(tree, true)
	slots := tree.DraftSlots.Len()
	rows := sidbeam.Rows{Slots: slots, Rows: tree.DraftNodes.Len() / slots, Columns: speculatedCodes}
	for _, node := range contents(tree.DraftNodes) {
		if node < 0 {
			node = 0
		}
		rows.F32 = append(rows.F32, byNode.F32[node*speculatedCodes:(node+1)*speculatedCodes]...)
	}
	return rows
}

func (h *host) plain(t testing.TB, session *sidbeam.Session, beams *sidbeam.Beams) {
	_, width, levels := session.Shape()
	for beams.Active.At(0)+beams.Active.At(1) > 0 {
		items := session.NewItems(speculatedSlots, 1)
		must(t, session.Items(nil, items))
		var logits []float32
		for row := 0; row < speculatedSlots*width; row++ {
			logits = append(logits, h.row(items.SIDs[row*levels:row*levels+int(items.Lengths[row])], false)...)
		}
		must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits, Slots: speculatedSlots, Rows: width,
			Columns: speculatedCodes}}))
	}
}

func treeOf(t testing.TB, speculation *sidbeam.Speculation) *sidbeam.SpeculationTree {
	t.Helper()
	tree, err := speculation.Tree()
	must(t, err)
	return tree
}

func begin(t testing.TB, speculation *sidbeam.Speculation, expected int) {
	t.Helper()
	if active, err := speculation.Begin(nil); err != nil || active != expected {
		t.Fatalf("expected %d slots in the round, got %d, %v", expected, active, err)
	}
}

func (h *host) speculate(t testing.TB, speculation *sidbeam.Speculation) {
	for {
		active, err := speculation.Begin(nil)
		if must(t, err); active == 0 {
			return
		}
		tree := treeOf(t, speculation)
		for ; tree.DraftSlots.Len() > 0; tree = treeOf(t, speculation) {
			rows := h.rows(tree, true)
			if h.seed%2 == 0 {
				rows = h.perBeam(tree)
			}
			must(t, speculation.StepDraft(tree, rows))
		}
		must(t, speculation.Verify(h.rows(tree, false), nil))
	}
}

func newSpeculation(t testing.TB, target, draft *sidbeam.Session, levels int) *sidbeam.Speculation {
	t.Helper()
	speculation, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: target, Draft: draft,
		DraftLevels: levels})
	must(t, err)
	t.Cleanup(func() { _ = speculation.Close() })
	return speculation
}

func TestStrictRoundsArePlainSearchWhateverTheDraftSays(t *testing.T) {
	for seed := int64(0); seed < 40; seed++ {
		random := rand.New(rand.NewSource(seed))
		codes := make([]int32, 1+random.Intn(4))
		for i := range codes {
			codes[i] = speculatedCodes
		}
		sids := make([]int32, 40*len(codes))
		for i := range sids {
			sids[i] = random.Int31n(speculatedCodes)
		}
		index := build(t, sidbeam.BuilderConfig{Codes: codes}, sidbeam.Pairs{Codes: sids})
		config := sidbeam.SessionConfig{Constraint: index, Slots: speculatedSlots, Beams: 1 + random.Intn(6)}
		var start sidbeam.StartArgs
		if seed%4 > 1 {
			config.Mode = sidbeam.ModeStochastic
			start.Sampling = sidbeam.Sampling{Seeds: []int64{seed, 1}, Requests: []int64{0, 0}}
		}
		alone, expected := newSession(t, config)
		target, got := newSession(t, config)
		config.Beams += random.Intn(6)
		draft, _ := newSession(t, config)
		for _, session := range []*sidbeam.Session{alone, target, draft} {
			must(t, session.Start(start))
		}
		speculation := newSpeculation(t, target, draft, 1+random.Intn(3))
		(&host{seed, map[int32]int32{}}).plain(t, alone, expected)
		(&host{seed, map[int32]int32{}}).speculate(t, speculation)
		if !reflect.DeepEqual(contents(expected.Scores), contents(got.Scores)) ||
			!reflect.DeepEqual(contents(expected.Codes), contents(got.Codes)) ||
			!reflect.DeepEqual(contents(expected.Live), contents(got.Live)) ||
			!reflect.DeepEqual(contents(expected.Perturbed), contents(got.Perturbed)) {
			t.Fatalf("seed %d: expected %v, got %v", seed, contents(expected.Scores), contents(got.Scores))
		}
		stats, err := speculation.Stats()
		must(t, err)
		if stats.Levels != int64(len(codes))*speculatedSlots || stats.Rounds > stats.Levels ||
			stats.AcceptedLevels > stats.DraftedLevels ||
			seed%3 == 0 && stats.AcceptedLevels != stats.DraftedLevels {
			t.Errorf("seed %d: got %+v", seed, stats)
		}
	}
}

// threeLevels is a catalogue of four SIDs, and roundSession a started session of log-probabilities over it.
func threeLevels(t testing.TB) *sidbeam.Index {
	return build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4, 4}},
		sidbeam.Pairs{Codes: []int32{0, 1, 2, 0, 3, 0, 2, 2, 1, 3, 0, 0}})
}

func roundSession(t testing.TB, index *sidbeam.Index, beams int) (*sidbeam.Session, *sidbeam.Beams) {
	session, views := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: beams,
		Normalization: sidbeam.NormalizeNone})
	must(t, session.Start(sidbeam.StartArgs{}))
	return session, views
}

func roundRows(slots, rows int) sidbeam.Rows {
	return sidbeam.Rows{F32: []float32{-1, -2, -4, -8}, Slots: slots, Rows: rows, Columns: 4, RowStride: sidbeam.Broadcast}
}

func TestARoundByHandShowsItsTree(t *testing.T) {
	index := threeLevels(t)
	target, beams := roundSession(t, index, 2)
	draft, _ := roundSession(t, index, 3)
	speculation := newSpeculation(t, target, draft, 2)
	if tree := treeOf(t, speculation); tree.Nodes != 0 || tree.Tokens.Len() != 0 {
		t.Errorf("expected no nodes before a round, got %d", tree.Nodes)
	}
	begin(t, speculation, 1)
	for level := 0; level < 2; level++ {
		must(t, speculation.StepDraft(treeOf(t, speculation), roundRows(1, 3)))
	}
	tree := treeOf(t, speculation)
	for _, list := range []struct {
		name          string
		got, expected []int32
	}{
		{"slots", contents(tree.Slots), []int32{0}},
		{"codes", contents(tree.Codes), []int32{-1, 0, 2, 3, 1, 2, 3}},
		{"positions", contents(tree.Positions), []int32{-1, 0, 0, 0, 1, 1, 1}},
		{"parents", contents(tree.Parents), []int32{-1, 0, 0, 0, 1, 2, 1}},
		{"places", contents(tree.Places), []int32{-1, 1, 2, 3, 4, 5, 6}},
		{"ancestors", contents(tree.Ancestors)[12:], []int32{1, 4, -1, 2, 5, -1, 1, 6, -1}},
		{"draft slots", contents(tree.DraftSlots), []int32{}},
		{"draft nodes", contents(tree.DraftNodes), []int32{}},
	} {
		if !reflect.DeepEqual(list.got, list.expected) {
			t.Errorf("%s: expected %v, got %v", list.name, list.expected, list.got)
		}
	}
	tokens, offsets := contents(tree.Tokens), contents(tree.NodeOffsets)
	if !reflect.DeepEqual(tokens, []int64{-1, 0, 2, 3, 1, 2, 3}) || !reflect.DeepEqual(offsets, []int64{0, 7}) {
		t.Errorf("got tokens %v, of slots at %v", tokens, offsets)
	}
	mask := make([]byte, tree.Nodes*tree.PlaceStride)
	must(t, speculation.Mask(mask, tree.PlaceStride))
	for node := 0; node < tree.Nodes; node++ {
		expected := make([]byte, tree.PlaceStride)
		for _, place := range contents(tree.Ancestors.Slice(3*node, 3*node+3)) {
			if place >= 0 {
				expected[place] = 1
			}
		}
		if got := mask[node*tree.PlaceStride : (node+1)*tree.PlaceStride]; !reflect.DeepEqual(expected, got) {
			t.Errorf("mask of node %d: expected %v, got %v", node, expected, got)
		}
	}
	must(t, speculation.Verify(roundRows(0, 7), nil))
	if got := contents(beams.Scores); got[0] != -7 || got[1] != -10 {
		t.Errorf("expected scores -7 and -10, got %v", got)
	}
	begin(t, speculation, 0)
	stats, err := speculation.Stats()
	expected := sidbeam.SpeculationStats{Rounds: 1, Levels: 3, DraftedLevels: 2, AcceptedLevels: 2, Nodes: 7}
	if must(t, err); *stats != expected {
		t.Errorf("got %+v", stats)
	}
}

func TestSessionsThatDoNotFitAreRefused(t *testing.T) {
	index := threeLevels(t)
	target, beams := roundSession(t, index, 2)
	draft, _ := roundSession(t, index, 3)
	of := func(config sidbeam.SessionConfig) *sidbeam.Session {
		config.Beams = 3
		session, _ := newSession(t, config)
		return session
	}
	for _, bad := range []struct {
		target, draft *sidbeam.Session
		levels        int
		text          string
	}{
		{target, target, 1, "draft is target"},
		{draft, target, 1, "draft has 2 beams, expected at least 3"},
		{target, draft, 0, "draft_levels is 0"},
		{target, of(sidbeam.SessionConfig{Constraint: index, Slots: 2}), 1, "draft has slots 2, expected 1"},
		{target, of(sidbeam.SessionConfig{Constraint: index, Mode: sidbeam.ModeStochastic}), 1,
			"draft has mode 2, expected 0"},
		{target, of(sidbeam.SessionConfig{Constraint: threeItems(t)}), 1, "draft has levels 2, expected 3"},
		{nil, draft, 1, "Target or Draft is nil"},
	} {
		_, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: bad.target, Draft: bad.draft,
			DraftLevels: bad.levels})
		fails(t, err, sidbeam.InvalidArgument, bad.text)
	}
	speculation := newSpeculation(t, target, draft, 1)
	must(t, draft.Start(sidbeam.StartArgs{Constraints: []sidbeam.Constrainer{threeLevels(t)}}))
	_, err := speculation.Begin(nil)
	fails(t, err, sidbeam.InvalidArgument, "slot 0 of the draft follows another constraint")
	must(t, draft.Stop(nil, 0))
	_, err = speculation.Begin(nil)
	fails(t, err, sidbeam.BadState, "slot 0 of the draft is not started")
	_, err = speculation.Begin([]int32{1})
	fails(t, err, sidbeam.InvalidArgument, "slots[0] is 1, expected 0..0")
	if beams.Level.At(0) != 0 {
		t.Errorf("expected the target to stay, got level %d", beams.Level.At(0))
	}
	must(t, draft.Close())
	_, err = speculation.Begin(nil)
	fails(t, err, sidbeam.BadState, "session is closed")
	_, err = sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Target: target, Draft: draft, DraftLevels: 1})
	fails(t, err, sidbeam.BadState, "session is closed")
}

func TestRowsForAnotherNumberOfNodesAreRefused(t *testing.T) {
	index := threeLevels(t)
	target, beams := roundSession(t, index, 2)
	draft, _ := roundSession(t, index, 3)
	speculation := newSpeculation(t, target, draft, 2)
	wrong := sidbeam.InvalidArgument
	fails(t, speculation.Verify(roundRows(0, 1), nil), sidbeam.BadState, "no round is under way")
	fails(t, speculation.Add(), sidbeam.BadState, "no round is under way")
	begin(t, speculation, 1)
	must(t, draft.Step(sidbeam.StepArgs{Rows: roundRows(1, 3)}))
	must(t, speculation.Add())
	tree := treeOf(t, speculation)
	fails(t, speculation.Verify(roundRows(0, 3), nil), wrong, "rows are [0, 3, ...], expected [4, ...]")
	fails(t, speculation.Verify(roundRows(1, 4), nil), wrong, "a logits row per node of the tree")
	fails(t, speculation.Verify(sidbeam.Rows{F32: make([]float32, 15), Rows: 4, Columns: 4}, nil), wrong,
		"logits has 15 elements, too few")
	fails(t, speculation.Verify(roundRows(0, 4), make([]float32, 3)), wrong, "lse has 3 elements, expected at least 4")
	fails(t, speculation.Mask(make([]byte, 100), 14), wrong, "columns is 14, expected at least 15")
	fails(t, speculation.Mask(make([]byte, 59), 15), wrong, "mask has 59 elements, expected at least 60")
	if beams.Level.At(0) != 0 {
		t.Errorf("expected the target to stay, got level %d", beams.Level.At(0))
	}
	must(t, speculation.Verify(roundRows(0, 4), nil)) // the round goes on
	if beams.Level.At(0) != 2 {
		t.Errorf("expected level 2, got %d", beams.Level.At(0))
	}
	must(t, speculation.Close())
	must(t, speculation.Close())
	_, err := speculation.Begin(nil)
	fails(t, err, sidbeam.BadState, "speculation is closed")
	_, err = speculation.Tree()
	fails(t, err, sidbeam.BadState, "speculation is closed")
	_, err = speculation.Stats()
	fails(t, err, sidbeam.BadState, "speculation is closed")
	fails(t, speculation.Verify(roundRows(0, 4), nil), sidbeam.BadState, "speculation is closed")
	speculation = nil
	runtime.GC()
	if tree.Codes.At(1) != 0 || tree.Codes.At(2) != 2 { // the views keep their memory
		t.Errorf("got codes %v", contents(tree.Codes))
	}
	must(t, target.Step(sidbeam.StepArgs{Rows: roundRows(1, 2)}))
}
