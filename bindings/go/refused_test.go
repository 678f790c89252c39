// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

func TestBadCatalogues(t *testing.T) {
	_, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{})
	fails(t, err, sidbeam.InvalidArgument, "levels is 0, expected 1 to 255")
	_, err = sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{0}})
	fails(t, err, sidbeam.InvalidArgument, "codes[0] is 0, expected 1 to 16777216")
	_, err = sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{2}, Threads: 1<<32 + 2})
	fails(t, err, sidbeam.InvalidArgument, "threads is 2147483647")
	_, err = sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{2}, Codebook: "\x00"})
	fails(t, err, sidbeam.InvalidArgument, "Codebook holds a NUL byte at 0")
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}, Collisions: sidbeam.CollisionsError})
	must(t, err)
	defer builder.Close()
	for _, bad := range []struct {
		pairs sidbeam.Pairs
		text  string
	}{
		{sidbeam.Pairs{Codes: []int32{0, 1, 2}}, "Codes has 3 elements, expected rows of 2 levels"},
		{sidbeam.Pairs{Codes: []int32{0, 4}}, "row 0, level 1: code 4, expected 0 to 3"},
		{sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1, 2}}, "IDs has 2 elements, expected 1"},
		{sidbeam.Pairs{Codes: []int32{0, 1}, Lengths: []int32{1}}, "lengths: row 0 has 1 codes, expected 2"},
		{sidbeam.Pairs{Codes: []int32{0, 1}, Priorities: []int64{}}, "Priorities has 0 elements, expected 1"},
		{sidbeam.Pairs{Codes: []int32{0, 1}, Names: []string{"a"}}, "id_type is not IDString"},
		{sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1}, Names: []string{"a"}}, "IDs and Names are both given"},
	} {
		fails(t, builder.Add(bad.pairs), sidbeam.InvalidArgument, bad.text)
	}
	_, err = builder.Finish(context.Background())
	fails(t, err, sidbeam.InvalidArgument, "the catalogue is empty: nothing was added")
	must(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 1, 0, 1}}))
	_, err = builder.Finish(context.Background())
	fails(t, err, sidbeam.Collision, "the SID 0,1 has the items 0 (row 0) and 1 (row 1)")
	fails(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 1}}), sidbeam.BadState,
		"nothing can be added after plan, write or finish")
	fails(t, builder.SetMetadata("a\x00", ""), sidbeam.InvalidArgument, "key holds a NUL byte at 1")
}

func TestBadSessions(t *testing.T) {
	index := threeItems(t)
	for _, bad := range []struct {
		config sidbeam.SessionConfig
		code   sidbeam.Code
		text   string
	}{
		{sidbeam.SessionConfig{}, sidbeam.InvalidArgument, "constraint is nil, expected a constraint"},
		{sidbeam.SessionConfig{Constraint: index, Beams: 5000}, sidbeam.InvalidArgument, "beams is 5000"},
		{sidbeam.SessionConfig{Constraint: index, Beams: 1<<32 + 2}, sidbeam.InvalidArgument, "beams is 2147483647"},
		{sidbeam.SessionConfig{Constraint: index, Slots: math.MinInt64}, sidbeam.InvalidArgument, "slots is -2147483648"},
		{sidbeam.SessionConfig{Constraint: index, Strategy: 9}, sidbeam.InvalidArgument, "strategy is 9"},
		{sidbeam.SessionConfig{Constraint: index, MaxListed: -1}, sidbeam.InvalidArgument, "max_listed is -1"},
		{sidbeam.SessionConfig{Constraint: index, Strategy: sidbeam.StrategySorted}, sidbeam.MissingSection,
			"constraint has no columns, expected an index built with kinds sorted"},
		{sidbeam.SessionConfig{Constraint: index, Vocabulary: &sidbeam.Vocabulary{Offsets: []int64{1}}},
			sidbeam.InvalidArgument, "vocabulary.levels is 1, expected 2"},
		{sidbeam.SessionConfig{Constraint: index,
			Vocabulary: &sidbeam.Vocabulary{Offsets: []int64{1, 2}, Maps: [][]int32{{1}}}},
			sidbeam.InvalidArgument, "map_codes has 1 levels and offsets 2"},
	} {
		_, err := sidbeam.NewSession(bad.config)
		fails(t, err, bad.code, bad.text)
	}
	_, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{})
	fails(t, err, sidbeam.InvalidArgument, "the number of constraints is 0, expected 1..")
	_, err = sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{nil}})
	fails(t, err, sidbeam.InvalidArgument, "constraints[0] is nil, expected a constraint")
	_, err = sidbeam.NewRuntime(sidbeam.RuntimeConfig{CPUTarget: "z80"})
	fails(t, err, sidbeam.Unsupported, "cpu_target is \"z80\"")
}

func TestBadCalls(t *testing.T) {
	index := threeItems(t)
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Slots: 2, Beams: 2})
	fails(t, session.Step(row(0)), sidbeam.InvalidArgument, "the number of slots of logits is 1, expected 2")
	for _, bad := range []struct {
		args sidbeam.StartArgs
		text string
	}{
		{sidbeam.StartArgs{Slots: []int32{2}}, "slots[0] is 2"},
		{sidbeam.StartArgs{Slots: []int32{1, 1}}, "slots[1] is 1, which is named before"},
		{sidbeam.StartArgs{Slots: []int32{0, 1}, Widths: []int32{1}}, "widths has 1 elements, expected at least 2"},
		{sidbeam.StartArgs{Widths: []int32{3, 1}}, "widths[0] is 3"},
		{sidbeam.StartArgs{Slots: []int32{0}, Prefixes: [][]int32{{9}}}, "prefixes[0][0] is 9"},
		{sidbeam.StartArgs{Slots: []int32{0}, Prefixes: [][]int32{{0, 1, 2}}}, "prefix_lengths[0] is 3"},
		{sidbeam.StartArgs{Prefixes: [][]int32{{0}}}, "Prefixes has 1 elements, expected 2"},
		{sidbeam.StartArgs{InverseTemperatures: []float32{-1, 1}}, "inverse_temperatures[0] is -1"},
		{sidbeam.StartArgs{SoftCaps: []float32{1}}, "soft_caps has 1 elements, expected at least 2"},
		{sidbeam.StartArgs{Constraints: []sidbeam.Constrainer{index}}, "constraints has 1 elements, expected at least 2"},
	} {
		fails(t, session.Start(bad.args), sidbeam.InvalidArgument, bad.text)
	}
	must(t, session.Start(sidbeam.StartArgs{}))
	good := sidbeam.Rows{F32: make([]float32, 16), Slots: 2, Rows: 2, Columns: 4}
	for _, bad := range []struct {
		change func(args *sidbeam.StepArgs)
		text   string
	}{
		{func(a *sidbeam.StepArgs) { a.Rows.F32 = nil }, "logits has 0 elements, too few for 2 x 2 rows of 4 columns"},
		{func(a *sidbeam.StepArgs) { a.Rows.F32 = a.Rows.F32[:15] }, "logits has 15 elements"},
		{func(a *sidbeam.StepArgs) { a.Rows.F16 = make([]uint16, 16) }, "Rows has 2 of F32, F16, BF16, expected one"},
		{func(a *sidbeam.StepArgs) { a.Rows.RowStride = -4 }, "too few for 2 x 2 rows of 4 columns with strides 0 and -4"},
		{func(a *sidbeam.StepArgs) { a.Rows.SlotStride = math.MaxInt }, "logits has 16 elements, too few"},
		{func(a *sidbeam.StepArgs) { a.Rows.Columns = 3 }, "the number of columns of logits is 3, expected at least 4"},
		{func(a *sidbeam.StepArgs) { a.LSE = make([]float32, 3) }, "lse has 3 elements, expected at least 4"},
		{func(a *sidbeam.StepArgs) { a.RowMap = make([]int32, 3) }, "row_map has 3 elements, expected at least 4"},
		{func(a *sidbeam.StepArgs) { a.InverseTemperature = -1 }, "inverse_temperature is -1, expected a finite number"},
		{func(a *sidbeam.StepArgs) { a.Slots = []int32{0, 7} }, "slots[1] is 7"},
	} {
		args := sidbeam.StepArgs{Rows: good}
		bad.change(&args)
		fails(t, session.Step(args), sidbeam.InvalidArgument, bad.text)
	}
	if beams.Level.At(0) != 0 || beams.Level.At(1) != 0 {
		t.Errorf("levels after calls that failed: expected 0 and 0, got %d and %d", beams.Level.At(0), beams.Level.At(1))
	}
	items := session.NewItems(2, 2)
	items.Ordinals = items.Ordinals[:3]
	fails(t, session.Items(nil, items), sidbeam.InvalidArgument, "ordinals has 3 elements, expected at least 4")
	must(t, session.Step(sidbeam.StepArgs{Rows: good}))
	must(t, session.Step(sidbeam.StepArgs{Rows: good}))
	fails(t, session.Step(sidbeam.StepArgs{Slots: []int32{0, 1}, Rows: good}), sidbeam.BadState,
		"slots[0] is 0, which is done")
	fails(t, session.Step(sidbeam.StepArgs{Rows: good}), sidbeam.BadState, "every slot that was started is done")
	must(t, session.Stop(nil, 0))
	fails(t, session.Step(sidbeam.StepArgs{Rows: good}), sidbeam.BadState, "no slot is started, expected one to step")
}

func TestBadLookups(t *testing.T) {
	index := threeItems(t)
	_, err := index.SID(3)
	fails(t, err, sidbeam.InvalidArgument, "ordinal is 3, expected 0..2")
	_, _, err = index.ItemRows(-1)
	fails(t, err, sidbeam.InvalidArgument, "ordinal is -1, expected 0..2")
	_, err = index.ItemIDs([]int64{0, 9})
	fails(t, err, sidbeam.InvalidArgument, "item_row is 9, expected 0..2")
	_, err = index.ItemNames([]int64{9})
	fails(t, err, sidbeam.InvalidArgument, "item_row is 9, expected 0..2")
	_, err = index.ItemOrdinals([]int64{9})
	fails(t, err, sidbeam.InvalidArgument, "item_row is 9, expected 0..2")
	_, _, err = index.Children(0, 1)
	fails(t, err, sidbeam.InvalidArgument, "length is 2, expected 0..1")
	_, _, err = index.Ordinals(0, 1, 2)
	fails(t, err, sidbeam.InvalidArgument, "length is 3, expected 0..2")
	_, err = index.FindSID(0, 1, 2)
	fails(t, err, sidbeam.InvalidArgument, "length is 3, expected 0..2")
	_, err = index.FindItemNamed("a", 0)
	fails(t, err, sidbeam.InvalidArgument, "the ids of this index are integers")
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{index}})
	must(t, err)
	defer set.Close()
	fails(t, set.Bitmask(nil, []int64{0, 0}, 1, make([]uint32, 1), 0), sidbeam.InvalidArgument,
		"words has 1 elements, expected at least 2")
	fails(t, set.Prefixes([]int32{5}, []int32{0}, 1, []int32{1}, make([]int64, 1), 0), sidbeam.InvalidArgument,
		"which[0] is 5")
	fails(t, set.Mask(nil, []int64{0}, sidbeam.Rows{F32: make([]float32, 3), Rows: 1, Columns: 4}, 0),
		sidbeam.InvalidArgument, "logits has 3 elements")
	fails(t, set.TopK(sidbeam.TopK{
		States: []int64{0}, Logits: sidbeam.Rows{F32: make([]float32, 4), Rows: 1, Columns: 4}, K: 2,
		Codes: make([]int32, 1), LogProbs: make([]float32, 2)}), sidbeam.InvalidArgument,
		"codes has 1 elements, expected at least 2")
}

// The plugin is missing, or it is there and the driver is missing.
func failsWithoutCUDA(t *testing.T, err error) {
	t.Helper()
	text := "the CUDA plugin libsidbeam_cuda.so.1 is missing"
	if err != nil && strings.Contains(err.Error(), "driver") {
		text = "no NVIDIA driver is installed (libcuda.so.1), expected one for CUDA device 0"
	}
	fails(t, err, sidbeam.NoDevice, text)
}

// Without a plugin or a device, calls that ask for CUDA say so, and the CPU goes on.
func TestNoDevice(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a CUDA device")
	}
	index := threeItems(t)
	failsWithoutCUDA(t, index.Upload(sidbeam.UploadConfig{}))
	_, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Device: sidbeam.Device{Type: sidbeam.CUDA}})
	failsWithoutCUDA(t, err)
	if kinds, bytes, err := index.Uploaded(0); err != nil || kinds != 0 || bytes != 0 {
		t.Errorf("expected nothing on the device, got %d, %d, %v", kinds, bytes, err)
	}
	must(t, index.Unload(0))
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: 2})
	must(t, session.Start(sidbeam.StartArgs{}))
	onDevice := row(0)
	onDevice.Rows.F32 = sidbeam.DeviceSlice[float32](0x7f0000000000, 4)
	onDevice.Rows.Device = sidbeam.Device{Type: sidbeam.CUDA}
	fails(t, session.Step(onDevice), sidbeam.NoDevice, "the device of logits is 1, expected CPU (0)")
	decodeThree(t, session)
	fetched, err := session.Fetch(0)
	must(t, err)
	if fetched.Scores.At(0) != beams.Scores.At(0) {
		t.Errorf("on the CPU fetch gives the beams, got %v and %v", fetched.Scores.At(0), beams.Scores.At(0))
	}
	if addresses, err := session.DeviceBeams(); err != nil || addresses.Codes == 0 {
		t.Errorf("expected addresses, got %+v %v", addresses, err)
	}
}
