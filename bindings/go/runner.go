// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"
	"time"

	"sidbeam.io/sidbeam/internal/native"
)

// RunnerConfig is what a [Runner] is made from. Model and Constraint are needed.
type RunnerConfig struct {
	Runtime       *Runtime    // nil: the process's
	Model         *Model      //
	Constraint    Constrainer // an *Index or a *Constraint, of requests that name none
	Beams         int         // M, the most that a request may ask for, 1 .. MaxBeams; 0: 1
	Vocabulary    *Vocabulary // the token of each code; nil: code t of every level is token t
	BeginTokens   []int32     // after every prompt; of a T5 the decoder's first, nil: that of its config
	Normalization Normalization
	Strategy      Strategy
	// As in StartArgs; 0: 1 and none.
	InverseTemperature, SoftCap float32
	MaxPrompt                   int // most positions of a prompt; 0: 512
	MaxGroup                    int // most tokens per position; 0: 1
	QueueRequests               int // requests that may wait; 0: 1024. One more is refused with QueueFull
	Lanes                       int // batches that run at the same time; 0: 1
	// Requests run on the goroutine of Run alone, and Submit fails. Otherwise each lane has a thread.
	CallerThreads bool
	// A batch leaves when it is that large, or its oldest request has waited so long; 0: one request, no wait, which is
	// best on CPUs.
	BatchRequests int
	BatchRows     int64
	Wait          time.Duration
	// Called per request and level, between model and step, to change the level's logits in place; on goroutines of its
	// own, one per lane at a time. The lane waits. An error ends the request, whose caller gets it. It must not call Run
	// or Drain of the runner, which would wait for it. On the CPU.
	Adjust func(*Level) error
	// A smaller model of the same tokens that writes levels ahead, so that Model is run less often; both in one place,
	// without Adjust. nil: none.
	Draft      *Model
	DraftBeams int // of the draft's search, Beams .. MaxBeams; 0: Beams
	Speculate  Speculate
	// Draws of SpeculateRelaxed are different SIDs, only approximately by Model's law; needed where DraftBeams is more
	// than Beams.
	WithoutReplacement bool
	// ModeStochastic: requests draw SIDs without replacement by Model's own law, with the same bits where there is a
	// Draft. ModeSample is Unsupported.
	Mode Mode
	// NEZHA's draft head, which works where Model is: Model reads the prompt, BeginTokens and Placeholders, a token per
	// level, in one pass, and the head writes the SIDs from its hidden states, as a DraftDecoder does. Strategy is
	// StrategyTrie, or StrategyHashFinal for verification at the last level. Vocabulary is not used; there is no Draft,
	// and Adjust sees the level's codes alone. nil: none.
	Head         *DraftHead
	Placeholders []int32
	// With NormalizeValid: whether a level's logits are those of the beams' children alone, or a product of all of the
	// level's. It changes no result.
	OutputPath HiddenPath
	TopK       int   // of StrategyHashFinal and StrategySortedTopK: codes per beam that are looked up; 0: Beams
	MaxListed  int64 // on CUDA the most item rows that a request's rules may list, excluded or allowed; 0: 4096
}

// Speculate says how a runner's draft is verified.
type Speculate int32

// Forms of speculation.
const (
	SpeculateStrict Speculate = iota // results are the model's own, whatever the draft
	// Beams of a level are draws from Model's distribution over all continuations, each exactly and independently, so
	// that a SID may be found repeatedly; with StrategyTrie. See Request.Seed.
	SpeculateRelaxed
)

// String is the form's name, as the command's --speculate has it.
func (s Speculate) String() string { return name(int32(s), "strict", "relaxed") }

// Runner runs requests of a model under a constraint: history tokens in, items out. Any number of goroutines may use
// it. All memory of the lanes is taken at creation. Callbacks of the library do not enter Go: they wait in a queue
// for a goroutine of the runner's.
type Runner struct {
	handle        *handle
	desk          *desk
	callerThreads bool
}

// NewRunner makes a runner, its lanes' memory and their threads. Errors: InvalidArgument, Unsupported, MissingSection,
// NoDevice, OutOfMemory.
func NewRunner(config RunnerConfig) (*Runner, error) {
	if config.Model == nil || config.Constraint == nil {
		return nil, invalid("Model or Constraint is nil, expected both")
	}
	draft, err := config.draft()
	if err != nil {
		return nil, err
	}
	head, err := config.head()
	if err != nil {
		return nil, err
	}
	held, err := config.Constraint.constraint()
	if err != nil {
		return nil, err
	}
	info, err := held.Info()
	if err != nil {
		return nil, err
	}
	offsets, maps, mapCodes, end := config.Vocabulary.flat()
	numbers := config.numbers()
	var box uintptr
	f := newFailure()
	if err := withRuntime(config.Runtime, func(runtime uintptr) {
		box = native.Flat_runner_create(runtime, rawOf(config.Model), draft, head, rawOf(held), numbers,
			config.InverseTemperature, config.SoftCap, offsets, maps, mapCodes, end, config.BeginTokens, config.Placeholders,
			f.bytes())
	}); err != nil {
		return nil, err
	}
	runtime.KeepAlive(config.Model)
	runtime.KeepAlive(config.Draft)
	runtime.KeepAlive(config.Head)
	runtime.KeepAlive(held)
	if err := f.done(); err != nil {
		return nil, err
	}
	r := &Runner{handle: newHandle(box), callerThreads: config.CallerThreads}
	f = newFailure()
	events := native.Flat_runner_events(box, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	r.desk = newDesk(newHandle(events), config.Adjust, info.Codes)
	return r, nil
}

// draft is 0 where there is none, which C could not tell from a Model that nobody opened.
func (c *RunnerConfig) draft() (uintptr, error) {
	if c.Draft == nil {
		return 0, nil
	}
	if c.Draft.handle == nil {
		return 0, invalid("Draft is a Model that was not opened, expected one of OpenModel, or nil")
	}
	return rawOf(c.Draft), nil
}

// head is as draft.
func (c *RunnerConfig) head() (uintptr, error) {
	if c.Head == nil {
		return 0, nil
	}
	if c.Head.handle == nil {
		return 0, invalid("Head is a DraftHead that was not opened, expected one of OpenDraftHead, or nil")
	}
	return rawOf(c.Head), nil
}

func (c *RunnerConfig) numbers() []int64 {
	numbers := make([]int64, native.FLAT_RUNNER_COUNT)
	numbers[native.FLAT_RUNNER_BEAMS] = int64(orOne(c.Beams))
	numbers[native.FLAT_RUNNER_NORMALIZATION] = int64(c.Normalization)
	numbers[native.FLAT_RUNNER_STRATEGY] = int64(c.Strategy)
	numbers[native.FLAT_RUNNER_MAX_PROMPT] = int64(c.MaxPrompt)
	numbers[native.FLAT_RUNNER_MAX_GROUP] = int64(c.MaxGroup)
	numbers[native.FLAT_RUNNER_QUEUE_REQUESTS] = int64(c.QueueRequests)
	numbers[native.FLAT_RUNNER_LANES] = int64(c.Lanes)
	numbers[native.FLAT_RUNNER_LANE_THREADS] = int64(flag(!c.CallerThreads))
	numbers[native.FLAT_RUNNER_BATCH_REQUESTS] = int64(c.BatchRequests)
	numbers[native.FLAT_RUNNER_BATCH_ROWS] = c.BatchRows
	numbers[native.FLAT_RUNNER_WAIT_US] = c.Wait.Microseconds()
	numbers[native.FLAT_RUNNER_ADJUST] = int64(flag(c.Adjust != nil))
	numbers[native.FLAT_RUNNER_SPECULATE] = int64(c.Speculate)
	numbers[native.FLAT_RUNNER_DRAFT_BEAMS] = int64(c.DraftBeams)
	numbers[native.FLAT_RUNNER_WITHOUT_REPLACEMENT] = int64(flag(c.WithoutReplacement))
	numbers[native.FLAT_RUNNER_MODE] = int64(c.Mode)
	numbers[native.FLAT_RUNNER_TOP_K] = int64(c.TopK)
	numbers[native.FLAT_RUNNER_OUTPUT_PATH] = int64(c.OutputPath)
	numbers[native.FLAT_RUNNER_MAX_LISTED] = c.MaxListed
	return numbers
}

// Request is a request of a runner. Only Tokens is needed, or BeginTokens.
type Request struct {
	// [positions, Group] token ids, copied; of a group the embeddings are summed, -1 is none. Empty, of a new user, with
	// BeginTokens and a decoder alone.
	Tokens     []int32
	Group      int           // tokens per position; 0: 1
	Beams      int           // 1 .. M; 0: M
	Widths     []int32       // of up to L levels: level l keeps at most the l-th, or the last, 1 .. Beams; nil: Beams
	Priority   int           // higher starts earlier
	Deadline   time.Duration // from now on, within which it must start; 0: none, or that of the context
	Constraint Constrainer   // nil: the runner's; another: of the same codes per level and, where both name one, codebook
	Value      any           // for Adjust
	// Keys of the random numbers of a runner that draws (SpeculateRelaxed, ModeStochastic): requests with equal pairs
	// draw alike. Otherwise 0.
	Seed, SamplingRequest int64
}

// Result is what a request found: N SIDs, best first.
type Result struct {
	SIDs        []int32   // [N, L] codes; -1 past the end of a shorter SID
	Scores      []float32 // [N] log-probability
	Ordinals    []int64   // [N]; -1 where StrategyNone found no SID
	Levels      int       // L
	Request     int64     // its number
	Queued, Ran time.Duration
	Batch       int // requests that ran with it, itself included
	// Of a runner with a draft, otherwise 0: passes of the model, which without one are Levels; levels written ahead; of
	// these, the ones that were right, passes saved; of Ran, what drafting took, of the whole batch.
	Rounds, DraftedLevels, AcceptedLevels int
	Drafting                              time.Duration
}

// SID is the i-th SID: a part of SIDs.
func (r *Result) SID(i int) []int32 {
	sid := r.SIDs[i*r.Levels:][:r.Levels]
	for l, code := range sid {
		if code < 0 {
			return sid[:l]
		}
	}
	return sid
}

func takeResult(numbers []int64) (*Result, error) {
	live, levels := int(numbers[native.FLAT_RESULT_LIVE]), int(numbers[native.FLAT_RESULT_LEVELS])
	result := &Result{
		SIDs:     make([]int32, live*levels),
		Scores:   make([]float32, live),
		Ordinals: make([]int64, live),
		Levels:   levels,
		Request:  numbers[native.FLAT_RESULT_REQUEST],
		Queued:   time.Duration(numbers[native.FLAT_RESULT_QUEUED_US]) * time.Microsecond,
		Ran:      time.Duration(numbers[native.FLAT_RESULT_RUN_US]) * time.Microsecond,
		Batch:    int(numbers[native.FLAT_RESULT_BATCH]),

		Rounds:         int(numbers[native.FLAT_RESULT_ROUNDS]),
		DraftedLevels:  int(numbers[native.FLAT_RESULT_DRAFTED_LEVELS]),
		AcceptedLevels: int(numbers[native.FLAT_RESULT_ACCEPTED_LEVELS]),
		Drafting:       time.Duration(numbers[native.FLAT_RESULT_DRAFT_US]) * time.Microsecond,
	}
	f := newFailure()
	native.Flat_result_take(numbers[native.FLAT_RESULT_NUMBER], result.SIDs, result.Scores, result.Ordinals, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	return result, nil
}

// Run runs a request and waits for it. When ctx ends, the request does, at its next level at the latest, unless it runs
// on this goroutine (CallerThreads). Errors: InvalidArgument (a token out of the vocabulary, an empty prompt or one too
// long; NaN or +inf in logits), QueueFull, DeadlineExceeded, Cancelled (errors.Is finds the context's error too),
// BadState (closed).
func (r *Runner) Run(ctx context.Context, request Request) (*Result, error) {
	if err := r.usable("Run"); err != nil {
		return nil, err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if r.callerThreads {
		return r.runHere(ctx, request)
	}
	pending, err := r.submit(ctx, request)
	if err != nil {
		return nil, err
	}
	pending.watch()
	return pending.Result()
}

// Submit takes a request and returns before it is done. When ctx ends, the request does, as in Run. Errors:
// InvalidArgument, QueueFull, DeadlineExceeded (a negative deadline), Cancelled (ctx has ended), BadState (closed, or
// CallerThreads).
func (r *Runner) Submit(ctx context.Context, request Request) (*Pending, error) {
	if err := made("runner", r); err != nil {
		return nil, err
	}
	pending, err := r.submit(ctx, request)
	if err != nil {
		return nil, err
	}
	if ctx != nil && ctx.Done() != nil {
		go pending.watch()
	}
	return pending, nil
}

// usable refuses what would wait for the caller itself.
func (r *Runner) usable(what string) error {
	if err := made("runner", r); err != nil {
		return err
	}
	if r.desk.isInside() {
		return errInside(what)
	}
	return nil
}

func (r *Runner) runHere(ctx context.Context, request Request) (*Result, error) {
	pending, tag := r.desk.admit(ctx, nil, request.Value)
	defer r.desk.forget(tag)
	numbers := make([]int64, native.FLAT_RESULT_COUNT)
	err := r.enter(ctx, request, func(tokens []int32, constraint uintptr, deadline int64, f *failure) {
		native.Flat_runner_run(rawOf(r), tag, tokens, saturate(request.Group), saturate(request.Beams),
			request.Widths, saturate(request.Priority), constraint, deadline, request.Seed,
			request.SamplingRequest, numbers, f.bytes())
	})
	if err != nil {
		return nil, pending.failure(err)
	}
	return takeResult(numbers)
}

func (r *Runner) submit(ctx context.Context, request Request) (*Pending, error) {
	pending, tag := r.desk.admit(ctx, r, request.Value)
	err := r.enter(ctx, request, func(tokens []int32, constraint uintptr, deadline int64, f *failure) {
		pending.id = native.Flat_runner_submit(rawOf(r), tag, tokens, saturate(request.Group),
			saturate(request.Beams), request.Widths, saturate(request.Priority), constraint, deadline, request.Seed,
			request.SamplingRequest, f.bytes())
	})
	if err != nil {
		r.desk.forget(tag)
		return nil, err
	}
	return pending, nil
}

// enter calls with what a request needs in C, unless ctx has ended, and keeps it alive.
func (r *Runner) enter(ctx context.Context, request Request,
	call func(tokens []int32, constraint uintptr, deadline int64, f *failure)) error {
	if err := ended(ctx); err != nil {
		return err
	}
	var held *Constraint
	var box uintptr
	if request.Constraint != nil {
		var err error
		if held, err = request.Constraint.constraint(); err != nil {
			return err
		}
		box = rawOf(held)
	}
	if ctx != nil && request.Deadline == 0 {
		if end, ok := ctx.Deadline(); ok {
			request.Deadline = time.Until(end)
		}
	}
	deadline := request.Deadline.Microseconds()
	if deadline == 0 && request.Deadline < 0 {
		deadline = -1
	} else if deadline == 0 && request.Deadline > 0 {
		deadline = 1
	}
	f := newFailure()
	call(request.Tokens, box, deadline, f)
	runtime.KeepAlive(held)
	runtime.KeepAlive(r)
	return f.done()
}

// Drain waits until no request waits or runs, or until ctx ends, which it notices within 0.1 s. Errors: Cancelled
// (errors.Is finds the context's error too), BadState (closed, or within Adjust).
func (r *Runner) Drain(ctx context.Context) error {
	if err := r.usable("Drain"); err != nil {
		return err
	}
	slice := 100 * time.Millisecond // a wait hears so often of what ends it
	if ctx == nil || ctx.Done() == nil {
		slice = 0 // no limit
	}
	for {
		if err := ended(ctx); err != nil {
			return err
		}
		f := newFailure()
		idle := native.Flat_runner_drain(rawOf(r), slice.Microseconds(), f.bytes())
		runtime.KeepAlive(r)
		if err := f.done(); err != nil || idle != 0 {
			return err
		}
	}
}

// Close takes no more requests, ends the waiting ones with Cancelled and waits for the running ones: afterwards all
// requests are done and Adjust is not called. Closing again does nothing. Within Adjust it fails with BadState.
func (r *Runner) Close() error {
	if rawOf(r) == 0 {
		return nil
	}
	if r.desk.isInside() {
		return errInside("Close")
	}
	f := newFailure()
	native.Flat_runner_close(rawOf(r), f.bytes())
	runtime.KeepAlive(r)
	if err := f.done(); err != nil {
		return err
	}
	<-r.desk.ended
	return nil
}

func errInside(what string) error {
	return &Error{Code: BadState, Message: what + " is called within Adjust of the runner, whose end it would wait for"}
}
