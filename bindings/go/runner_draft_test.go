// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// shallowModel is the tiny model without its second layer.
func shallowModel(t *testing.T) *sidbeam.Model {
	t.Helper()
	from, folder := os.Getenv("SIDBEAM_MODEL"), t.TempDir()
	for _, file := range []string{"config.json", "model.safetensors"} {
		content, err := os.ReadFile(filepath.Join(from, file))
		must(t, err)
		if file == "config.json" {
			changed := strings.Replace(string(content), `"num_hidden_layers": 2`, `"num_hidden_layers": 1`, 1)
			if content = []byte(changed); !strings.Contains(changed, `"num_hidden_layers": 1`) {
				t.Fatalf("expected 2 layers in %s", content)
			}
		}
		must(t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	model, err := sidbeam.OpenModel(folder, sidbeam.ModelConfig{})
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

func TestDraftChangesRoundsAlone(t *testing.T) {
	config := tinyConfig(t)
	alone := newRunner(t, config)
	plain := run(t, alone, history)
	stats, err := alone.Stats()
	must(t, err)
	if plain.Rounds != 0 || plain.DraftedLevels != 0 || plain.Drafting != 0 || stats.Rounds != 0 || stats.Nodes != 0 {
		t.Errorf("expected no rounds without a draft, got %+v, %+v", plain, stats)
	}
	for i, draft := range []*sidbeam.Model{config.Model, shallowModel(t)} {
		for _, config.DraftBeams = range []int{0, config.Beams + 3} {
			for _, config.CallerThreads = range []bool{false, true} {
				config.Draft = draft
				got := run(t, newRunner(t, config), history)
				if !reflect.DeepEqual(got.SIDs, plain.SIDs) || !reflect.DeepEqual(got.Scores, plain.Scores) ||
					!reflect.DeepEqual(got.Ordinals, plain.Ordinals) {
					t.Errorf("expected %+v, got %+v", plain, got)
				}
				if got.Rounds < 1 || got.Rounds+got.AcceptedLevels != tinyLevels ||
					got.AcceptedLevels > got.DraftedLevels || got.Drafting < 0 || got.Drafting > got.Ran {
					t.Errorf("expected rounds and accepted levels to be %d levels, got %+v", tinyLevels, got)
				}
				if i == 0 && (got.Rounds != 1 || got.DraftedLevels != 2) { // its own draft is always right
					t.Errorf("expected one round of 2 drafted levels, got %+v", got)
				}
			}
		}
	}
}

func TestRoundsAreCounted(t *testing.T) {
	config := tinyConfig(t)
	config.Draft, config.DraftBeams = shallowModel(t), config.Beams+3
	runner := newRunner(t, config)
	must(t, config.Draft.Close()) // the runner holds it
	other := sidbeam.Request{Tokens: []int32{20, 30, 39}}
	first, second := run(t, runner, history), run(t, runner, other)
	stats, err := runner.Stats()
	must(t, err)
	if stats.Rounds != int64(first.Rounds+second.Rounds) ||
		stats.DraftedLevels != int64(first.DraftedLevels+second.DraftedLevels) ||
		stats.AcceptedLevels != int64(first.AcceptedLevels+second.AcceptedLevels) ||
		stats.Drafting < first.Drafting+second.Drafting {
		t.Errorf("expected the sums of %+v and %+v, got %+v", first, second, stats)
	}
	if stats.RoundLevels != 2*tinyLevels || stats.RoundLevels-stats.Rounds != stats.AcceptedLevels ||
		stats.AcceptedLevels == 0 || stats.Nodes <= stats.Rounds {
		t.Errorf("expected the accepted levels to be the passes saved, got %+v", stats)
	}
}

func TestDraftRefusals(t *testing.T) {
	good := tinyConfig(t)
	good.Draft = shallowModel(t)
	closed := tinyModel(t)
	must(t, closed.Close())
	for _, bad := range []struct {
		change func(*sidbeam.RunnerConfig)
		code   sidbeam.Code
		text   string
	}{
		{func(c *sidbeam.RunnerConfig) { c.DraftBeams = 4 }, sidbeam.InvalidArgument,
			"draft_beams is 4, expected at least 5, beams"},
		{func(c *sidbeam.RunnerConfig) { c.Draft, c.DraftBeams = nil, 6 }, sidbeam.InvalidArgument,
			"expected a model, since draft_beams is 6"},
		{func(c *sidbeam.RunnerConfig) { c.Speculate, c.DraftBeams = sidbeam.SpeculateRelaxed, 6 },
			sidbeam.InvalidArgument, "draft_beams is 6, expected 5, beams, or without_replacement"},
		{func(c *sidbeam.RunnerConfig) { c.WithoutReplacement = true }, sidbeam.InvalidArgument,
			"without_replacement is 1, expected 0"},
		{func(c *sidbeam.RunnerConfig) { c.Mode = sidbeam.ModeSample }, sidbeam.Unsupported,
			"mode is ModeSample"},
		{func(c *sidbeam.RunnerConfig) { c.Speculate = 2 }, sidbeam.InvalidArgument, "speculate is 2, expected 0..1"},
		{func(c *sidbeam.RunnerConfig) { c.Adjust = func(*sidbeam.Level) error { return nil } },
			sidbeam.InvalidArgument, "adjust is given, expected nil beside draft"},
		{func(c *sidbeam.RunnerConfig) { c.Draft = closed }, sidbeam.BadState, "draft model is closed"},
		{func(c *sidbeam.RunnerConfig) { c.Draft = new(sidbeam.Model) }, sidbeam.InvalidArgument,
			"Draft is a Model that was not opened"},
	} {
		config := good
		bad.change(&config)
		_, err := sidbeam.NewRunner(config)
		fails(t, err, bad.code, bad.text)
	}
}

// Random numbers are those of the seed and the request alone: lanes, batches and the order of requests change nothing.
func drawsRepeat(t *testing.T, config sidbeam.RunnerConfig, check func(*sidbeam.Result)) {
	t.Helper()
	alone := newRunner(t, config)
	config.Lanes, config.BatchRequests, config.Wait = 2, 3, time.Millisecond
	together := newRunner(t, config)
	var pending []*sidbeam.Pending
	for i := int64(11); i >= 0; i-- {
		request := sidbeam.Request{Tokens: history.Tokens, Seed: 5, SamplingRequest: i}
		one, err := together.Submit(context.Background(), request)
		must(t, err)
		pending = append(pending, one)
	}
	different := 0
	for i, one := range pending {
		got, err := one.Result()
		must(t, err)
		request := sidbeam.Request{Tokens: history.Tokens, Seed: 5, SamplingRequest: int64(11 - i)}
		expected := run(t, alone, request)
		if !reflect.DeepEqual(got.SIDs, expected.SIDs) || !reflect.DeepEqual(got.Scores, expected.Scores) {
			t.Errorf("request %d: expected %+v, got %+v", 11-i, expected, got)
		}
		check(got)
		request.Seed = 6
		if !reflect.DeepEqual(run(t, alone, request).SIDs, expected.SIDs) {
			different++
		}
	}
	if different == 0 {
		t.Error("expected another seed to draw otherwise")
	}
}

func TestRelaxedDrawsRepeat(t *testing.T) {
	config := tinyConfig(t)
	config.Draft, config.Speculate = shallowModel(t), sidbeam.SpeculateRelaxed
	drawsRepeat(t, config, func(got *sidbeam.Result) {
		if len(got.Scores) != config.Beams || got.Rounds < 1 || got.Rounds+got.AcceptedLevels != tinyLevels {
			t.Errorf("expected %d draws, and rounds, got %+v", config.Beams, got)
		}
	})
	config.WithoutReplacement, config.DraftBeams = true, config.Beams+3
	drawsRepeat(t, config, func(got *sidbeam.Result) {
		seen := map[int64]bool{}
		for _, ordinal := range got.Ordinals {
			if seen[ordinal] {
				t.Errorf("expected different SIDs, got %v", got.Ordinals)
			}
			seen[ordinal] = true
		}
	})
}

func TestStochasticBeamsAreTheSameWithADraft(t *testing.T) {
	config := tinyConfig(t)
	config.Mode = sidbeam.ModeStochastic
	plain := newRunner(t, config)
	config.Draft, config.DraftBeams = shallowModel(t), config.Beams+3
	drawsRepeat(t, config, func(got *sidbeam.Result) {
		if got.Rounds < 1 {
			t.Errorf("expected rounds, got %+v", got)
		}
	})
	for seed := int64(1); seed <= 8; seed++ {
		request := sidbeam.Request{Tokens: history.Tokens, Seed: seed, SamplingRequest: 3}
		got, expected := run(t, newRunner(t, config), request), run(t, plain, request)
		if !reflect.DeepEqual(got.SIDs, expected.SIDs) || !reflect.DeepEqual(got.Scores, expected.Scores) {
			t.Errorf("seed %d: expected %+v, got %+v", seed, expected, got)
		}
	}
}

func TestSeedsAreOfRunnersThatDraw(t *testing.T) {
	runner := newRunner(t, tinyConfig(t))
	_, err := runner.Run(context.Background(), sidbeam.Request{Tokens: history.Tokens, Seed: 5})
	fails(t, err, sidbeam.InvalidArgument, "seed is 5, expected 0: the runner searches, and draws nothing")
}

func TestAConstraintThatWasNotMadeIsNotTheRunners(t *testing.T) {
	runner := newRunner(t, tinyConfig(t))
	request := sidbeam.Request{Tokens: history.Tokens, Constraint: new(sidbeam.Constraint)}
	_, err := runner.Run(context.Background(), request)
	fails(t, err, sidbeam.InvalidArgument, "constraint is a Constraint that was not made")
	_, err = runner.Submit(context.Background(), request)
	fails(t, err, sidbeam.InvalidArgument, "constraint is a Constraint that was not made")
}
