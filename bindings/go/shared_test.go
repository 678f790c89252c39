// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"sidbeam.io/sidbeam"
)

// The cases that every language repeats, with C's results, which the oracle confirmed.
func TestSharedCases(t *testing.T) {
	var replay *world
	counts := map[string]int{}
	for _, r := range readCases(t) {
		if r.kind == "case" {
			replay.close()
			replay = &world{T: t, line: texts(t, r, "line")[0]}
		} else if do, known := replays[r.kind]; known {
			replay.kind = r.kind
			do(replay, r)
		} else {
			t.Fatalf("a record %q, expected one that the format names", r.kind)
		}
		if t.Failed() {
			t.Fatalf("in the case: %s", replay.line)
		}
		counts[r.kind]++
	}
	replay.close()
	t.Logf("repeated %v", counts)
	for kind := range replays {
		if counts[kind] == 0 {
			t.Errorf("no record %q among the shared cases", kind)
		}
	}
}

var replays = map[string]func(w *world, r record){
	"index": (*world).index, "session": (*world).newSession, "start": (*world).start, "step": (*world).step,
	"stop": (*world).stop, "items": (*world).items, "set": (*world).newSet, "prefixes": (*world).prefixes,
	"advance": (*world).advance, "mask": (*world).mask, "bitmask": (*world).bitmask, "topk": (*world).topK,
	"refused": (*world).refused, "sample": (*world).sample, "disc": (*world).newDisc,
	"disc_next": (*world).discNext, "disc_add": (*world).discAdd, "disc_get": (*world).discGet,
}

// world is what the records of a case have made so far.
type world struct {
	*testing.T
	line, kind string
	indexes    []sidbeam.Constrainer
	opened     []*sidbeam.Index
	session    *sidbeam.Session
	beams      *sidbeam.Beams
	set        *sidbeam.ConstraintSet
	disc       *sidbeam.Disc
}

func (w *world) close() {
	if w == nil {
		return
	}
	if w.session != nil {
		w.must(w.session.Close())
	}
	if w.set != nil {
		w.must(w.set.Close())
	}
	if w.disc != nil {
		w.must(w.disc.Close())
	}
	for _, index := range w.opened {
		w.must(index.Close())
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", w.kind, err)
	}
}

func (w *world) index(r record) {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{
		Codes:          numbers[int32](w, r, "codes"),
		VariableLength: one(w, r, "variable_length") != 0,
		IDType:         sidbeam.IDType(one(w, r, "id_type")),
		Kinds:          sidbeam.Kind(one(w, r, "kinds")),
		Collisions:     sidbeam.Collisions(one(w, r, "collisions")),
	})
	w.must(err)
	defer builder.Close()
	w.must(builder.Add(sidbeam.Pairs{Codes: numbers[int32](w, r, "sids"), Lengths: numbers[int32](w, r, "lengths"),
		IDs: numbers[int64](w, r, "ids"), Names: texts(w, r, "names"), Priorities: numbers[int64](w, r, "priorities")}))
	index, err := builder.Finish(context.Background())
	w.must(err)
	w.opened, w.indexes = append(w.opened, index), append(w.indexes, index)
	info, err := index.Info()
	w.must(err)
	same(w, "levels...", []int64{
		int64(info.Levels), int64(info.Shortest), int64(info.Longest), int64(info.Kinds), info.SIDs,
		info.Items, info.MergedPairs, info.Collisions, info.MaxItemsPerSID},
		[]int64{int64(one(w, r, "want_levels")), int64(one(w, r, "want_shortest")), int64(one(w, r, "want_longest")),
			int64(one(w, r, "want_kinds")), int64(one(w, r, "want_sids")), int64(one(w, r, "want_items")),
			int64(one(w, r, "want_merged_pairs")), int64(one(w, r, "want_collisions")),
			int64(one(w, r, "want_max_items_per_sid"))})
	w.itemRows(index, info, r)
}

func (w *world) itemRows(index *sidbeam.Index, info *sidbeam.Info, r record) {
	rows := make([]int64, info.Items)
	for i := range rows {
		rows[i] = int64(i)
	}
	ordinals, err := index.ItemOrdinals(rows)
	w.must(err)
	same(w, "ordinals", ordinals, numbers[int64](w, r, "want_ordinals"))
	if r.has("want_names") {
		names, err := index.ItemNames(rows)
		w.must(err)
		same(w, "names", names, texts(w, r, "want_names"))
		return
	}
	ids, err := index.ItemIDs(rows)
	w.must(err)
	same(w, "ids", ids, numbers[int64](w, r, "want_ids"))
}

func (w *world) vocabulary(r record) *sidbeam.Vocabulary {
	if !r.has("offsets") && !r.has("end_column") {
		return nil
	}
	vocabulary := &sidbeam.Vocabulary{Offsets: numbers[int64](w, r, "offsets")}
	if r.has("end_column") && one(w, r, "end_column") >= 0 {
		vocabulary.HasEnd, vocabulary.EndColumn = true, int64(one(w, r, "end_column"))
	}
	if maps := numbers[int32](w, r, "maps"); r.has("map_codes") {
		for _, codes := range numbers[int64](w, r, "map_codes") {
			vocabulary.Maps = append(vocabulary.Maps, maps[:codes:codes])
			maps = maps[codes:]
		}
	}
	return vocabulary
}

func (w *world) newSession(r record) {
	var err error
	w.session, err = sidbeam.NewSession(sidbeam.SessionConfig{
		Constraint:       w.indexes[0],
		Slots:            one(w, r, "slots"),
		Beams:            one(w, r, "beams"),
		Strategy:         sidbeam.Strategy(one(w, r, "strategy")),
		Normalization:    sidbeam.Normalization(one(w, r, "normalization")),
		TopK:             one(w, r, "top_k"),
		Vocabulary:       w.vocabulary(r),
		LogProbsPromised: one(w, r, "log_probs_promised") != 0,
		Mode:             sidbeam.Mode(one(w, r, "mode")),
	})
	w.must(err)
	w.beams, err = w.session.Beams()
	w.must(err)
	w.checkBeams(r)
}

func (w *world) checkBeams(r record) {
	w.Helper()
	sameView(w, "parents", w.beams.Parents, numbers[int32](w, r, "want_parents"))
	sameView(w, "codes", w.beams.Codes, numbers[int32](w, r, "want_codes"))
	sameFloats(w, "scores", w.beams.Scores, numbers[uint32](w, r, "want_scores"))
	sameView(w, "states", w.beams.States, numbers[int64](w, r, "want_states"))
	sameView(w, "live", w.beams.Live, numbers[int32](w, r, "want_live"))
	sameView(w, "active", w.beams.Active, numbers[int32](w, r, "want_active"))
	sameView(w, "level", w.beams.Level, numbers[int32](w, r, "want_level"))
	sameView(w, "errors", w.beams.Errors, numbers[int32](w, r, "want_errors"))
	sameFloats(w, "log_masses", w.beams.LogMasses, numbers[uint32](w, r, "want_log_masses"))
	sameFloats(w, "perturbed", w.beams.Perturbed, numbers[uint32](w, r, "want_perturbed"))
	sameFloats(w, "log_inclusions", w.beams.LogInclusions, numbers[uint32](w, r, "want_log_inclusions"))
	sameFloats(w, "thresholds", w.beams.Thresholds, numbers[uint32](w, r, "want_thresholds"))
}

func (w *world) startArgs(r record) sidbeam.StartArgs {
	args := sidbeam.StartArgs{Slots: numbers[int32](w, r, "slots"), Widths: numbers[int32](w, r, "widths"),
		WidthLevels: one(w, r, "width_levels")}
	for _, i := range numbers[int32](w, r, "indexes") {
		if i < 0 {
			args.Constraints = append(args.Constraints, nil)
		} else {
			args.Constraints = append(args.Constraints, w.indexes[i])
		}
	}
	if r.has("prefixes") {
		prefixes, stride := numbers[int32](w, r, "prefixes"), one(w, r, "prefix_stride")
		_, _, levels := w.session.Shape()
		if stride == 0 {
			stride = levels
		}
		for i, length := range numbers[int32](w, r, "prefix_lengths") {
			if stride == sidbeam.Broadcast {
				args.Prefixes = append(args.Prefixes, prefixes[:length])
			} else {
				args.Prefixes = append(args.Prefixes, prefixes[i*stride:][:length])
			}
		}
	}
	args.InverseTemperatures = floats(numbers[uint32](w, r, "inverse_temperatures"))
	args.SoftCaps = floats(numbers[uint32](w, r, "soft_caps"))
	args.Sampling = w.sampling(r)
	return args
}

func (w *world) sampling(r record) sidbeam.Sampling {
	how := sidbeam.Sampling{Seeds: numbers[int64](w, r, "seeds"), Requests: numbers[int64](w, r, "requests"),
		Draws: numbers[int64](w, r, "draws"), TopKs: numbers[int32](w, r, "top_ks"),
		TopPs:       floats(numbers[uint32](w, r, "top_ps")),
		NoiseScales: floats(numbers[uint32](w, r, "noise_scales"))}
	if r.has("draw_stride") {
		how.DrawStride = one(w, r, "draw_stride")
	}
	return how
}

func (w *world) start(r record) {
	w.must(w.session.Start(w.startArgs(r)))
	w.checkBeams(r)
}

func (w *world) rows(r record, slots int) sidbeam.Rows {
	rows := sidbeam.Rows{Slots: slots, Rows: one(w, r, "rows"), Columns: one(w, r, "columns"),
		RowStride: one(w, r, "row_stride")}
	switch r.types["logits"] {
	case "f32":
		rows.F32 = floats(numbers[uint32](w, r, "logits"))
	case "f16":
		rows.F16 = numbers[uint16](w, r, "logits")
	default:
		rows.BF16 = numbers[uint16](w, r, "logits")
	}
	return rows
}

func (w *world) stepArgs(r record) sidbeam.StepArgs {
	args := sidbeam.StepArgs{Slots: numbers[int32](w, r, "slots"), Rows: w.rows(r, one(w, r, "rows_slots")),
		RowMap: numbers[int32](w, r, "row_map"), LSE: floats(numbers[uint32](w, r, "lse"))}
	args.Rows.SlotStride = one(w, r, "slot_stride")
	if r.has("inverse_temperature") {
		args.InverseTemperature = floats(numbers[uint32](w, r, "inverse_temperature"))[0]
	}
	if r.has("soft_cap") {
		args.SoftCap = floats(numbers[uint32](w, r, "soft_cap"))[0]
	}
	args.InverseTemperatures = floats(numbers[uint32](w, r, "inverse_temperatures"))
	args.SoftCaps = floats(numbers[uint32](w, r, "soft_caps"))
	return args
}

func (w *world) step(r record) {
	w.must(w.session.Step(w.stepArgs(r)))
	w.checkBeams(r)
}

func (w *world) stop(r record) {
	w.must(w.session.Stop(numbers[int32](w, r, "slots"), 0))
	w.checkBeams(r)
}

func (w *world) itemsArgs(r record) (slots []int32, items *sidbeam.Items) {
	slots = numbers[int32](w, r, "slots")
	count, _, _ := w.session.Shape()
	if slots != nil {
		count = len(slots)
	}
	items = w.session.NewItems(count, one(w, r, "limit"))
	items.LimitPerSID = one(w, r, "limit_per_sid")
	items.Distinct = one(w, r, "distinct") != 0
	if one(w, r, "with_item_rows") == 0 {
		items.ItemRows = nil
	}
	return slots, items
}

func (w *world) items(r record) {
	slots, items := w.itemsArgs(r)
	w.must(w.session.Items(slots, items))
	same(w, "ordinals", items.Ordinals, numbers[int64](w, r, "want_ordinals"))
	same(w, "sids", items.SIDs, numbers[int32](w, r, "want_sids"))
	same(w, "lengths", items.Lengths, numbers[int32](w, r, "want_lengths"))
	same(w, "offsets", items.Offsets, numbers[int64](w, r, "want_offsets"))
	same(w, "truncated", items.Truncated, numbers[int32](w, r, "want_truncated"))
	if items.ItemRows == nil {
		return
	}
	_, beams, _ := w.session.Shape()
	got := []int64{}
	for i := range items.Truncated {
		for m := 0; m < beams; m++ {
			got = append(got, items.ItemRowsOf(i, m)...)
		}
	}
	same(w, "item_rows", got, numbers[int64](w, r, "want_item_rows"))
}

// refused repeats a call that C refused: same code and words, and nothing has changed.
func (w *world) refused(r record) {
	var err error
	switch call := texts(w, r, "call")[0]; call {
	case "start":
		err = w.session.Start(w.startArgs(r))
	case "step":
		err = w.session.Step(w.stepArgs(r))
	case "stop":
		err = w.session.Stop(numbers[int32](w, r, "slots"), 0)
	case "items":
		slots, items := w.itemsArgs(r)
		err = w.session.Items(slots, items)
	default:
		w.Fatalf("refused: a call %q, expected one of the session's", call)
	}
	var failed *sidbeam.Error
	code, message := one(w, r, "want_code"), sidbeam.InGo(texts(w, r, "want_message")[0])
	if !errors.As(err, &failed) || int(failed.Code) != code || failed.Message != message {
		w.Errorf("refused: expected code %d, %q, got %v", code, message, err)
	}
}

func (w *world) newSet(r record) {
	var follow []sidbeam.Constrainer
	for _, i := range numbers[int32](w, r, "indexes") {
		follow = append(follow, w.indexes[i])
	}
	if w.set != nil {
		w.must(w.set.Close())
	}
	var err error
	w.set, err = sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: follow, Vocabulary: w.vocabulary(r)})
	w.must(err)
}

func (w *world) prefixes(r record) {
	lengths := numbers[int32](w, r, "lengths")
	out := make([]int64, len(lengths))
	w.must(w.set.Prefixes(numbers[int32](w, r, "which"), numbers[int32](w, r, "codes"), one(w, r, "stride"), lengths,
		out, 0))
	same(w, "states", out, numbers[int64](w, r, "want_states"))
}

func (w *world) advance(r record) {
	codes := numbers[int32](w, r, "codes")
	out := make([]int64, len(codes))
	w.must(w.set.Advance(numbers[int32](w, r, "which"), numbers[int64](w, r, "states"), numbers[int32](w, r, "parents"),
		codes, out, 0))
	same(w, "states", out, numbers[int64](w, r, "want_states"))
}

func (w *world) mask(r record) {
	rows := w.rows(r, 0)
	w.must(w.set.Mask(numbers[int32](w, r, "which"), numbers[int64](w, r, "states"), rows, 0))
	if rows.F32 != nil {
		sameBits(w, "logits", rows.F32, numbers[uint32](w, r, "want_logits"))
		return
	}
	same(w, "logits", append(rows.F16, rows.BF16...), numbers[uint16](w, r, "want_logits"))
}

func (w *world) bitmask(r record) {
	states, per := numbers[int64](w, r, "states"), one(w, r, "words_per_row")
	words := make([]uint32, len(states)*per)
	w.must(w.set.Bitmask(numbers[int32](w, r, "which"), states, per, words, 0))
	same(w, "words", words, numbers[uint32](w, r, "want_words"))
}

func (w *world) topK(r record) {
	states, k := numbers[int64](w, r, "states"), one(w, r, "k")
	top := sidbeam.TopK{Which: numbers[int32](w, r, "which"), States: states, Logits: w.rows(r, 0), K: k,
		Normalization: sidbeam.Normalization(one(w, r, "normalization")), Codes: make([]int32, len(states)*k),
		LogProbs: make([]float32, len(states)*k), Next: make([]int64, len(states)*k)}
	w.must(w.set.TopK(top))
	same(w, "codes", top.Codes, numbers[int32](w, r, "want_codes"))
	sameBits(w, "log_probs", top.LogProbs, numbers[uint32](w, r, "want_log_probs"))
	same(w, "next", top.Next, numbers[int64](w, r, "want_next"))
}

func (w *world) sample(r record) {
	states := numbers[int64](w, r, "states")
	n := len(states)
	args := sidbeam.Sample{Which: numbers[int32](w, r, "which"), States: states, Logits: w.rows(r, 0),
		Normalization:       sidbeam.Normalization(one(w, r, "normalization")),
		InverseTemperatures: floats(numbers[uint32](w, r, "inverse_temperatures")), Sampling: w.sampling(r),
		Codes: make([]int32, n), LogProbs: make([]float32, n), LogMasses: make([]float32, n), Next: make([]int64, n)}
	w.must(w.set.Sample(args))
	same(w, "codes", args.Codes, numbers[int32](w, r, "want_codes"))
	sameBits(w, "log_probs", args.LogProbs, numbers[uint32](w, r, "want_log_probs"))
	sameBits(w, "log_masses", args.LogMasses, numbers[uint32](w, r, "want_log_masses"))
	same(w, "next", args.Next, numbers[int64](w, r, "want_next"))
}

func (w *world) newDisc(r record) {
	var err error
	w.disc, err = sidbeam.NewDisc(sidbeam.DiscConfig{
		Results:            one(w, r, "results"),
		Rounds:             one(w, r, "rounds"),
		WithoutReplacement: one(w, r, "without_replacement") != 0,
		Attempts:           one(w, r, "attempts"),
		SideBySide:         one(w, r, "side_by_side"),
		Seed:               int64(one(w, r, "seed")),
		Request:            int64(one(w, r, "request")),
	})
	w.must(err)
}

func (w *world) discNext(r record) {
	draws, err := w.disc.Next(make([]int64, one(w, r, "capacity")))
	w.must(err)
	same(w, "draws", draws, numbers[int64](w, r, "want_draws"))
}

func (w *world) discAdd(r record) {
	w.must(w.disc.Add(sidbeam.DiscDraws{Draws: numbers[int64](w, r, "draws"), Ordinals: numbers[int64](w, r, "ordinals"),
		LogProbs: floats(numbers[uint32](w, r, "log_probs")), LogMasses: floats(numbers[uint32](w, r, "log_masses"))}))
}

func (w *world) discGet(r record) {
	results, err := w.disc.Results()
	w.must(err)
	same(w, "ordinals", results.Ordinals, numbers[int64](w, r, "want_ordinals"))
	same(w, "draws", results.Draws, numbers[int64](w, r, "want_draws"))
	same(w, "accepted", results.Accepted, numbers[int32](w, r, "want_accepted"))
	same(w, "draws_used", results.DrawsUsed, numbers[int64](w, r, "want_draws_used"))
	same(w, "rows_run", results.RowsRun, numbers[int64](w, r, "want_rows_run"))
	sameBits(w, "log_probs", results.LogProbs, numbers[uint32](w, r, "want_log_probs"))
	sameBits(w, "log_masses", results.LogMasses, numbers[uint32](w, r, "want_log_masses"))
}

func floats(bits []uint32) []float32 {
	if bits == nil {
		return nil
	}
	out := make([]float32, len(bits))
	for i, b := range bits {
		out[i] = math.Float32frombits(b)
	}
	return out
}

func same[T comparable](w *world, what string, got, want []T) {
	w.Helper()
	if len(got) != len(want) {
		w.Errorf("%s: %s: %d elements, expected %d", w.kind, what, len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			w.Errorf("%s: %s[%d] is %v, expected %v", w.kind, what, i, got[i], want[i])
			return
		}
	}
}

func sameView[T int32 | int64 | float32](w *world, what string, got sidbeam.View[T], want []T) {
	w.Helper()
	out := make([]T, got.Len())
	got.CopyTo(out)
	same(w, what, out, want)
}

func sameFloats(w *world, what string, got sidbeam.View[float32], want []uint32) {
	w.Helper()
	out := make([]float32, got.Len())
	got.CopyTo(out)
	sameBits(w, what, out, want)
}

// sameBits compares floats by their bits; any NaN equals any NaN.
func sameBits(w *world, what string, got []float32, want []uint32) {
	w.Helper()
	bits := make([]uint32, len(got))
	for i, value := range got {
		bits[i] = math.Float32bits(value)
		if i < len(want) && value != value && math.Float32frombits(want[i]) != math.Float32frombits(want[i]) {
			bits[i] = want[i]
		}
	}
	same(w, what, bits, want)
}
