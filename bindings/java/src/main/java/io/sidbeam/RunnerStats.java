// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;

/**
 * Counted since a runner's creation.
 *
 * @param lanes batches that may run at the same time
 * @param queued requests that wait now
 * @param running requests that run now
 * @param submitted requests that were taken: each ends as one of the next four
 * @param finished with a result
 * @param failed with an error
 * @param cancelled by {@link Runner#cancel} or {@link Runner#close}
 * @param expired their deadline had passed
 * @param refused with {@link Status#QUEUE_FULL}; not among submitted
 * @param batches that ran
 * @param batchRequests requests of all of them
 * @param batchRows rows of all of them
 * @param busy of all lanes together
 * @param up since creation: lanes are used to busy / (up * lanes)
 * @param memoryBytes that the runner holds, without the models
 * @param rounds passes of the model in rounds; this and the next five: 0 without a draft, sums of the results' own
 * @param roundLevels levels that rounds gained: roundLevels - rounds passes of the model were saved
 * @param draftedLevels levels that drafts wrote ahead
 * @param acceptedLevels of these, the ones that were right
 * @param nodes rows of logits that rounds asked of the model
 * @param drafting the drafts' time, a batch's once per request of it, so that it may exceed busy
 * @param queuedTime of finished requests: waiting
 * @param runTime of finished requests: running
 * @param totalTime of finished requests: both
 */
public record RunnerStats(int lanes, int queued, int running, long submitted, long finished, long failed,
    long cancelled, long expired, long refused, long batches, long batchRequests, long batchRows, Duration busy,
    Duration up, long memoryBytes, long rounds, long roundLevels, long draftedLevels, long acceptedLevels, long nodes,
    Duration drafting, Percentiles queuedTime, Percentiles runTime, Percentiles totalTime) {
  static RunnerStats of(long[] n) {
    return new RunnerStats((int) n[Native.FLAT_RUNNER_STATS_LANES], (int) n[Native.FLAT_RUNNER_STATS_QUEUED],
        (int) n[Native.FLAT_RUNNER_STATS_RUNNING], n[Native.FLAT_RUNNER_STATS_SUBMITTED],
        n[Native.FLAT_RUNNER_STATS_FINISHED], n[Native.FLAT_RUNNER_STATS_FAILED],
        n[Native.FLAT_RUNNER_STATS_CANCELLED], n[Native.FLAT_RUNNER_STATS_EXPIRED],
        n[Native.FLAT_RUNNER_STATS_REFUSED], n[Native.FLAT_RUNNER_STATS_BATCHES],
        n[Native.FLAT_RUNNER_STATS_BATCH_REQUESTS], n[Native.FLAT_RUNNER_STATS_BATCH_ROWS],
        Result.ofMicros(n[Native.FLAT_RUNNER_STATS_BUSY_US]), Result.ofMicros(n[Native.FLAT_RUNNER_STATS_UP_US]),
        n[Native.FLAT_RUNNER_STATS_MEMORY_BYTES], n[Native.FLAT_RUNNER_STATS_ROUNDS],
        n[Native.FLAT_RUNNER_STATS_ROUND_LEVELS], n[Native.FLAT_RUNNER_STATS_DRAFTED_LEVELS],
        n[Native.FLAT_RUNNER_STATS_ACCEPTED_LEVELS], n[Native.FLAT_RUNNER_STATS_NODES],
        Result.ofMicros(n[Native.FLAT_RUNNER_STATS_DRAFT_US]), Percentiles.of(n, Native.FLAT_RUNNER_STATS_QUEUED_US),
        Percentiles.of(n, Native.FLAT_RUNNER_STATS_RUN_US), Percentiles.of(n, Native.FLAT_RUNNER_STATS_TOTAL_US));
  }
}
