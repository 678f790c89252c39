// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"
	"time"

	"sidbeam.io/sidbeam/internal/native"
)

// RunnerStats are counted since a runner's creation.
type RunnerStats struct {
	Lanes           int
	Queued, Running int   // requests now
	Submitted       int64 // taken: each ends as one of the next four
	Finished        int64
	Failed          int64
	Cancelled       int64
	Expired         int64 // their deadline had passed
	Refused         int64 // with QueueFull; not among Submitted
	Batches         int64
	BatchRequests   int64
	BatchRows       int64
	Busy            time.Duration // of all lanes together
	Up              time.Duration // since creation: lanes are used to Busy / (Up * Lanes)
	MemoryBytes     int64         // that the runner holds, without the models
	// With a draft: the sums of the results' own; the levels that rounds gained, and the rows of logits that they asked
	// of the model. Passes of the model saved: RoundLevels - Rounds.
	Rounds, DraftedLevels, AcceptedLevels int64
	RoundLevels, Nodes                    int64
	Drafting                              time.Duration
	// Percentiles of finished requests, to 4 %: waiting, running, and both.
	QueuedTime, RunTime, TotalTime Percentiles
}

// Percentiles of a time.
type Percentiles struct{ P50, P90, P99, P999 time.Duration }

// Stats gives the counts that hosts act on.
func (r *Runner) Stats() (RunnerStats, error) {
	n := make([]int64, native.FLAT_RUNNER_STATS_COUNT)
	f := newFailure()
	native.Flat_runner_get_stats(rawOf(r), n, f.bytes())
	runtime.KeepAlive(r)
	if err := f.done(); err != nil {
		return RunnerStats{}, err
	}
	microseconds := func(place int) time.Duration { return time.Duration(n[place]) * time.Microsecond }
	percentiles := func(place int) Percentiles {
		return Percentiles{microseconds(place), microseconds(place + 1), microseconds(place + 2), microseconds(place + 3)}
	}
	return RunnerStats{
		Lanes:          int(n[native.FLAT_RUNNER_STATS_LANES]),
		Queued:         int(n[native.FLAT_RUNNER_STATS_QUEUED]),
		Running:        int(n[native.FLAT_RUNNER_STATS_RUNNING]),
		Submitted:      n[native.FLAT_RUNNER_STATS_SUBMITTED],
		Finished:       n[native.FLAT_RUNNER_STATS_FINISHED],
		Failed:         n[native.FLAT_RUNNER_STATS_FAILED],
		Cancelled:      n[native.FLAT_RUNNER_STATS_CANCELLED],
		Expired:        n[native.FLAT_RUNNER_STATS_EXPIRED],
		Refused:        n[native.FLAT_RUNNER_STATS_REFUSED],
		Batches:        n[native.FLAT_RUNNER_STATS_BATCHES],
		BatchRequests:  n[native.FLAT_RUNNER_STATS_BATCH_REQUESTS],
		BatchRows:      n[native.FLAT_RUNNER_STATS_BATCH_ROWS],
		Busy:           microseconds(native.FLAT_RUNNER_STATS_BUSY_US),
		Up:             microseconds(native.FLAT_RUNNER_STATS_UP_US),
		MemoryBytes:    n[native.FLAT_RUNNER_STATS_MEMORY_BYTES],
		Rounds:         n[native.FLAT_RUNNER_STATS_ROUNDS],
		DraftedLevels:  n[native.FLAT_RUNNER_STATS_DRAFTED_LEVELS],
		AcceptedLevels: n[native.FLAT_RUNNER_STATS_ACCEPTED_LEVELS],
		RoundLevels:    n[native.FLAT_RUNNER_STATS_ROUND_LEVELS],
		Nodes:          n[native.FLAT_RUNNER_STATS_NODES],
		Drafting:       microseconds(native.FLAT_RUNNER_STATS_DRAFT_US),
		QueuedTime:     percentiles(native.FLAT_RUNNER_STATS_QUEUED_US),
		RunTime:        percentiles(native.FLAT_RUNNER_STATS_RUN_US),
		TotalTime:      percentiles(native.FLAT_RUNNER_STATS_TOTAL_US),
	}, nil
}
