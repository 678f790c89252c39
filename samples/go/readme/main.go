// What README.md shows of Go. SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"
	"log"

	"sidbeam.io/sidbeam"
)

func main() {
	logits := make([]float32, 50*256) // yours: a row a beam, from your model
	index, err := sidbeam.Open("build/readme.sidx", sidbeam.OpenConfig{})
	check(err)
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: index, Beams: 50})
	check(err)
	check(session.Start(sidbeam.StartArgs{})) // once a request
	beams, err := session.Beams()             // views: Parents, Tokens, Scores, Live ...
	check(err)
	for beams.Active.At(0) > 0 { // once a level: run the model on beams.Tokens, then
		rows := sidbeam.Rows{F32: logits, Slots: 1, Rows: 50, Columns: 256}.Dense()
		check(session.Step(sidbeam.StepArgs{Rows: rows}))
	}
	fmt.Printf("%d beams, all of them items\n", beams.Live.At(0))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
