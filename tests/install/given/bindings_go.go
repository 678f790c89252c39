// What the Go README's block takes for granted. SPDX-License-Identifier: Apache-2.0
package main

import (
	"log"
	"os"

	"sidbeam.io/sidbeam"
)

var drafted int

func targetModel(tree *sidbeam.SpeculationTree) sidbeam.Rows {
	return sidbeam.Rows{F32: make([]float32, tree.Nodes*256), Rows: tree.Nodes, Columns: 256}
}

func draftModel(tree *sidbeam.SpeculationTree) sidbeam.Rows {
	drafted++
	return targetModel(tree)
}

func speculate(target, draft *sidbeam.Session) error {
THE_BLOCK
}

func main() {
	index, err := sidbeam.Open(os.Args[1], sidbeam.OpenConfig{})
	check(err)
	session := func(beams int) *sidbeam.Session {
		session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: beams})
		check(err)
		check(session.Start(sidbeam.StartArgs{}))
		return session
	}
	plain, target := session(10), session(10)
	check(speculate(target, session(20)))
	beams, err := plain.Beams()
	check(err)
	for beams.Active.At(0) > 0 {
		rows := sidbeam.Rows{F32: make([]float32, 10*256), Slots: 1, Rows: 10, Columns: 256}
		check(plain.Step(sidbeam.StepArgs{Rows: rows}))
	}
	found, err := target.Beams()
	check(err)
	for i := 0; i < 10; i++ {
		if drafted == 0 || found.Scores.At(i) != beams.Scores.At(i) || found.Codes.At(i) != beams.Codes.At(i) {
			log.Fatal("expected the beams of a plain search, found by a draft")
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
