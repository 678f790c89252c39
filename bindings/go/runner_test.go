// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// tinyModel is what tests/bindings/tiny_model.py wrote: tokens 0 .. 63.
func tinyModel(t testing.TB) *sidbeam.Model {
	t.Helper()
	folder := os.Getenv("SIDBEAM_MODEL")
	if folder == "" {
		t.Skip("SIDBEAM_MODEL is not set: the library was built without the runner")
	}
	model, err := sidbeam.OpenModel(folder, sidbeam.ModelConfig{})
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

const tinyLevels, tinyCodes = 3, 8

// tinyConfig is a catalogue of SIDs whose codes have the tokens from 16, 24 and 32 on.
func tinyConfig(t testing.TB) sidbeam.RunnerConfig {
	model := tinyModel(t)
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{tinyCodes, tinyCodes, tinyCodes}},
		sidbeam.Pairs{Codes: randomSIDs(60, tinyLevels, tinyCodes)})
	return sidbeam.RunnerConfig{Model: model, Constraint: index, Beams: 5,
		Vocabulary: &sidbeam.Vocabulary{Offsets: []int64{16, 24, 32}}}
}

func newRunner(t testing.TB, config sidbeam.RunnerConfig) *sidbeam.Runner {
	t.Helper()
	runner, err := sidbeam.NewRunner(config)
	must(t, err)
	t.Cleanup(func() { _ = runner.Close() })
	return runner
}

var history = sidbeam.Request{Tokens: []int32{17, 25, 33, 20, 30, 39}}

func run(t testing.TB, runner *sidbeam.Runner, request sidbeam.Request) *sidbeam.Result {
	t.Helper()
	result, err := runner.Run(context.Background(), request)
	must(t, err)
	return result
}

// copyModel is the tiny model with one text of its config in place of another.
func copyModel(t *testing.T, from, to string) string {
	t.Helper()
	tinyModel(t) // skips
	folder := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		bytes, err := os.ReadFile(filepath.Join(os.Getenv("SIDBEAM_MODEL"), name))
		must(t, err)
		if name == "config.json" {
			bytes = []byte(strings.Replace(string(bytes), from, to, 1))
		}
		must(t, os.WriteFile(filepath.Join(folder, name), bytes, 0o600))
	}
	return folder
}

func TestWhatIsLeftOfAModelIsLogged(t *testing.T) {
	folder := copyModel(t, `"num_hidden_layers": 2`, `"num_hidden_layers": 1`)
	var said []string
	sidbeam.SetLogger(func(level sidbeam.LogLevel, message string) {
		if level != sidbeam.LogWarnings {
			t.Errorf("level %d", level)
		}
		said = append(said, message)
	})
	defer sidbeam.SetLogger(nil)
	for _, level := range []sidbeam.LogLevel{sidbeam.LogOff, sidbeam.LogErrors, sidbeam.LogWarnings} {
		model, err := sidbeam.OpenModel(folder, sidbeam.ModelConfig{Log: level})
		must(t, err)
		must(t, model.Close())
	}
	if len(said) != 1 || !strings.Contains(said[0], "asks for none of 9 tensors, which are left: model.layers.1.") {
		t.Errorf("expected one message, got %q", said)
	}
	_, err := sidbeam.OpenModel(folder, sidbeam.ModelConfig{Base: folder})
	fails(t, err, sidbeam.InvalidArgument, "no adapter_config.json")
}

func TestModel(t *testing.T) {
	model := tinyModel(t)
	info := model.Info()
	if info.Family != "llama" || info.Layers != 2 || info.Vocabulary != 64 || info.Heads != 4 || info.HeadDim != 4 {
		t.Errorf("expected the Llama of tiny_model.py, got %+v", info)
	}
	_, err := sidbeam.OpenModel(filepath.Join(t.TempDir(), "none"), sidbeam.ModelConfig{})
	fails(t, err, sidbeam.IOError, "No such file")
	_, err = sidbeam.OpenModel("a\x00b", sidbeam.ModelConfig{})
	fails(t, err, sidbeam.InvalidArgument, "folder holds a NUL byte")
	must(t, model.Close())
	must(t, model.Close())
	config := tinyConfig(t)
	config.Model = model
	_, err = sidbeam.NewRunner(config)
	fails(t, err, sidbeam.BadState, "model is closed")
}

func TestRun(t *testing.T) {
	config := tinyConfig(t)
	index := config.Constraint.(*sidbeam.Index)
	runner := newRunner(t, config)
	must(t, config.Model.Close()) // the runner holds it
	result := run(t, runner, history)
	if len(result.Scores) != 5 || result.Levels != tinyLevels || result.Request < 1 || result.Batch < 1 {
		t.Fatalf("expected 5 SIDs of 3 codes, got %+v", result)
	}
	for i, ordinal := range result.Ordinals {
		sid, err := index.SID(ordinal)
		must(t, err)
		if !reflect.DeepEqual(sid, result.SID(i)) {
			t.Errorf("ordinal %d is %v, got %v", ordinal, sid, result.SID(i))
		}
		if i > 0 && result.Scores[i] > result.Scores[i-1] {
			t.Errorf("expected falling scores, got %v", result.Scores)
		}
	}
	fewer := history
	fewer.Beams = 2
	if got := run(t, runner, fewer); len(got.Scores) != 2 {
		t.Errorf("expected 2 SIDs, got %v", got.Scores)
	}
	narrow := history
	narrow.Widths = []int32{1, 5}
	of := run(t, runner, narrow)
	for i := range of.Scores {
		if of.SID(i)[0] != of.SID(0)[0] {
			t.Errorf("expected SIDs of one first code, got %v", of.SIDs)
		}
	}
	pending, err := runner.Submit(context.Background(), history)
	must(t, err)
	got, err := pending.Result()
	must(t, err)
	config.CallerThreads = true
	config.Model = tinyModel(t)
	here := run(t, newRunner(t, config), history)
	if !reflect.DeepEqual(got.Scores, result.Scores) || !reflect.DeepEqual(here.Scores, result.Scores) {
		t.Errorf("expected the same bits however it runs, got %v, %v, %v", result.Scores, got.Scores, here.Scores)
	}
	stats, err := runner.Stats()
	must(t, err)
	if stats.Submitted != 4 || stats.Finished != 4 || stats.Lanes != 1 || stats.Queued != 0 || stats.Up <= 0 {
		t.Errorf("expected 4 requests on 1 lane, got %+v", stats)
	}
}

func TestRunnerRefuses(t *testing.T) {
	config := tinyConfig(t)
	runner := newRunner(t, config)
	ctx := context.Background()
	for _, bad := range []struct {
		request sidbeam.Request
		code    sidbeam.Code
		text    string
	}{
		{sidbeam.Request{}, sidbeam.InvalidArgument, "an empty prompt needs begin_tokens"},
		{sidbeam.Request{Tokens: []int32{1}, Widths: []int32{1, 6}}, sidbeam.InvalidArgument,
			"widths[1] is 6, expected 0..5"},
		{sidbeam.Request{Tokens: []int32{1, 64}}, sidbeam.InvalidArgument, "64, expected"},
		{sidbeam.Request{Tokens: []int32{1, 2, 3}, Group: 2}, sidbeam.InvalidArgument, "expected a multiple of group, 2"},
		{sidbeam.Request{Tokens: []int32{1}, Beams: 6}, sidbeam.InvalidArgument, "beams is 6"},
		{sidbeam.Request{Tokens: []int32{1}, Deadline: -time.Nanosecond}, sidbeam.DeadlineExceeded, "deadline"},
	} {
		_, err := runner.Run(ctx, bad.request)
		code, _ := err.(*sidbeam.Error)
		if code == nil || code.Code != bad.code {
			t.Errorf("%+v: expected %v, got %v", bad.request, bad.code, err)
		} else if bad.code == sidbeam.InvalidArgument {
			fails(t, err, bad.code, bad.text)
		}
	}
	if got := run(t, runner, history); len(got.Scores) != 5 { // nothing was lost
		t.Errorf("expected 5 SIDs, got %v", got.Scores)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := runner.Run(ended, history)
	fails(t, err, sidbeam.Cancelled, "context ended")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("expected the context's error, got %v", err)
	}
	config.CallerThreads = true
	_, err = newRunner(t, config).Submit(context.Background(), history)
	if !errors.Is(err, sidbeam.BadState) {
		t.Errorf("expected BadState without threads, got %v", err)
	}
	_, err = sidbeam.NewRunner(sidbeam.RunnerConfig{})
	fails(t, err, sidbeam.InvalidArgument, "Model or Constraint is nil")
	must(t, runner.Close())
	must(t, runner.Close())
	_, err = runner.Run(ctx, history)
	fails(t, err, sidbeam.BadState, "runner is closed")
	_, err = runner.Stats()
	fails(t, err, sidbeam.BadState, "runner is closed")
	must(t, new(sidbeam.Runner).Close())
	_, err = new(sidbeam.Runner).Submit(context.Background(), history)
	fails(t, err, sidbeam.InvalidArgument, "runner is null")
}

// What Adjust was given may be kept: nobody reads it any more, and it is nobody else's memory.
func TestAdjustKept(t *testing.T) {
	config := tinyConfig(t)
	expected := run(t, newRunner(t, config), history)
	var kept []*sidbeam.Level
	var last []float32
	config.Adjust = func(level *sidbeam.Level) error {
		for _, other := range kept {
			for r := 0; r < other.Rows; r++ {
				other.Logits(r)[0] = -1
			}
		}
		kept = append(kept, level)
		last = append([]float32(nil), level.Logits(0)...)
		return nil
	}
	runner := newRunner(t, config)
	for i := 0; i < 3; i++ {
		if got := run(t, runner, history); !reflect.DeepEqual(got.Scores, expected.Scores) {
			t.Errorf("expected %v, got %v", expected.Scores, got.Scores)
		}
	}
	must(t, runner.Close())
	level := kept[len(kept)-1]
	if !reflect.DeepEqual(level.Logits(0), last) || len(level.Prefix(level.Rows-1)) != 2 || level.Column(3) != 35 {
		t.Errorf("expected the level as it was, got %v, %v, %d", level.Logits(0), level.Prefix(0), level.Column(3))
	}
	if row := level.Logits(0); cap(row) != len(row) {
		t.Errorf("expected a row of its own, got room for %d more", cap(row)-len(row))
	}
	level.Logits(0)[0] = 1
}

// TestColdStart asks for a user without a history.
func TestColdStart(t *testing.T) {
	config := tinyConfig(t)
	expected := run(t, newRunner(t, config), history)
	config.BeginTokens = history.Tokens
	got := run(t, newRunner(t, config), sidbeam.Request{})
	if !reflect.DeepEqual(got.SIDs, expected.SIDs) || !reflect.DeepEqual(got.Scores, expected.Scores) {
		t.Errorf("expected %v, got %v", expected, got)
	}
}

func TestAnotherCodebook(t *testing.T) {
	config := tinyConfig(t)
	of := func(codebook string) *sidbeam.Index {
		return build(t, sidbeam.BuilderConfig{Codes: []int32{tinyCodes, tinyCodes, tinyCodes}, Codebook: codebook},
			sidbeam.Pairs{Codes: randomSIDs(60, tinyLevels, tinyCodes)})
	}
	books, films, none := of("books"), of("films"), of("")
	config.Constraint = books
	runner := newRunner(t, config)
	request := history
	request.Constraint = films
	expected := "constraint is of codebook 'films', expected 'books', that of the runner's constraint"
	_, err := runner.Run(context.Background(), request)
	fails(t, err, sidbeam.InvalidArgument, expected)
	_, err = runner.Submit(context.Background(), request)
	fails(t, err, sidbeam.InvalidArgument, expected)
	request.Constraint = none
	run(t, runner, request)
	_, err = sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{books, films}})
	fails(t, err, sidbeam.InvalidArgument, "is of codebook 'films', expected 'books', that of constraints[0]")
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: books, Beams: 2})
	err = session.Start(sidbeam.StartArgs{Constraints: []sidbeam.Constrainer{films}})
	fails(t, err, sidbeam.InvalidArgument, "is of codebook 'films', expected 'books', that of the session's constraint")
}

// Adjust sees every level of every request, changes it, and its errors reach the caller.
func TestAdjust(t *testing.T) {
	config := tinyConfig(t)
	plain := run(t, newRunner(t, config), history)
	worst := plain.SID(4)
	refusal := errors.New("not this one")
	var runner *sidbeam.Runner
	config.Lanes = 2
	config.Adjust = func(level *sidbeam.Level) error {
		switch level.Value {
		case "refuse":
			return refusal
		case "close":
			return runner.Close()
		case "run":
			_, err := runner.Run(context.Background(), history)
			return err
		}
		if level.Level == 0 && level.Rows != 1 {
			t.Errorf("expected one row at level 0, got %d", level.Rows)
		}
		for r := 0; r < level.Rows; r++ {
			if len(level.Prefix(r)) != level.Level {
				t.Errorf("expected %d codes, got %v", level.Level, level.Prefix(r))
			}
			level.Logits(r)[level.Column(worst[level.Level])] += 1000
		}
		return nil
	}
	runner = newRunner(t, config)
	if got := run(t, runner, history); !reflect.DeepEqual(got.SID(0), worst) {
		t.Errorf("expected %v to be first, got %v", worst, got.SID(0))
	}
	request := history
	request.Value = "refuse"
	if _, err := runner.Run(context.Background(), request); err != refusal {
		t.Errorf("expected the error of adjust, got %v", err)
	}
	request.Value = "close"
	_, err := runner.Run(context.Background(), request)
	fails(t, err, sidbeam.BadState, "Close is called within Adjust")
	request.Value = "run"
	_, err = runner.Run(context.Background(), request)
	fails(t, err, sidbeam.BadState, "Run is called within Adjust")
	config.CallerThreads = true
	if got := run(t, newRunner(t, config), history); !reflect.DeepEqual(got.SID(0), worst) {
		t.Errorf("on the caller's thread expected %v to be first, got %v", worst, got.SID(0))
	}
}

// A context that ends in the middle of a request ends it, unless that is over before it hears.
func TestContextCancelsARunningRequest(t *testing.T) {
	config := tinyConfig(t)
	config.Adjust = func(level *sidbeam.Level) error {
		if cancel, ok := level.Value.(context.CancelFunc); ok {
			cancel()
		}
		return nil
	}
	runner := newRunner(t, config)
	for attempt := 0; attempt < 1000; attempt++ {
		ctx, cancel := context.WithCancel(context.Background()) // an ended one would be refused at once
		request := history
		request.Value = cancel
		_, err := runner.Run(ctx, request)
		cancel()
		if err != nil {
			if !errors.Is(err, sidbeam.Cancelled) || !errors.Is(err, context.Canceled) {
				t.Errorf("expected Cancelled by the context, got %v", err)
			}
			return
		}
	}
	t.Error("1000 requests finished, whose contexts had ended")
}

// 64 goroutines run and submit until the runner is closed under them: each request works, or says why not, and adjust
// is not called afterwards.
func TestCloseUnderLoad(t *testing.T) {
	for _, adjusts := range []bool{false, true} {
		config := tinyConfig(t)
		config.Lanes, config.QueueRequests = 2, 16
		var closed, late atomic.Bool
		if adjusts {
			config.Adjust = func(*sidbeam.Level) error {
				if closed.Load() {
					late.Store(true)
				}
				return nil
			}
		}
		runner := newRunner(t, config)
		want := run(t, runner, history).Scores
		var group sync.WaitGroup
		var finished atomic.Int64
		enough := make(chan struct{})
		for g := 0; g < 64; g++ {
			group.Add(1)
			go func(g int) {
				defer group.Done()
				for {
					result, err := loaded(runner, g)
					var failed *sidbeam.Error
					switch {
					case err == nil:
						if !reflect.DeepEqual(result.Scores, want) {
							t.Errorf("expected %v, got %v", want, result.Scores)
						}
						if finished.Add(1) == 200 {
							close(enough)
						}
					case errors.Is(err, sidbeam.QueueFull), errors.Is(err, sidbeam.Cancelled):
						runtime.Gosched()
					case errors.As(err, &failed) && failed.Code == sidbeam.BadState:
						return
					default:
						t.Errorf("expected success, QueueFull, Cancelled or BadState, got %v", err)
					}
				}
			}(g)
		}
		<-enough
		must(t, runner.Close())
		closed.Store(true)
		group.Wait()
		if late.Load() {
			t.Error("adjust was called after Close")
		}
	}
}

func loaded(runner *sidbeam.Runner, g int) (*sidbeam.Result, error) {
	if g%2 == 0 {
		return runner.Run(context.Background(), history)
	}
	pending, err := runner.Submit(context.Background(), history)
	if err != nil {
		return nil, err
	}
	if g%16 == 1 {
		pending.Cancel()
	}
	return pending.Result()
}

// Runners and results that nobody closes go, with what they hold.
func TestRunnersAreCollected(t *testing.T) {
	config := tinyConfig(t)
	for i := 0; i < 20; i++ {
		runner, err := sidbeam.NewRunner(config)
		must(t, err)
		pending, err := runner.Submit(context.Background(), history)
		must(t, err)
		runner = nil
		runtime.GC()
		_, err = pending.Result() // the request has kept its runner
		must(t, err)
	}
	for i := 0; i < 100 && runtime.NumGoroutine() > 10; i++ {
		runtime.GC()
		runtime.Gosched()
	}
}

// A process ends with requests waiting and running.
func TestExitWithRequests(t *testing.T) {
	if os.Getenv("SIDBEAM_EXIT") == "" {
		tinyModel(t)
		again(t, "TestExitWithRequests", "SIDBEAM_EXIT=1")
		return
	}
	config := tinyConfig(t)
	begun := make(chan bool, 1000)
	config.Adjust = func(*sidbeam.Level) error { begun <- true; return nil }
	runner := newRunner(t, config)
	for i := 0; i < 100; i++ {
		_, err := runner.Submit(context.Background(), history)
		must(t, err)
	}
	<-begun
	os.Exit(0)
}
