// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

func TestClosed(t *testing.T) {
	ctx := context.Background()
	process, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{})
	must(t, err)
	index := threeItems(t)
	constraint, err := sidbeam.NewConstraint(index)
	must(t, err)
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index})
	set, err := sidbeam.NewConstraintSet(sidbeam.ConstraintSetConfig{Constraints: []sidbeam.Constrainer{index}})
	must(t, err)
	builder := builderOf(t, sidbeam.BuilderConfig{Codes: []int32{2}}, sidbeam.Pairs{Codes: []int32{1}})
	for i := 0; i < 2; i++ {
		for _, closer := range []interface{ Close() error }{process, index, constraint, session, set, builder} {
			must(t, closer.Close())
		}
	}
	_, openErr := sidbeam.Open("nowhere", sidbeam.OpenConfig{Runtime: process})
	_, infoErr := index.Info()
	_, _, sidsErr := index.SIDs([]int64{0})
	_, constraintErr := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: constraint})
	_, indexErr := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index})
	_, beamsErr := session.Beams()
	_, statsErr := session.Stats()
	_, finishErr := builder.Finish(ctx)
	for _, failed := range []struct {
		err  error
		what string
	}{
		{openErr, "runtime"}, {infoErr, "index"}, {sidsErr, "index"}, {constraintErr, "constraint"}, {indexErr, "index"},
		{beamsErr, "session"}, {statsErr, "session"}, {finishErr, "builder"}, {session.Step(row(0)), "session"},
		{session.Start(sidbeam.StartArgs{}), "session"}, {session.Stop(nil, 0), "session"},
		{set.Bitmask(nil, []int64{0}, 1, make([]uint32, 1), 0), "constraint set"},
		{builder.Add(sidbeam.Pairs{Codes: []int32{1}}), "builder"}, {index.Verify(sidbeam.VerifyFull), "index"},
	} {
		fails(t, failed.err, sidbeam.BadState, failed.what+" is closed")
	}
}

// Objects that no constructor made say so.
func TestZeroObjects(t *testing.T) {
	var index sidbeam.Index
	var session sidbeam.Session
	var builder sidbeam.Builder
	var set sidbeam.ConstraintSet
	must(t, index.Close())
	must(t, session.Close())
	must(t, builder.Close())
	must(t, new(sidbeam.Runtime).Close())
	must(t, new(sidbeam.Constraint).Close())
	_, infoErr := index.Info()
	_, _, sidsErr := index.SIDs(nil)
	_, finishErr := builder.Finish(context.Background())
	builder.Progress()
	_, beamsErr := session.Beams()
	fails(t, infoErr, sidbeam.InvalidArgument, "index is null")
	fails(t, sidsErr, sidbeam.InvalidArgument, "index is null")
	fails(t, finishErr, sidbeam.InvalidArgument, "builder is null")
	fails(t, beamsErr, sidbeam.InvalidArgument, "session is null")
	fails(t, session.Step(row(0)), sidbeam.InvalidArgument, "session is null")
	fails(t, set.Advance(nil, nil, nil, nil, nil, 0), sidbeam.InvalidArgument, "constraint set is null")
	var none *sidbeam.Index
	_, sessionErr := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: none})
	fails(t, sessionErr, sidbeam.InvalidArgument, "constraint is a nil *Index")
}

// Views keep what they show, whatever has been closed and collected around them.
func TestViewAfterClose(t *testing.T) {
	index := threeItems(t)
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 2})
	must(t, err)
	beams, err := session.Beams()
	must(t, err)
	decodeThree(t, session)
	scores := beams.Scores
	codes := [2]int32{}
	beams.Codes.CopyTo(codes[:])
	must(t, session.Close())
	must(t, index.Close())
	session, beams, index = nil, nil, nil
	for i := 0; i < 5; i++ {
		runtime.GC()
		runtime.Gosched()
		_ = make([]byte, 1<<20)
	}
	if scores.Len() != 2 || scores.At(0) >= 0 || scores.At(0) < scores.At(1) || codes != [2]int32{2, 3} {
		t.Errorf("expected the scores of before, got %v %v, codes %v", scores.At(0), scores.At(1), codes)
	}
}

// Many goroutines use one session, which is closed under them: every call works or says why not.
func TestCloseWhileInUse(t *testing.T) {
	index := threeItems(t)
	for round := 0; round < 50; round++ {
		session, _ := newSession(t, sidbeam.SessionConfig{Constraint: index, Beams: 2})
		var group sync.WaitGroup
		var begun sync.Once
		working := make(chan struct{})
		for g := 0; g < 4; g++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for {
					err := session.Start(sidbeam.StartArgs{})
					if err == nil {
						begun.Do(func() { close(working) })
						err = session.Step(row(0))
					}
					if err != nil && !errors.Is(err, sidbeam.BadState) {
						t.Errorf("expected success or BadState, got %v", err)
					}
					var failed *sidbeam.Error
					if errors.As(err, &failed) && failed.Message == "session is closed" {
						return
					}
				}
			}()
		}
		<-working
		must(t, session.Close())
		group.Wait()
	}
}

// Immutable objects serve any number of goroutines, each with a session of its own.
func TestManyGoroutines(t *testing.T) {
	const goroutines, requests = 16, 50
	index := build(t, sidbeam.BuilderConfig{Codes: []int32{32, 32, 32}}, sidbeam.Pairs{Codes: randomSIDs(2000, 3, 32)})
	logits := randomLogits(8 * 32)
	var want []int64
	var mutex sync.Mutex
	var group sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 8})
			if err != nil {
				t.Error(err)
				return
			}
			defer session.Close()
			for i := 0; i < requests; i++ {
				got, err := decode(session, logits)
				mutex.Lock()
				if want == nil {
					want = got
				}
				for m := range want {
					if err != nil || got[m] != want[m] || got[m] < 0 {
						t.Errorf("expected what the first goroutine got, %v, got %v, %v", want, got, err)
					}
				}
				mutex.Unlock()
				if _, err := index.SID(got[0]); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
}

func decode(session *sidbeam.Session, logits []float32) ([]int64, error) {
	if err := session.Start(sidbeam.StartArgs{}); err != nil {
		return nil, err
	}
	slots, beams, levels := session.Shape()
	rows := sidbeam.Rows{F32: logits, Slots: slots, Rows: beams, Columns: len(logits) / beams}
	for l := 0; l < levels; l++ {
		if err := session.Step(sidbeam.StepArgs{Rows: rows}); err != nil {
			return nil, err
		}
	}
	items := sidbeam.Items{Ordinals: make([]int64, slots*beams)}
	return items.Ordinals, session.Items(nil, &items)
}

func residentBytes(t *testing.T) int {
	statm, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	pages, err := strconv.Atoi(string(bytes.Fields(statm)[1]))
	must(t, err)
	return pages * os.Getpagesize()
}

// 400 sessions of 2 MB or more, and their views, are closed or left to the collector; neither leaks.
func TestNothingLeaks(t *testing.T) {
	index := threeItems(t)
	config := sidbeam.SessionConfig{Constraint: index, Slots: 64, Beams: 1024}
	churn := func(shut bool) {
		for i := 0; i < 200; i++ {
			session, err := sidbeam.NewSession(config)
			must(t, err)
			_, err = session.Beams()
			must(t, err)
			must(t, session.Start(sidbeam.StartArgs{}))
			if shut {
				must(t, session.Close())
			}
			session = nil
			if i%5 == 4 {
				runtime.GC()
				runtime.GC()
			}
		}
	}
	session, _ := newSession(t, config)
	stats, err := session.Stats()
	must(t, err)
	churn(true)
	before := residentBytes(t)
	churn(true)
	churn(false)
	grown, all := residentBytes(t)-before, 400*int(stats.MemoryBytes)
	for begin := time.Now(); grown > all/8 && time.Since(begin) < time.Minute; grown = residentBytes(t) - before {
		runtime.GC() // the finalizers of many may not have run yet
	}
	if stats.MemoryBytes < 2<<20 || grown > all/8 {
		t.Errorf("400 sessions of %d bytes: expected less than an eighth to be left, got %d bytes more",
			stats.MemoryBytes, grown)
	}
}

// again runs one test of this program in a process of its own.
func again(t *testing.T, test string, environment ...string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s, in a process of its own: %v\n%s", test, err, output)
	}
	return string(output)
}

// A process ends with everything open, a build and a step running.
func TestExitWithLiveObjects(t *testing.T) {
	if os.Getenv("SIDBEAM_EXIT") == "" {
		again(t, "TestExitWithLiveObjects", "SIDBEAM_EXIT=1")
		return
	}
	session, _ := newSession(t, sidbeam.SessionConfig{Constraint: threeItems(t), Beams: 2})
	config := sidbeam.BuilderConfig{Codes: []int32{64, 64, 64}}
	builder := builderOf(t, config, sidbeam.Pairs{Codes: randomSIDs(100000, 3, 64)})
	begun := make(chan bool, 2)
	go func() {
		begun <- true
		_, _ = builder.Finish(context.Background())
	}()
	go func() {
		begun <- true
		for {
			_ = session.Start(sidbeam.StartArgs{})
			_ = session.Step(row(0))
		}
	}()
	<-begun
	<-begun
	os.Exit(0)
}

// A library of another ABI is refused before anything is asked of it.
func TestOtherABI(t *testing.T) {
	if os.Getenv("SIDBEAM_OTHER_ABI") != "" {
		_, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{})
		fails(t, err, sidbeam.Unsupported, "has ABI 7, this binding was made for 1")
		_, err = sidbeam.Peek("nowhere")
		fails(t, err, sidbeam.Unsupported, "has ABI 7")
		return
	}
	other := t.TempDir() + "/other.so"
	compile := exec.Command("cc", "-shared", "-fPIC", "-x", "c", "-o", other, "-")
	compile.Stdin = bytes.NewBufferString("unsigned sidbeam_abi_version(void) { return 7; }\n")
	if output, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, output)
	}
	output := again(t, "TestOtherABI", "SIDBEAM_OTHER_ABI=1", "LD_PRELOAD="+other)
	if !bytes.Contains([]byte(output), []byte("PASS")) {
		t.Errorf("expected PASS, got %s", output)
	}
}
