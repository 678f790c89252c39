// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks code and text of an error. The text is a phrase: a word or a digit is in many a message.
func fails(t testing.TB, err error, code sidbeam.Code, text string) {
	t.Helper()
	var failed *sidbeam.Error
	if !strings.Contains(text, " ") {
		t.Errorf("expected a phrase, got %q, of %v", text, err)
	}
	if !errors.As(err, &failed) {
		t.Errorf("expected %v with %q, got %v", code, text, err)
	} else if !errors.Is(err, code) || !strings.Contains(failed.Message, text) {
		t.Errorf("expected %v with %q, got %v: %q", code, text, failed.Code, failed.Message)
	}
}

// threeItems is the catalogue of samples/minimal.c: SIDs 0 1, 0 3 and 2 2.
func threeItems(t testing.TB) *sidbeam.Index {
	t.Helper()
	return build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}}, sidbeam.Pairs{Codes: []int32{0, 1, 0, 3, 2, 2}})
}

func builderOf(t testing.TB, config sidbeam.BuilderConfig, pairs sidbeam.Pairs) *sidbeam.Builder {
	t.Helper()
	builder, err := sidbeam.NewBuilder(config)
	must(t, err)
	t.Cleanup(func() { _ = builder.Close() })
	must(t, builder.Add(pairs))
	return builder
}

func build(t testing.TB, config sidbeam.BuilderConfig, pairs sidbeam.Pairs) *sidbeam.Index {
	t.Helper()
	index, err := builderOf(t, config, pairs).Finish(context.Background())
	must(t, err)
	t.Cleanup(func() { _ = index.Close() })
	return index
}

func newSession(t testing.TB, config sidbeam.SessionConfig) (*sidbeam.Session, *sidbeam.Beams) {
	t.Helper()
	session, err := sidbeam.NewSession(config)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	beams, err := session.Beams()
	must(t, err)
	return session, beams
}

// The model of samples/minimal.c: one logits row per level, the same for every beam.
var twoLevels = [2][]float32{{3, 9, 2, 1}, {1, 1, 4, 2}}

func row(level int) sidbeam.StepArgs {
	return sidbeam.StepArgs{Rows: sidbeam.Rows{F32: twoLevels[level], Slots: 1, Rows: 2, Columns: 4,
		RowStride: sidbeam.Broadcast}}
}

// randomSIDs gives [count, levels] codes below `codes`.
func randomSIDs(count, levels int, codes int32) []int32 {
	random := rand.New(rand.NewSource(1))
	out := make([]int32, count*levels)
	for i := range out {
		out[i] = random.Int31n(codes)
	}
	return out
}

func randomLogits(count int) []float32 {
	random := rand.New(rand.NewSource(2))
	out := make([]float32, count)
	for i := range out {
		out[i] = random.Float32()
	}
	return out
}
