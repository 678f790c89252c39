// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"sidbeam.io/sidbeam/internal/native"
)

// Pending is a request that was submitted.
type Pending struct {
	ctx    context.Context
	done   chan struct{}
	result *Result
	err    error
	raised error // by Adjust
	id     int64
	runner *Runner // kept by what it still owes
	value  any
}

// nothingToWaitFor is the channel of a Pending that no Submit made.
var nothingToWaitFor = make(chan struct{})

func init() { close(nothingToWaitFor) }

// Done is closed when the request is done.
func (p *Pending) Done() <-chan struct{} {
	if p == nil || p.done == nil {
		return nothingToWaitFor
	}
	return p.done
}

// Result waits for the request. Errors: those of [Runner.Run].
func (p *Pending) Result() (*Result, error) {
	if p == nil || p.done == nil {
		return nil, invalid("request is null, expected one of Submit")
	}
	<-p.done
	return p.result, p.err
}

// Cancel ends the request with Cancelled: a waiting one now, a running one at its next level. One that is done stays
// so.
func (p *Pending) Cancel() {
	if p == nil || p.runner == nil {
		return
	}
	f := newFailure()
	native.Flat_runner_cancel(rawOf(p.runner), p.id, f.bytes())
	runtime.KeepAlive(p.runner)
	_ = f.done() // closed: then it has been cancelled
}

// watch returns when the request is done, which it is soon after its context has ended.
func (p *Pending) watch() {
	var end <-chan struct{}
	if p.ctx != nil {
		end = p.ctx.Done()
	}
	select {
	case <-p.done:
	case <-end:
		p.Cancel()
	}
}

// failure is what the caller gets to see: the error of its own Adjust, if that ended the request.
func (p *Pending) failure(err error) error {
	if p.raised != nil {
		return p.raised
	}
	return because(p.ctx, err)
}

// Level is one request at one level, between the model and the step: what Adjust gets. Its memory is Go's: it may be
// kept, and what its logits are when Adjust returns is copied to the lane.
type Level struct {
	Level     int   // codes decided so far
	Request   int64 // its number
	Value     any   // of the Request
	Rows      int   // 1 at level 0
	Codes     int   // of the level
	EndColumn int   // -1: none

	logits   []float32 // [Rows, columns]
	columns  int
	prefixes []int32 // [Rows, Level]
	offset   int64
	maps     []int32 // [Codes]; nil: offset says it
}

// Logits is row i, to be changed in place.
func (l *Level) Logits(i int) []float32 { return l.logits[i*l.columns:][:l.columns:l.columns] }

// Prefix is the codes so far of row i.
func (l *Level) Prefix(i int) []int32 { return l.prefixes[i*l.Level:][:l.Level:l.Level] }

// Column is the place of a code in a row; -1: it has none.
func (l *Level) Column(code int32) int {
	if l.maps != nil {
		return int(l.maps[code])
	}
	return int(l.offset) + int(code)
}

// desk is what the goroutine of a runner's events knows: not the runner, so that one that nobody needs can go.
type desk struct {
	events *handle
	adjust func(*Level) error
	codes  []int32
	ended  chan struct{} // closed with the last event

	mutex    sync.Mutex
	requests map[int64]*Pending // by tag
	last     int64              // tag
	inside   map[int]bool       // threads that run adjust
}

func newDesk(events *handle, adjust func(*Level) error, codes []int32) *desk {
	d := &desk{events: events, adjust: adjust, codes: codes, ended: make(chan struct{}),
		requests: map[int64]*Pending{}, inside: map[int]bool{}}
	go d.serve()
	return d
}

func (d *desk) admit(ctx context.Context, runner *Runner, value any) (*Pending, int64) {
	pending := &Pending{ctx: ctx, done: make(chan struct{}), runner: runner, value: value}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.last++
	d.requests[d.last] = pending
	return pending, d.last
}

func (d *desk) forget(tag int64) *Pending {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	pending := d.requests[tag]
	delete(d.requests, tag)
	return pending
}

// serve completes requests, and answers levels on goroutines of their own: each is what a lane waits for.
func (d *desk) serve() {
	defer close(d.ended)
	for {
		numbers := make([]int64, native.FLAT_EVENT_COUNT)
		f := newFailure()
		kind := native.Flat_events_next(d.events.raw(), numbers, f.bytes())
		if err := f.done(); err != nil || kind == native.FLAT_EVENT_END {
			return
		}
		if kind == native.FLAT_EVENT_ADJUST {
			go d.answer(numbers)
			continue
		}
		pending := d.forget(numbers[native.FLAT_RESULT_TAG])
		result, err := takeResult(numbers)
		pending.result, pending.err = result, err
		if err != nil {
			pending.err = pending.failure(err)
		}
		close(pending.done)
	}
}

func (d *desk) answer(numbers []int64) {
	d.mutex.Lock()
	pending := d.requests[numbers[native.FLAT_ADJUST_TAG]]
	d.mutex.Unlock()
	verdict := 1
	defer func() { // a panic of adjust ends the process, as it does on any goroutine; until then the lane waits
		f := newFailure()
		native.Flat_adjust_answer(d.events.raw(), numbers[native.FLAT_ADJUST_NUMBER], verdict, f.bytes())
		_ = f.done()
		runtime.KeepAlive(d)
	}()
	// A thread of its own tells isInside which goroutine this is.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := syscall.Gettid()
	d.enter(thread, true)
	defer d.enter(thread, false)
	lane := laneLogits(numbers)
	level := d.level(numbers, lane, pending.value)
	if err := d.adjust(level); err != nil {
		pending.raised = err
		return
	}
	for i, row := range lane {
		copy(row, level.Logits(i))
	}
	verdict = 0
}

func (d *desk) enter(thread int, inside bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if inside {
		d.inside[thread] = true
	} else {
		delete(d.inside, thread)
	}
}

// isInside says whether the calling goroutine is one that runs adjust.
func (d *desk) isInside() bool {
	if d.adjust == nil {
		return false
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.inside[syscall.Gettid()]
}

// laneLogits gives the rows of the lane, memory of C. Adjust does not get to see them: a slice cannot be taken back,
// and the lane goes on.
func laneLogits(numbers []int64) [][]float32 {
	rows, stride := int(numbers[native.FLAT_ADJUST_ROWS]), int(numbers[native.FLAT_ADJUST_ROW_STRIDE])
	all := lent[float32](numbers, native.FLAT_ADJUST_LOGITS, rows*stride)
	lane := make([][]float32, rows)
	for i := range lane {
		lane[i] = all[i*stride:][:numbers[native.FLAT_ADJUST_COLUMNS]]
	}
	return lane
}

func (d *desk) level(numbers []int64, lane [][]float32, value any) *Level {
	n, columns := int(numbers[native.FLAT_ADJUST_LEVEL]), int(numbers[native.FLAT_ADJUST_COLUMNS])
	logits := make([]float32, 0, len(lane)*columns)
	for _, row := range lane {
		logits = append(logits, row...)
	}
	maps := lent[int32](numbers, native.FLAT_ADJUST_MAP, int(numbers[native.FLAT_ADJUST_MAP_CODES]))
	return &Level{
		Level:     n,
		Request:   numbers[native.FLAT_ADJUST_REQUEST],
		Value:     value,
		Rows:      len(lane),
		Codes:     int(d.codes[n]),
		EndColumn: int(numbers[native.FLAT_ADJUST_END_COLUMN]),
		logits:    logits,
		columns:   columns,
		prefixes:  append([]int32(nil), lent[int32](numbers, native.FLAT_ADJUST_PREFIXES, len(lane)*n)...),
		offset:    numbers[native.FLAT_ADJUST_OFFSET],
		maps:      append([]int32(nil), maps...),
	}
}

// lent turns an address that C has written into a slice of its memory, which is C's again after the answer; nil for 0.
func lent[T int32 | float32](numbers []int64, place, count int) []T {
	if numbers[place] == 0 {
		return nil
	}
	return unsafe.Slice(*(**T)(unsafe.Pointer(&numbers[place])), count)
}
