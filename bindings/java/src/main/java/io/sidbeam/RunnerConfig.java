// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;
import java.util.function.Consumer;

/** What a {@link Runner} is made with; every setter returns this object. */
public final class RunnerConfig {
  final Model model;
  final Constrainer constraint;
  final long[] numbers = new long[Native.FLAT_RUNNER_COUNT];
  Runtime runtime;
  Vocabulary vocabulary = new Vocabulary();
  int[] beginTokens;
  float inverseTemperature;
  float softCap;
  Consumer<Level> adjust;
  Model draft;
  DraftHead head;
  int[] placeholders;

  /**
   * One beam, strategy trie, log-softmax over all tokens, one lane with a thread of its own, requests one by one.
   *
   * @param model the runner holds it
   * @param constraint of requests that name none; the runner holds it
   */
  public RunnerConfig(Model model, Constrainer constraint) {
    this.model = Buffers.given(model, "model");
    this.constraint = Buffers.given(constraint, "constraint");
    beams(1).strategy(Strategy.TRIE).normalization(Normalization.FULL).lanes(1).laneThreads(true);
  }

  private RunnerConfig number(int place, long number) {
    numbers[place] = number;
    return this;
  }

  /**
   * The runtime.
   *
   * @param runtime null: the default
   * @return this
   */
  public RunnerConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Beams of a request, at most.
   *
   * @param beams M, 1 .. 4096
   * @return this
   */
  public RunnerConfig beams(int beams) {
    return number(Native.FLAT_RUNNER_BEAMS, beams);
  }

  /**
   * The token of each code, which is its row of the embedding and of the output layer.
   *
   * @param vocabulary read when the runner is made; the default: code t of every level is token t. Variable lengths
   *     need its end column
   * @return this
   */
  public RunnerConfig vocabulary(Vocabulary vocabulary) {
    this.vocabulary = Buffers.given(vocabulary, "vocabulary");
    return this;
  }

  /**
   * Tokens after every prompt, before the first code; of a T5 the decoder's first.
   *
   * @param beginTokens copied; the default: none, of a T5 that of its config
   * @return this
   */
  public RunnerConfig beginTokens(int... beginTokens) {
    this.beginTokens = beginTokens.clone();
    return this;
  }

  /**
   * How logits become log-probabilities. FULL multiplies all of the output layer, LEVEL and VALID only the rows of the
   * level's codes.
   *
   * @param normalization default {@link Normalization#FULL}
   * @return this
   */
  public RunnerConfig normalization(Normalization normalization) {
    return number(Native.FLAT_RUNNER_NORMALIZATION, Buffers.given(normalization, "normalization").code);
  }

  /**
   * How valid codes are found.
   *
   * @param strategy default {@link Strategy#TRIE}
   * @return this
   */
  public RunnerConfig strategy(Strategy strategy) {
    return number(Native.FLAT_RUNNER_STRATEGY, Buffers.given(strategy, "strategy").code);
  }

  /**
   * What logits are multiplied by.
   *
   * @param inverseTemperature 0 (the default): 1
   * @return this
   */
  public RunnerConfig inverseTemperature(float inverseTemperature) {
    this.inverseTemperature = inverseTemperature;
    return this;
  }

  /**
   * Logits become softCap * tanh(logit / softCap) first.
   *
   * @param softCap 0 (the default): none
   * @return this
   */
  public RunnerConfig softCap(float softCap) {
    this.softCap = softCap;
    return this;
  }

  /**
   * Most positions of a prompt.
   *
   * @param maxPrompt 0 (the default): 512
   * @return this
   */
  public RunnerConfig maxPrompt(long maxPrompt) {
    return number(Native.FLAT_RUNNER_MAX_PROMPT, maxPrompt);
  }

  /**
   * Most tokens per position.
   *
   * @param maxGroup 0 (the default): 1
   * @return this
   */
  public RunnerConfig maxGroup(int maxGroup) {
    return number(Native.FLAT_RUNNER_MAX_GROUP, maxGroup);
  }

  /**
   * Requests that may wait; one more is refused with {@link Status#QUEUE_FULL}.
   *
   * @param queueRequests 0 (the default): 1024
   * @return this
   */
  public RunnerConfig queueRequests(int queueRequests) {
    return number(Native.FLAT_RUNNER_QUEUE_REQUESTS, queueRequests);
  }

  /**
   * Batches that run at the same time.
   *
   * @param lanes default 1
   * @return this
   */
  public RunnerConfig lanes(int lanes) {
    return number(Native.FLAT_RUNNER_LANES, lanes);
  }

  /**
   * Whether each lane has a native thread, made with the runner. Without them {@link Runner#run} works alone, on the
   * caller's thread.
   *
   * @param laneThreads default true
   * @return this
   */
  public RunnerConfig laneThreads(boolean laneThreads) {
    return number(Native.FLAT_RUNNER_LANE_THREADS, laneThreads ? 1 : 0);
  }

  /**
   * When a batch leaves: it is that large, or its oldest request has waited so long. On CPUs the default is best: they
   * run requests side by side.
   *
   * @param requests 0 (the default): 1
   * @param rows prompt positions + M * (L - 1) of each; 0 (the default): no limit
   * @param wait default zero
   * @return this
   */
  public RunnerConfig batch(int requests, long rows, Duration wait) {
    number(Native.FLAT_RUNNER_WAIT_US, Buffers.given(wait, "wait").toNanos() / 1000);
    return number(Native.FLAT_RUNNER_BATCH_REQUESTS, requests).number(Native.FLAT_RUNNER_BATCH_ROWS, rows);
  }

  /**
   * Called per request and level, between model and step, to change the level's logits in place: interpolation, bias.
   * On as many daemon threads of the runner's as there are lanes; a lane waits for its call. What it throws ends the
   * request, and its caller gets it. It must not call {@link Runner#run}, drain or close. On the CPU.
   *
   * @param adjust null (the default): none
   * @return this
   */
  public RunnerConfig adjust(Consumer<Level> adjust) {
    this.adjust = adjust;
    return number(Native.FLAT_RUNNER_ADJUST, adjust == null ? 0 : 1);
  }

  /**
   * A smaller model of the same tokens that writes levels ahead, so that the model is run less often; with
   * {@link Speculate#STRICT} for the same results to the bit. Both in one place, without adjust.
   *
   * @param draft null (the default): none; the runner holds it
   * @return this
   */
  public RunnerConfig draft(Model draft) {
    this.draft = draft;
    return this;
  }

  /**
   * Beams of the draft's search.
   *
   * @param draftBeams at least those of the runner, at most 4096; 0 (the default): as many
   * @return this
   */
  public RunnerConfig draftBeams(int draftBeams) {
    return number(Native.FLAT_RUNNER_DRAFT_BEAMS, draftBeams);
  }

  /**
   * How the draft's levels are verified. RELAXED: the beams of a level are draws from the model's distribution over all
   * continuations, each exactly and independently, so that a SID may be found repeatedly; strategy TRIE. Requests have
   * a {@link Request#seed} then.
   *
   * @param speculate default {@link Speculate#STRICT}
   * @return this
   */
  public RunnerConfig speculate(Speculate speculate) {
    return number(Native.FLAT_RUNNER_SPECULATE, Buffers.given(speculate, "speculate").code);
  }

  /**
   * Whether draws of {@link Speculate#RELAXED} are different SIDs, only approximately by the model's law. More beams of
   * the draft than of the runner need it.
   *
   * @param withoutReplacement default false
   * @return this
   */
  public RunnerConfig withoutReplacement(boolean withoutReplacement) {
    return number(Native.FLAT_RUNNER_WITHOUT_REPLACEMENT, withoutReplacement ? 1 : 0);
  }

  /**
   * What a request's beams are: with STOCHASTIC draws of SIDs without replacement, by the model's own law, which have
   * the same bits where there is a draft. SAMPLE is refused with {@link Status#UNSUPPORTED}.
   *
   * @param mode default {@link Mode#SEARCH}
   * @return this
   */
  public RunnerConfig mode(Mode mode) {
    return number(Native.FLAT_RUNNER_MODE, Buffers.given(mode, "mode").code);
  }

  /**
   * NEZHA's draft head, which works where the model is: the model reads the prompt, the begin tokens and a placeholder
   * per level in one pass, and the head writes the SIDs from its hidden states, as a {@link DraftDecoder} does. With
   * {@link Strategy#TRIE}, or {@link Strategy#HASH_FINAL} for verification at the last level. The vocabulary is not
   * used; there is no draft, and adjust sees the level's codes alone.
   *
   * @param head null (the default): none; the runner holds it
   * @param placeholders tokens, one per level
   * @return this
   */
  public RunnerConfig head(DraftHead head, int... placeholders) {
    this.head = head;
    this.placeholders = placeholders.clone();
    return this;
  }

  /**
   * With {@link Normalization#VALID}: whether a level's logits are those of the beams' children alone, or a product of
   * all of the level's. It changes no result.
   *
   * @param outputPath default {@link HiddenPath#FASTEST}
   * @return this
   */
  public RunnerConfig outputPath(HiddenPath outputPath) {
    return number(Native.FLAT_RUNNER_OUTPUT_PATH, Buffers.given(outputPath, "outputPath").code);
  }

  /**
   * Codes per beam that {@link Strategy#HASH_FINAL} and {@link Strategy#SORTED_TOPK} look up.
   *
   * @param topK 0 (the default): as many as beams
   * @return this
   */
  public RunnerConfig topK(int topK) {
    return number(Native.FLAT_RUNNER_TOP_K, topK);
  }

  /**
   * On CUDA the most item rows that a request's rules may list, excluded or allowed.
   *
   * @param maxListed 0 (the default): 4096
   * @return this
   */
  public RunnerConfig maxListed(long maxListed) {
    return number(Native.FLAT_RUNNER_MAX_LISTED, maxListed);
  }
}
