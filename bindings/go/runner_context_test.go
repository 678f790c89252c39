// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// heldRunner has one lane, whose first request waits in Adjust from `begun` to `release`.
func heldRunner(t *testing.T) (runner *sidbeam.Runner, begun, release chan bool) {
	t.Helper()
	config := tinyConfig(t)
	begun, release = make(chan bool), make(chan bool)
	config.Adjust = func(level *sidbeam.Level) error {
		if level.Value == "held" && level.Level == 0 {
			begun <- true
			<-release
		}
		return nil
	}
	return newRunner(t, config), begun, release
}

// A submitted request ends with its context, whether it runs or waits, and the runner goes on.
func TestContextEndsSubmittedRequests(t *testing.T) {
	runner, begun, release := heldRunner(t)
	for attempt := 0; attempt < 1000; attempt++ { // one that runs may finish before it hears of the end
		if endSubmitted(t, runner, begun, release) || t.Failed() {
			return
		}
	}
	t.Error("1000 running requests finished, whose contexts had ended")
}

// endSubmitted ends the context of a running request and of a waiting one, and says whether the running one heard.
func endSubmitted(t *testing.T, runner *sidbeam.Runner, begun, release chan bool) (heard bool) {
	t.Helper()
	held := history
	held.Value = "held"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	running, err := runner.Submit(ctx, held)
	must(t, err)
	<-begun
	waiting, err := runner.Submit(ctx, history)
	must(t, err)
	late, cancelLate := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancelLate()
	behind, lateErr := runner.Submit(late, history)
	other, err := runner.Submit(context.Background(), history)
	must(t, err)
	cancel()
	for _, pending := range []*sidbeam.Pending{waiting, behind} {
		select {
		case <-pending.Done(): // with the lane still held
		case <-time.After(time.Minute):
			t.Error("a request waits, whose context has ended")
		}
	}
	release <- true
	if lateErr == nil {
		_, lateErr = behind.Result()
	}
	if !errors.Is(lateErr, context.DeadlineExceeded) {
		t.Errorf("a request behind it: expected the deadline of its context, got %v", lateErr)
	}
	_, runningErr := running.Result()
	_, waitingErr := waiting.Result()
	for name, err := range map[string]error{"running": runningErr, "waiting": waitingErr} {
		if name == "running" && err == nil {
			continue
		}
		if !errors.Is(err, sidbeam.Cancelled) || !errors.Is(err, context.Canceled) {
			t.Errorf("the %s request: expected Cancelled by its context, got %v", name, err)
		}
	}
	result, err := other.Result()
	if must(t, err); len(result.Scores) != 5 {
		t.Errorf("a request without such a context: expected 5 SIDs, got %v", result.Scores)
	}
	return runningErr != nil
}

// soon has a deadline, and never ends.
type soon struct{ context.Context }

func (soon) Deadline() (time.Time, bool) { return time.Now().Add(time.Microsecond), true }

// The deadline of a context is the request's, and one of the request's own is the context's error.
func TestDeadlineOfARequest(t *testing.T) {
	runner, begun, release := heldRunner(t)
	held, late := history, history
	held.Value, late.Deadline = "held", time.Microsecond
	first, err := runner.Submit(context.Background(), held)
	must(t, err)
	<-begun
	second, secondErr := runner.Submit(context.Background(), late)
	third, thirdErr := runner.Submit(soon{context.Background()}, history)
	release <- true
	if secondErr == nil {
		_, secondErr = second.Result()
	}
	if thirdErr == nil {
		_, thirdErr = third.Result()
	}
	for _, err := range []error{secondErr, thirdErr} {
		if !errors.Is(err, sidbeam.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("expected DeadlineExceeded of both, got %v", err)
		}
	}
	_, err = first.Result()
	must(t, err)
}

// Drain returns when its context ends, or nothing runs any more.
func TestDrain(t *testing.T) {
	runner, begun, release := heldRunner(t)
	held := history
	held.Value = "held"
	must(t, runner.Drain(nil))
	pending, err := runner.Submit(context.Background(), held)
	must(t, err)
	<-begun
	late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err = runner.Drain(late)
	fails(t, err, sidbeam.Cancelled, "the context ended before the call did")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("expected the context's error within %v", err)
	}
	release <- true
	ctx, cancelDrain := context.WithCancel(context.Background())
	defer cancelDrain()
	must(t, runner.Drain(ctx))
	stats, err := runner.Stats()
	if must(t, err); stats.Running != 0 || stats.Queued != 0 || stats.Finished != 1 {
		t.Errorf("drained: expected one request, which has finished, got %+v", stats)
	}
	_, err = pending.Result()
	must(t, err)
	must(t, runner.Drain(context.Background()))
	must(t, runner.Close())
	fails(t, runner.Drain(ctx), sidbeam.BadState, "runner is closed")
}
