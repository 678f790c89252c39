// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"sidbeam.io/sidbeam"
)

// written writes the three items to a file and gives its path.
func written(t testing.TB, pairs sidbeam.Pairs) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.sidx")
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}, Codebook: "rq-vae 7"}, pairs)
	must(t, builder.SetMetadata("made by", "a test"))
	must(t, builder.Write(context.Background(), path))
	return path
}

var threePairs = sidbeam.Pairs{Codes: []int32{0, 1, 0, 3, 2, 2}}

func TestLookups(t *testing.T) {
	index, err := sidbeam.Open(written(t, threePairs), sidbeam.OpenConfig{Verify: sidbeam.VerifyFull})
	must(t, err)
	defer index.Close()
	info, err := index.Info()
	must(t, err)
	if info.Levels != 2 || info.SIDs != 3 || info.Codes[1] != 4 || info.Nodes[1] != 3 || len(info.Fingerprint) != 32 {
		t.Errorf("info: expected 2 levels of 4 codes and 3 SIDs, got %+v", info)
	}
	if codes, end, err := index.Children(0); err != nil || end || len(codes) != 2 || codes[0] != 1 || codes[1] != 3 {
		t.Errorf("children of 0: expected 1 and 3, got %v %v %v", codes, end, err)
	}
	if lo, hi, err := index.Ordinals(0); err != nil || lo != 0 || hi != 2 {
		t.Errorf("ordinals of 0: expected [0, 2), got [%d, %d) %v", lo, hi, err)
	}
	ordinals, err := index.FindSIDs([][]int32{{2, 2}, {1, 1}, {0}})
	if err != nil || ordinals[0] != 2 || ordinals[1] != -1 || ordinals[2] != -1 {
		t.Errorf("ordinals: expected 2, -1, -1, got %v %v", ordinals, err)
	}
	if sid, err := index.SID(1); err != nil || len(sid) != 2 || sid[1] != 3 {
		t.Errorf("SID 1: expected 0 3, got %v %v", sid, err)
	}
	if ordinal, err := index.FindSID(0, 3); err != nil || ordinal != 1 {
		t.Errorf("SID 0 3: expected ordinal 1, got %d %v", ordinal, err)
	}
	if lo, hi, err := index.ItemRows(2); err != nil || lo != 2 || hi != 3 {
		t.Errorf("item rows of 2: expected [2, 3), got [%d, %d) %v", lo, hi, err)
	}
	if row, err := index.FindItem(1, 0); err != nil || row != 1 {
		t.Errorf("item 1: expected row 1, got %d %v", row, err)
	}
	if metadata, err := index.Metadata(); err != nil || metadata["made by"] != "a test" {
		t.Errorf("metadata: got %v %v", metadata, err)
	}
	if codebook, err := index.Codebook(); err != nil || codebook != "rq-vae 7" {
		t.Errorf("codebook: got %q %v", codebook, err)
	}
	sections, err := index.Sections()
	if must(t, err); len(sections) != info.Sections || sections[0].Bytes <= 0 || sections[0].Kind == "" {
		t.Errorf("sections: got %+v", sections)
	}
}

// SIDs 0 and 1 have items 7 5 and 5 8, as rows 0 1 and 2 3.
func TestItemRowsOf(t *testing.T) {
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{2}},
		sidbeam.Pairs{Codes: []int32{0, 0, 1, 1}, IDs: []int64{7, 5, 5, 8}, Priorities: []int64{1, 0, 1, 0}})
	index, err := builder.Finish(context.Background())
	must(t, err)
	defer index.Close()
	for _, c := range []struct {
		limits        sidbeam.ItemLimits
		rows, offsets []int64
		truncated     bool
	}{
		{sidbeam.ItemLimits{}, []int64{2, 3, 0, 1}, []int64{0, 2, 2, 4}, false},
		{sidbeam.ItemLimits{Distinct: true}, []int64{2, 3, 0}, []int64{0, 2, 2, 3}, false},
		{sidbeam.ItemLimits{Distinct: true, Total: 3}, []int64{2, 3, 0}, []int64{0, 2, 2, 3}, false},
		{sidbeam.ItemLimits{Total: 3}, []int64{2, 3, 0}, []int64{0, 2, 2, 3}, true},
		{sidbeam.ItemLimits{PerSID: 1}, []int64{2, 0}, []int64{0, 1, 1, 2}, true},
	} {
		got, err := index.ItemRowsOf([]int64{1, -1, 0}, c.limits)
		must(t, err)
		if want := (sidbeam.ItemLists{Rows: c.rows, Offsets: c.offsets, Truncated: c.truncated}); !reflect.DeepEqual(got,
			want) {
			t.Errorf("%+v: expected %+v, got %+v", c.limits, want, got)
		}
	}
	_, err = index.ItemRowsOf([]int64{2}, sidbeam.ItemLimits{})
	fails(t, err, sidbeam.InvalidArgument, "ordinals[0] is 2, expected -1..1")
}

func TestVerified(t *testing.T) {
	path := written(t, threePairs)
	expect := func(index *sidbeam.Index, depth sidbeam.Verify) {
		t.Helper()
		info, err := index.Info()
		if must(t, err); info.Verified != depth {
			t.Errorf("verified: expected %v, got %v", depth, info.Verified)
		}
	}
	depths := []sidbeam.Verify{sidbeam.VerifyHeader, sidbeam.VerifyChecksums, sidbeam.VerifyFull}
	for _, opened := range depths {
		index, err := sidbeam.Open(path, sidbeam.OpenConfig{Verify: opened})
		must(t, err)
		expect(index, opened)
		for _, depth := range depths[opened:] {
			must(t, index.Verify(depth))
			expect(index, depth)
		}
		must(t, index.Verify(sidbeam.VerifyHeader))
		expect(index, sidbeam.VerifyFull)
		must(t, index.Close())
	}
	peeked, err := sidbeam.Peek(path)
	if must(t, err); peeked.Verified != sidbeam.VerifyHeader {
		t.Errorf("of a peek: expected header, got %v", peeked.Verified)
	}
	expect(build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}}, threePairs), sidbeam.VerifyFull)
}

func TestHashSeed(t *testing.T) {
	made := func(seed int64) string {
		path := filepath.Join(t.TempDir(), "index.sidx")
		config := sidbeam.BuilderConfig{Codes: []int32{4, 4}, Kinds: sidbeam.KindHash, HashSeed: seed}
		must(t, builderOf(t, config, threePairs).Write(context.Background(), path))
		bytes, err := os.ReadFile(path)
		must(t, err)
		return string(bytes)
	}
	if made(7) != made(7) || made(7) == made(0) || made(7) == made(-7) {
		t.Error("a seed, and nothing else here, should decide the bytes")
	}
}

func TestNamesAndVariableLength(t *testing.T) {
	names := []string{"Schuh", "", "靴"}
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}, VariableLength: true, IDType: sidbeam.IDString},
		sidbeam.Pairs{Codes: []int32{0, 9, 0, 3, 2, 2}, Lengths: []int32{1, 2, 2}, Names: names})
	got, err := index.ItemNames([]int64{2, 1, 0})
	must(t, err)
	// The end of a SID comes after every code: 0 3 before 0.
	if got[0] != "靴" || got[1] != "Schuh" || got[2] != "" {
		t.Errorf("names: expected those of rows 2, 1, 0, got %q", got)
	}
	for i, name := range []string{"", "Schuh", "靴"} {
		if row, err := index.FindItemNamed(name, 0); err != nil || row != int64(i) {
			t.Errorf("%q: expected row %d, got %d %v", name, i, row, err)
		}
	}
	_, err = index.FindItem(0, 0)
	fails(t, err, sidbeam.InvalidArgument, "the ids of this index are strings")
	codes, end, err := index.Children(0)
	if must(t, err); !end || len(codes) != 1 {
		t.Errorf("children of 0: expected 3 and an end, got %v %v", codes, end)
	}
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: 2,
		Vocabulary: &sidbeam.Vocabulary{Maps: [][]int32{{3, 2, 1, 0}, nil}, HasEnd: true, EndColumn: 4}})
	must(t, session.Start(sidbeam.StartArgs{}))
	rows := sidbeam.Rows{F32: []float32{0, 0, 0, 9, 5}, Slots: 1, Rows: 1, Columns: 5}
	must(t, session.Step(sidbeam.StepArgs{Rows: rows}))
	if beams.Codes.At(0) != 0 {
		t.Errorf("the first level's map has code 0 in column 3: expected 0, got %d", beams.Codes.At(0))
	}
	rows.Rows, rows.RowStride = 2, sidbeam.Broadcast
	must(t, session.Step(sidbeam.StepArgs{Rows: rows}))
	if beams.Codes.At(0) != 3 {
		t.Errorf("the second level: expected code 3 of column 3, got %d", beams.Codes.At(0))
	}
	_, err = sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index})
	fails(t, err, sidbeam.InvalidArgument, "vocabulary.end_column is -1, expected a column")
}

func TestOpenMemory(t *testing.T) {
	data, err := os.ReadFile(written(t, threePairs))
	must(t, err)
	index, err := sidbeam.OpenMemory(data[:len(data):len(data)], sidbeam.OpenConfig{})
	must(t, err)
	for i := range data {
		data[i] = 0xff // it was copied
	}
	must(t, index.Verify(sidbeam.VerifyFull))
	_, err = sidbeam.OpenMemory(data, sidbeam.OpenConfig{})
	fails(t, err, sidbeam.Corrupt, "wrong magic: not a sidbeam index")
	_, err = sidbeam.OpenMemory(nil, sidbeam.OpenConfig{})
	fails(t, err, sidbeam.InvalidArgument, "data is nil, expected an object")
	_, err = sidbeam.OpenMemory(data, sidbeam.OpenConfig{Residency: sidbeam.ResidencyLock})
	fails(t, err, sidbeam.InvalidArgument, "Residency is 2")
}

func TestPeekAndOpenErrors(t *testing.T) {
	path := written(t, threePairs)
	info, err := sidbeam.Peek(path)
	if must(t, err); info.Items != 3 {
		t.Errorf("items: expected 3, got %d", info.Items)
	}
	_, err = sidbeam.Peek(path + "x")
	fails(t, err, sidbeam.IOError, "cannot open '"+path+"x': ")
	_, err = sidbeam.Open("a\x00b", sidbeam.OpenConfig{})
	fails(t, err, sidbeam.InvalidArgument, "path holds a NUL byte at 1")
	_, err = sidbeam.Open(path, sidbeam.OpenConfig{Residency: 9})
	fails(t, err, sidbeam.InvalidArgument, "residency is 9")
	must(t, os.Truncate(path, 100))
	_, err = sidbeam.Open(path, sidbeam.OpenConfig{})
	fails(t, err, sidbeam.Corrupt, "file too short: a header of")
}

// A file replaced by rename is still the old one for those who have it open; a file that may be truncated was copied.
func TestReplacedAndTruncatedWhileOpen(t *testing.T) {
	path := written(t, threePairs)
	mapped, err := sidbeam.Open(path, sidbeam.OpenConfig{})
	must(t, err)
	defer mapped.Close()
	must(t, os.Rename(written(t, sidbeam.Pairs{Codes: []int32{3, 3}}), path))
	must(t, mapped.Verify(sidbeam.VerifyFull))
	copied, err := sidbeam.Open(path, sidbeam.OpenConfig{Residency: sidbeam.ResidencyCopy})
	must(t, err)
	defer copied.Close()
	must(t, os.Truncate(path, 0))
	must(t, copied.Verify(sidbeam.VerifyFull))
	before, _ := mapped.Info()
	after, _ := copied.Info()
	if before.SIDs != 3 || after.SIDs != 1 || before.Fingerprint == after.Fingerprint {
		t.Errorf("expected 3 SIDs, then 1, got %d and %d", before.SIDs, after.SIDs)
	}
}

func TestPrioritiesAreKeptOnRequest(t *testing.T) {
	pairs := sidbeam.Pairs{Codes: []int32{1, 1, 1, 1, 0, 0}, IDs: []int64{7, 8, 9},
		Priorities: []int64{-3, math.MaxInt64, math.MinInt64}}
	for _, keep := range []bool{true, false} {
		config := sidbeam.BuilderConfig{Codes: []int32{4, 4}, KeepPriorities: keep}
		index, err := builderOf(t, config, pairs).Finish(context.Background())
		must(t, err)
		defer index.Close()
		must(t, index.Verify(sidbeam.VerifyFull))
		found, err := index.ItemPriorities([]int64{0, 1, 2})
		if !keep {
			fails(t, err, sidbeam.MissingSection, "the index keeps no priorities")
			continue
		}
		must(t, err)
		if expected := []int64{math.MinInt64, math.MaxInt64, -3}; !reflect.DeepEqual(found, expected) {
			t.Errorf("priorities: expected %v, got %v", expected, found)
		}
		_, err = index.ItemPriorities([]int64{3})
		fails(t, err, sidbeam.InvalidArgument, "expected 0..2")
		plan, err := sidbeam.EstimatePlan(config, 3)
		must(t, err)
		if last := plan.Sections[len(plan.Sections)-1]; last.Kind != "item_priorities" || last.Bytes != 24 {
			t.Errorf("estimate: expected 24 bytes of priorities at its end, got %+v", last)
		}
	}
}

func TestPlan(t *testing.T) {
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}}, threePairs)
	plan, err := builder.Plan(context.Background())
	must(t, err)
	if !plan.Exact || plan.SIDs != 3 || plan.Nodes[1] != 3 || plan.FileBytes <= 0 || len(plan.Sections) == 0 {
		t.Errorf("plan: expected 3 SIDs, counted, got %+v", plan)
	}
	estimate, err := sidbeam.EstimatePlan(sidbeam.BuilderConfig{Codes: []int32{4, 4}}, 3)
	if must(t, err); estimate.Exact || estimate.SIDs != 3 {
		t.Errorf("estimate: expected 3 SIDs, not counted, got %+v", estimate)
	}
	_, err = sidbeam.EstimatePlan(sidbeam.BuilderConfig{Codes: []int32{4, 4}}, 17)
	fails(t, err, sidbeam.InvalidArgument, "sids is 17, but these codes allow only 16 SIDs")
}

// asAnotherUser calls as one who is not root.
func asAnotherUser(t *testing.T, call func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		must(t, syscall.Setreuid(-1, 1234))
		defer func() { must(t, syscall.Setreuid(-1, 0)) }()
	}
	call()
}

// Writes, as another user, into a folder that everybody may write to: only one of the two may lose the owner.
func writesAsAnotherUser(t *testing.T, strict, lax func(path string) error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may become another user")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "index.sidx")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	must(t, os.Chmod(folder, 0o777))
	must(t, os.Chmod(filepath.Dir(folder), 0o777))
	var refused, written error
	asAnotherUser(t, func() { refused, written = strict(path), lax(path) })
	fails(t, refused, sidbeam.IOError, "cannot keep the owner of '"+path+"'")
	must(t, written)
	info, err := os.Stat(path)
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 1234 {
		t.Errorf("expected the writer as owner, got %d", owner)
	}
}

func TestOwnerThatCannotBeKept(t *testing.T) {
	writer := func(allow bool) func(path string) error {
		config := sidbeam.BuilderConfig{Codes: []int32{4, 4}, AllowAttributeLoss: allow}
		builder := builderOf(t, config, threePairs)
		return func(path string) error { return builder.Write(context.Background(), path) }
	}
	writesAsAnotherUser(t, writer(false), writer(true))
}

// A build whose context ends leaves the old file, nothing else, and a builder that works.
func TestCancelledBuild(t *testing.T) {
	path := written(t, threePairs)
	config := sidbeam.BuilderConfig{Codes: []int32{64, 64, 64}}
	builder := builderOf(t, config, sidbeam.Pairs{Codes: randomSIDs(1000, 3, 64)})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := builder.Write(ctx, path)
	fails(t, err, sidbeam.Cancelled, "the context ended before the call did")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("expected context.Canceled within %v", err)
	}
	_, err = builder.Finish(ctx)
	fails(t, err, sidbeam.Cancelled, "the context ended before the call did")
	if info, err := sidbeam.Peek(path); err != nil || info.SIDs != 3 {
		t.Errorf("expected the old file, got %+v %v", info, err)
	}
	if files, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(files) != 1 {
		t.Errorf("expected one file, got %v", files)
	}
	live, cancelLive := context.WithCancel(context.Background())
	defer cancelLive()
	must(t, builder.Write(live, path))
	if info, err := sidbeam.Peek(path); err != nil || info.Levels != 3 {
		t.Errorf("expected the new file, got %+v %v", info, err)
	}
	if phase, done, total := builder.Progress(); total <= 0 || done != total {
		t.Errorf("progress after a build: expected all of the last phase, got %v %d of %d", phase, done, total)
	}
}

// whileBuilding makes builders of a million SIDs until one was seen at work when `meanwhile` was called, which says so.
func whileBuilding(t *testing.T,
	meanwhile func(builder *sidbeam.Builder, cancel func(), built <-chan error) (seen bool)) {
	pairs := sidbeam.Pairs{Codes: randomSIDs(1<<20, 3, 256)}
	for attempt := 0; attempt < 20; attempt++ {
		builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{256, 256, 256}, Threads: 1}, pairs)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		built := make(chan error, 1)
		go func() {
			_, err := builder.Finish(ctx)
			built <- err
		}()
		for total := int64(0); total == 0; _, _, total = builder.Progress() {
		}
		if meanwhile(builder, cancel, built) {
			return
		}
	}
	t.Error("20 builds were over before anybody looked")
}

// A context that ends while the build runs ends it too.
func TestCancelWhileBuilding(t *testing.T) {
	whileBuilding(t, func(_ *sidbeam.Builder, cancel func(), built <-chan error) bool {
		cancel()
		err := <-built
		if err != nil {
			fails(t, err, sidbeam.Cancelled, "the build was cancelled by its progress callback")
		}
		return err != nil
	})
}

func TestBuilderInUse(t *testing.T) {
	whileBuilding(t, func(builder *sidbeam.Builder, cancel func(), built <-chan error) bool {
		_, again := builder.Finish(context.Background())
		metadata := builder.SetMetadata("key", "value")
		must(t, builder.Close())
		cancel()
		err := <-built
		if err == nil || again == nil || metadata == nil {
			return false
		}
		fails(t, again, sidbeam.BadState, "builder is in use by another goroutine")
		fails(t, metadata, sidbeam.BadState, "builder is in use by another thread")
		fails(t, err, sidbeam.Cancelled, "the build was cancelled by its progress callback")
		_, err = builder.Finish(context.Background())
		fails(t, err, sidbeam.BadState, "builder is closed")
		return true
	})
}

func TestLog(t *testing.T) {
	var messages []string
	sidbeam.SetLogger(func(level sidbeam.LogLevel, message string) {
		if level != sidbeam.LogInfo {
			t.Errorf("level: expected %d, got %d", sidbeam.LogInfo, level)
		}
		messages = append(messages, message)
	})
	defer sidbeam.SetLogger(nil)
	loud, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{Log: sidbeam.LogInfo, CPUTarget: "baseline", Threads: 2})
	must(t, err)
	defer loud.Close()
	path := written(t, threePairs)
	index, err := sidbeam.Open(path, sidbeam.OpenConfig{Runtime: loud})
	must(t, err)
	defer index.Close()
	all := strings.Join(messages, "\n")
	if len(messages) != 2 || !strings.Contains(all, "baseline") || !strings.Contains(all, path) {
		t.Errorf("expected a message of the runtime and one of the file, got %q", messages)
	}
}

func TestSaveAndBytesAreTheBuildersFile(t *testing.T) {
	path, saved := written(t, threePairs), filepath.Join(t.TempDir(), "saved.sidx")
	file, err := os.ReadFile(path)
	must(t, err)
	index, err := sidbeam.Open(path, sidbeam.OpenConfig{})
	must(t, err)
	data, err := index.Bytes()
	if err != nil || !bytes.Equal(data, file) {
		t.Errorf("bytes: expected the %d of the file, got %d %v", len(file), len(data), err)
	}
	again, err := sidbeam.OpenMemory(data, sidbeam.OpenConfig{Verify: sidbeam.VerifyFull})
	must(t, err)
	defer again.Close()
	must(t, again.Save(saved))
	if data, err := os.ReadFile(saved); err != nil || !bytes.Equal(data, file) {
		t.Errorf("saved: expected the %d bytes of the file, got %d %v", len(file), len(data), err)
	}
	if err := index.Save(filepath.Join(saved, "a.sidx")); !errors.Is(err, sidbeam.IOError) ||
		!strings.Contains(err.Error(), "Not a directory") {
		t.Errorf("a folder that is a file: expected an IOError that says so, got %v", err)
	}
	must(t, index.Close())
	if _, err := index.Bytes(); !errors.Is(err, sidbeam.BadState) {
		t.Errorf("bytes of a closed index: expected BadState, got %v", err)
	}
	if err := index.Save(saved); !errors.Is(err, sidbeam.BadState) {
		t.Errorf("save of a closed index: expected BadState, got %v", err)
	}
}
