// Command overhead times a step through Go, in the setting of tests/bindings/bench_calls.c, and prints one line per
// case: overhead go <case> <median ns> <p99 ns>. SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"log"
	"sort"
	"time"

	"sidbeam.io/sidbeam"
)

const (
	items, levels, codes = 100000, 4, 2048
	warmUp               = 2000
)

var cases = []struct {
	name               string
	slots, beams, step int // the step that is timed
	lse                bool
	runs               int
}{{"one", 1, 1, 2, true, 20000}, {"list", 2, 70, 2, true, 20000}, {"full", 2, 70, 1, false, 5000}}

// mix64 is SplitMix64's finaliser.
func mix64(x uint64) uint64 {
	z := x + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func main() {
	one, err := sidbeam.NewRuntime(sidbeam.RuntimeConfig{Threads: 1, StepThreads: 1})
	check(err)
	index := catalogue(one)
	logits := make([]float32, 2*70*codes)
	for e := range logits {
		logits[e] = float32(mix64(1<<32+uint64(e))>>40)/(1<<21) - 4
	}
	lse := make([]float32, 2*70)
	for i := range lse {
		lse[i] = 9
	}
	for _, c := range cases {
		session, err := sidbeam.NewSession(sidbeam.SessionConfig{
			Runtime: one, Constraint: index, Slots: c.slots, Beams: c.beams})
		check(err)
		args := sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits, Slots: c.slots, Rows: c.beams, Columns: codes}}
		if c.lse {
			args.LSE = lse[:c.slots*c.beams]
		}
		times := measure(session, args, c.step, c.runs)
		fmt.Printf("overhead go %s %d %d\n", c.name, times[len(times)/2], times[len(times)*99/100])
		check(session.Close())
	}
}

func catalogue(one *sidbeam.Runtime) *sidbeam.Index {
	sids := make([]int32, items*levels)
	for i := range sids {
		sids[i] = int32(mix64(uint64(i)) % codes)
	}
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Runtime: one, Codes: []int32{codes, codes, codes, codes}})
	check(err)
	check(builder.Add(sidbeam.Pairs{Codes: sids}))
	index, err := builder.Finish(context.Background())
	check(err)
	check(builder.Close())
	return index
}

// measure gives the nanoseconds of the timed step, rising.
func measure(session *sidbeam.Session, args sidbeam.StepArgs, timed, runs int) []int64 {
	times := make([]int64, 0, runs)
	for run := -warmUp; run < runs; run++ {
		check(session.Start(sidbeam.StartArgs{}))
		for level := 0; level < timed; level++ {
			check(session.Step(args))
		}
		begin := time.Now()
		err := session.Step(args)
		took := time.Since(begin)
		check(err)
		if run >= 0 {
			times = append(times, took.Nanoseconds())
		}
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
