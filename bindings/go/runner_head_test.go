// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"sidbeam.io/sidbeam"
)

const tinyHidden = 16

// tinyHead fits the tiny model; its biases alone decide, and prefer the codes that `best` names.
func tinyHead(t *testing.T, hidden int, codebook string, best ...int) *sidbeam.DraftHead {
	t.Helper()
	weights := sidbeam.DraftWeights[float32]{Hidden: hidden, Input: sidbeam.DraftInputHidden,
		Transition: sidbeam.DraftTransitionNone, Codebook: codebook}
	for _, code := range best {
		bias := make([]float32, tinyCodes)
		bias[code] = 3
		weights.Codes = append(weights.Codes, tinyCodes)
		weights.HeadWeights = append(weights.HeadWeights, make([]float32, tinyCodes*hidden))
		weights.HeadBiases = append(weights.HeadBiases, bias)
	}
	path := filepath.Join(t.TempDir(), "head.sdraft")
	must(t, sidbeam.WriteDraftHead(path, weights))
	head, err := sidbeam.OpenDraftHead(path)
	must(t, err)
	t.Cleanup(func() { _ = head.Close() })
	return head
}

func headConfig(t *testing.T) (sidbeam.RunnerConfig, []int32) {
	config := tinyConfig(t)
	wanted := append([]int32(nil), run(t, newRunner(t, config), history).SIDs[:tinyLevels]...) // an item that exists
	best := make([]int, tinyLevels)
	for level, code := range wanted {
		best[level] = int(code)
	}
	config.Head, config.Placeholders, config.Vocabulary = tinyHead(t, tinyHidden, "", best...), []int32{40, 41, 42}, nil
	return config, wanted
}

func TestHeadDecides(t *testing.T) {
	config, wanted := headConfig(t)
	for _, config.CallerThreads = range []bool{false, true} {
		got := run(t, newRunner(t, config), history)
		if !reflect.DeepEqual(got.SIDs[:tinyLevels], wanted) || got.Ordinals[0] < 0 || got.Rounds != 0 {
			t.Errorf("expected %v first, got %+v", wanted, got)
		}
	}
	columns := 0
	config.Adjust = func(level *sidbeam.Level) error {
		columns += len(level.Logits(0))
		return nil
	}
	if run(t, newRunner(t, config), history); columns != tinyLevels*tinyCodes {
		t.Errorf("expected %d levels of %d codes, got %d columns", tinyLevels, tinyCodes, columns)
	}
}

func TestHeadRefusals(t *testing.T) {
	good, _ := headConfig(t)
	closed := tinyHead(t, tinyHidden, "", 0, 0, 0)
	must(t, closed.Close())
	for _, bad := range []struct {
		change func(*sidbeam.RunnerConfig)
		code   sidbeam.Code
		text   string
	}{
		{func(c *sidbeam.RunnerConfig) { c.Placeholders = nil }, sidbeam.InvalidArgument,
			"the number of placeholders is 0, expected 3, one per level"},
		{func(c *sidbeam.RunnerConfig) { c.Placeholders = []int32{40, 64, 41} }, sidbeam.InvalidArgument,
			"placeholders[1] is 64, expected 0..63"},
		{func(c *sidbeam.RunnerConfig) { c.Head = nil }, sidbeam.InvalidArgument, "head is nil, expected one"},
		{func(c *sidbeam.RunnerConfig) { c.Head = tinyHead(t, 4, "", 0, 0, 0) }, sidbeam.InvalidArgument,
			"head is for hidden states of 4 elements, expected 16"},
		{func(c *sidbeam.RunnerConfig) { c.Draft = c.Model }, sidbeam.InvalidArgument,
			"draft is given, expected nil beside head"},
		{func(c *sidbeam.RunnerConfig) { c.TopK = -1 }, sidbeam.InvalidArgument, "top_k is -1, expected 0"},
		{func(c *sidbeam.RunnerConfig) { c.Head = closed }, sidbeam.BadState, "draft head is closed"},
		{func(c *sidbeam.RunnerConfig) { c.Head = new(sidbeam.DraftHead) }, sidbeam.InvalidArgument,
			"Head is a DraftHead that was not opened"},
	} {
		config := good
		bad.change(&config)
		_, err := sidbeam.NewRunner(config)
		fails(t, err, bad.code, bad.text)
	}
}

func TestOutputPathChangesNoBit(t *testing.T) {
	config := tinyConfig(t)
	config.Normalization = sidbeam.NormalizeValid
	plain := run(t, newRunner(t, config), history)
	for _, config.OutputPath = range []sidbeam.HiddenPath{sidbeam.HiddenChildren, sidbeam.HiddenProduct} {
		got := run(t, newRunner(t, config), history)
		if !reflect.DeepEqual(got.SIDs, plain.SIDs) || !reflect.DeepEqual(got.Scores, plain.Scores) {
			t.Errorf("%v: expected %+v, got %+v", config.OutputPath, plain, got)
		}
	}
	config.OutputPath, config.Normalization = sidbeam.HiddenChildren, sidbeam.NormalizeFull
	_, err := sidbeam.NewRunner(config)
	fails(t, err, sidbeam.Unsupported, "HiddenChildren, expected another, since normalization")
}
