// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"math"
	"math/rand"
	"os"
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
	"sidbeam.io/sidbeam/internal/emulator"
)

// emulatedRunner gives a runtime whose plugin is for the emulator, where the runner has such a plugin too.
func emulatedRunner(t *testing.T) *sidbeam.Runtime {
	t.Helper()
	if os.Getenv("SIDBEAM_RUNNER_CUDA_LIBRARY") == "" {
		t.Skip("SIDBEAM_RUNNER_CUDA_LIBRARY names no plugin: the library was built without the runner")
	}
	with, _ := emulated(t)
	return with
}

func newStream(t testing.TB) uintptr {
	t.Helper()
	stream, err := emulator.NewStream()
	must(t, err)
	return stream
}

func fetched[T sidbeam.Element](t *testing.T, address uintptr, count int) []T {
	t.Helper()
	got := make([]T, count)
	must(t, emulator.Get(address, got))
	return got
}

func near(t *testing.T, what string, got, expected []float32) {
	t.Helper()
	for i := range expected {
		if got[i] != expected[i] && math.Abs(float64(got[i]-expected[i])) > 1e-4 {
			t.Errorf("%s: expected %v, got %v", what, expected, got)
			return
		}
	}
}

func onDevice(t *testing.T, rows sidbeam.Rows) sidbeam.Rows {
	t.Helper()
	rows.F32, rows.Device = put(t, rows.F32...).slice, onCUDA
	return rows
}

// sameDrafts reads a run of the device.
func sameDrafts(t *testing.T, expected *sidbeam.Drafts, got *sidbeam.DeviceDrafts) {
	t.Helper()
	reads(t, "live", got.Live, expected.Live...)
	reads(t, "errors", got.Errors, expected.Errors...)
	reads(t, "SIDs", got.SIDs, expected.SIDs...)
	reads(t, "ordinals", got.Ordinals, expected.Ordinals...)
	near(t, "scores", fetched[float32](t, got.Scores, len(expected.Scores)), expected.Scores)
}

func TestDraftsOnADevice(t *testing.T) {
	with := emulatedRunner(t)
	head, _ := writtenHead(t)
	index := build(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{draftCodes, draftCodes, draftCodes},
		Kinds: sidbeam.KindTrie | sidbeam.KindHash}, sidbeam.Pairs{Codes: randomSIDs(100, draftLevels, draftCodes)})
	two := build(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{draftCodes, draftCodes, draftCodes}},
		sidbeam.Pairs{Codes: []int32{0, 1, 2, 7, 7, 7}})
	rows := sidbeam.Rows{F32: draftNumbers(rand.New(rand.NewSource(3)), 3*(draftLevels+1)*draftHidden), Slots: 3,
		Rows: draftLevels + 1, Columns: draftHidden}
	states, stream := onDevice(t, rows), newStream(t)
	config := sidbeam.DraftConfig{Runtime: with, Head: head, Index: index, Requests: 3, Beams: draftBeams}
	here := newDecoder(t, config)
	config.Device = onCUDA
	there := newDecoder(t, config)
	expected, err := here.Run(sidbeam.DraftArgs{Hidden: rows})
	must(t, err)
	got, err := there.RunOn(sidbeam.DraftArgs{Hidden: states, Stream: stream})
	must(t, err)
	sameDrafts(t, expected, got)

	args := sidbeam.DraftArgs{Hidden: states, Stream: stream, Widths: []int32{1, 0, 1},
		Constraints: []sidbeam.Constrainer{nil, two, two}}
	_, err = there.RunOn(args)
	fails(t, err, sidbeam.BadState, "expected Index.Upload before")
	must(t, two.Upload(sidbeam.UploadConfig{Kinds: sidbeam.KindTrie}))
	must(t, there.StartOn(args))
	args.Constraints, args.Widths = nil, nil
	got, err = there.DecodeOn(args)
	must(t, err)
	expected, err = here.Run(sidbeam.DraftArgs{Hidden: rows, Widths: []int32{1, 0, 1},
		Constraints: []sidbeam.Constrainer{nil, two, two}})
	must(t, err)
	must(t, there.Close())
	sameDrafts(t, expected, got) // the decoder's memory lives as long as what refers to it
	config.Verification = sidbeam.DraftVerifyHash
	there = newDecoder(t, config)
	config.Device = sidbeam.Device{}
	expected, err = newDecoder(t, config).Run(sidbeam.DraftArgs{Hidden: rows})
	must(t, err)
	got, err = there.RunOn(sidbeam.DraftArgs{Hidden: states})
	must(t, err)
	sameDrafts(t, expected, got)
}

func TestDraftsOnADeviceAreRefused(t *testing.T) {
	with := emulatedRunner(t)
	head, _ := writtenHead(t)
	index := build(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{draftCodes, draftCodes, draftCodes}},
		sidbeam.Pairs{Codes: randomSIDs(100, draftLevels, draftCodes)})
	config := sidbeam.DraftConfig{Runtime: with, Head: head, Index: index, Beams: draftBeams}
	here := newDecoder(t, config)
	config.Device = onCUDA
	there := newDecoder(t, config)
	rows := sidbeam.Rows{F32: make([]float32, 24), Slots: 1, Rows: draftLevels + 1, Columns: draftHidden}
	args := sidbeam.DraftArgs{Hidden: onDevice(t, rows), Stream: newStream(t)}
	_, err := there.Run(args)
	fails(t, err, sidbeam.Unsupported, "arrays are on a device, expected RunOn")
	_, err = here.Run(args)
	fails(t, err, sidbeam.NoDevice, "the device of hidden is 1")
	_, err = there.RunOn(sidbeam.DraftArgs{Hidden: rows})
	fails(t, err, sidbeam.NoDevice, "the device of hidden is 0 and device_id 0, expected CUDA")
	wrong := rows
	wrong.Device = onCUDA
	_, err = there.RunOn(sidbeam.DraftArgs{Hidden: wrong})
	fails(t, err, sidbeam.InvalidArgument, "hidden is memory of the host")
	_, err = here.RunOn(args)
	fails(t, err, sidbeam.Unsupported, "draft decoder is on the CPU, expected one on a device")
	_, err = there.RunOn(args)
	must(t, err)
	must(t, emulator.Capture(args.Stream, func() {
		_, err := there.RunOn(args)
		fails(t, err, sidbeam.BadState, "being captured")
		_, err = there.DecodeOn(args)
		must(t, err)
	}))
	must(t, there.Close())
	_, err = there.RunOn(args)
	fails(t, err, sidbeam.BadState, "draft decoder is closed")
	config.Device.ID = 7
	_, err = sidbeam.NewDraftDecoder(config)
	fails(t, err, sidbeam.NoDevice, "device_id is 7")
}

// hiddenSessions are started, one on the CPU, one on the device.
func hiddenSessions(t *testing.T, with *sidbeam.Runtime, stream uintptr) (here, there *sidbeam.Session) {
	t.Helper()
	index := build(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{hiddenCodes, hiddenCodes, hiddenCodes}},
		sidbeam.Pairs{Codes: randomSIDs(60, 3, hiddenCodes)})
	config := sidbeam.SessionConfig{Runtime: with, Constraint: index, Slots: hiddenSlots, Beams: hiddenBeams,
		Normalization: sidbeam.NormalizeValid}
	here, _ = newSession(t, config)
	config.Device = onCUDA
	there, err := sidbeam.NewSession(config)
	must(t, err)
	t.Cleanup(func() { _ = there.Close() })
	must(t, here.Start(sidbeam.StartArgs{}))
	must(t, there.Start(sidbeam.StartArgs{Stream: stream}))
	return here, there
}

func sameBeamsThere(t *testing.T, here, there *sidbeam.Session) {
	t.Helper()
	expected, err := here.Beams()
	must(t, err)
	got, err := there.DeviceBeams()
	must(t, err)
	reads(t, "codes", got.Codes, contents(expected.Codes)...)
	reads(t, "parents", got.Parents, contents(expected.Parents)...)
	reads(t, "level", got.Level, contents(expected.Level)...)
	near(t, "scores", fetched[float32](t, got.Scores, expected.Scores.Len()), contents(expected.Scores))
}

func TestHiddenStepsOnADevice(t *testing.T) {
	with := emulatedRunner(t)
	random := rand.New(rand.NewSource(5))
	weights := sidbeam.Rows{F32: quarters(random, hiddenCodes*hiddenWidth), Rows: hiddenCodes, Columns: hiddenWidth}
	bias, stream := quarters(random, hiddenCodes), newStream(t)
	of := []*sidbeam.OutputLayer{newLayer(t, sidbeam.OutputLayerConfig{Weights: weights, Bias: bias}),
		newLayer(t, sidbeam.OutputLayerConfig{Weights: onDevice(t, weights), Bias: put(t, bias...).slice})}
	for _, path := range []sidbeam.HiddenPath{sidbeam.HiddenChildren, sidbeam.HiddenProduct} {
		here, there := hiddenSessions(t, with, stream)
		byHand := newHidden(t, sidbeam.HiddenStepConfig{Session: here, Layer: of[0], Path: path})
		hidden := newHidden(t, sidbeam.HiddenStepConfig{Session: there, Layer: of[1], Path: path})
		rows := denseRows(quarters(random, hiddenSlots*hiddenBeams*hiddenWidth), hiddenWidth)
		must(t, byHand.Step(sidbeam.StepArgs{Rows: rows, InverseTemperature: 0.5}))
		must(t, hidden.Step(sidbeam.StepArgs{Rows: onDevice(t, rows), InverseTemperature: 0.5, Stream: stream}))
		sameBeamsThere(t, here, there)
		args := sidbeam.StepArgs{Slots: []int32{1}, RowMap: []int32{6, 5, 4, 3}, LSE: quarters(random, 8),
			Rows: sidbeam.Rows{F32: rows.F32, Rows: hiddenSlots * hiddenBeams, Columns: hiddenWidth}}
		must(t, byHand.Step(args))
		args.Slots, args.RowMap, args.LSE = put(t, args.Slots...).slice, put(t, args.RowMap...).slice,
			put(t, args.LSE...).slice
		args.Rows, args.Stream = onDevice(t, args.Rows), stream
		must(t, hidden.Step(args))
		sameBeamsThere(t, here, there)
		before, err := hidden.Stats()
		must(t, err)
		must(t, emulator.Capture(stream, func() { must(t, hidden.StepBy(args, sidbeam.HiddenProduct)) }))
		sameBeamsThere(t, here, there) // nothing was launched
		if stats, err := hidden.Stats(); err != nil || stats.Steps != 3 || stats.ProductSlots != before.ProductSlots+1 ||
			(before.ProductSlots > 0) != (path == sidbeam.HiddenProduct) {
			t.Errorf("path %v: got %+v, %v", path, stats, err)
		}
	}
}

func TestHiddenStepsOnADeviceAreRefused(t *testing.T) {
	with := emulatedRunner(t)
	here, there := hiddenSessions(t, with, 0)
	weights := sidbeam.Rows{F32: make([]float32, hiddenCodes*hiddenWidth), Rows: hiddenCodes, Columns: hiddenWidth}
	ofCPU := newLayer(t, sidbeam.OutputLayerConfig{Weights: weights})
	ofCUDA := newLayer(t, sidbeam.OutputLayerConfig{Weights: onDevice(t, weights)})
	wrong := weights
	wrong.Device = onCUDA
	for _, bad := range []struct {
		config sidbeam.OutputLayerConfig
		text   string
	}{
		{sidbeam.OutputLayerConfig{Weights: wrong}, "weights is memory of the host"},
		{sidbeam.OutputLayerConfig{Weights: onDevice(t, weights), Bias: make([]float32, hiddenCodes)},
			"bias is memory of the host"},
	} {
		_, err := sidbeam.NewOutputLayer(bad.config)
		fails(t, err, sidbeam.InvalidArgument, bad.text)
	}
	_, err := sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{Session: there, Layer: ofCPU})
	fails(t, err, sidbeam.Unsupported, "session is on CUDA, expected one on the CPU")
	_, err = sidbeam.NewHiddenStep(sidbeam.HiddenStepConfig{Session: here, Layer: ofCUDA})
	fails(t, err, sidbeam.Unsupported, "session is elsewhere, expected one on CUDA device 0")
	rows := denseRows(make([]float32, hiddenSlots*hiddenBeams*hiddenWidth), hiddenWidth)
	hidden := newHidden(t, sidbeam.HiddenStepConfig{Session: there, Layer: ofCUDA})
	fails(t, hidden.Step(sidbeam.StepArgs{Rows: rows}), sidbeam.NoDevice, "the device of hidden is 0, expected CUDA (1)")
	fails(t, hidden.Step(sidbeam.StepArgs{Rows: onDevice(t, rows), Slots: []int32{0, 1}}), sidbeam.InvalidArgument,
		"slots is memory of the host")
	onHost := newHidden(t, sidbeam.HiddenStepConfig{Session: here, Layer: ofCPU})
	fails(t, onHost.Step(sidbeam.StepArgs{Rows: onDevice(t, rows)}), sidbeam.NoDevice, "the device of hidden is 1")
	sameBeamsThere(t, here, there)
}

func TestStrictSpeculationOnADevice(t *testing.T) {
	with, _ := emulated(t)
	index := build(t, sidbeam.BuilderConfig{Runtime: with, Codes: []int32{speculatedCodes, speculatedCodes,
		speculatedCodes}}, sidbeam.Pairs{Codes: randomSIDs(40, 3, speculatedCodes)})
	stream := newStream(t)
	// Rows that are not normalized give the same bits anywhere.
	config := sidbeam.SessionConfig{Runtime: with, Constraint: index, Slots: speculatedSlots, Beams: 3,
		Normalization: sidbeam.NormalizeNone}
	alone, expected := newSession(t, config)
	must(t, alone.Start(sidbeam.StartArgs{}))
	models := host{4, map[int32]int32{}}
	models.plain(t, alone, expected)
	pair := make([]*sidbeam.Session, 2)
	config.Device = onCUDA
	for i := range pair {
		var err error
		pair[i], err = sidbeam.NewSession(config)
		must(t, err)
		defer pair[i].Close()
		must(t, pair[i].Start(sidbeam.StartArgs{Stream: stream}))
		config.Beams = 5
	}
	target, draft := pair[0], pair[1]
	_, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Runtime: with, Target: alone, Draft: draft, DraftLevels: 1})
	fails(t, err, sidbeam.InvalidArgument, "draft is on")
	speculation, err := sidbeam.NewSpeculation(sidbeam.SpeculationConfig{Runtime: with, Target: target, Draft: draft,
		DraftLevels: 2, Stream: stream})
	must(t, err)
	defer speculation.Close()
	must(t, emulator.Capture(stream, func() {
		_, err := speculation.Begin(nil)
		fails(t, err, sidbeam.BadState, "being captured")
	}))
	models.codes = map[int32]int32{}
	for {
		active, err := speculation.Begin(nil)
		if must(t, err); active == 0 {
			break
		}
		tree := treeOf(t, speculation)
		for ; tree.DraftSlots.Len() > 0; tree = treeOf(t, speculation) {
			rows := onDevice(t, models.rows(tree, true))
			fails(t, speculation.StepDraft(tree, rows), sidbeam.Unsupported, "expected Step of the draft and Add")
			must(t, draft.Step(sidbeam.StepArgs{Slots: put(t, contents(tree.DraftSlots)...).slice,
				RowMap: put(t, contents(tree.DraftNodes)...).slice, Rows: rows, Stream: stream}))
			must(t, speculation.Add())
		}
		rows := models.rows(tree, false)
		fails(t, speculation.Verify(rows, nil), sidbeam.NoDevice, "the device of logits is 0")
		must(t, speculation.Verify(onDevice(t, rows), nil))
	}
	got, err := target.DeviceBeams()
	must(t, err)
	reads(t, "codes", got.Codes, contents(expected.Codes)...)
	scores := fetched[float32](t, got.Scores, expected.Scores.Len())
	if !reflect.DeepEqual(scores, contents(expected.Scores)) {
		t.Errorf("expected %v, got %v", contents(expected.Scores), scores)
	}
}
