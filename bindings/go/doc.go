// SPDX-License-Identifier: Apache-2.0

// Package sidbeam is beam search over Semantic IDs that returns only items that exist, for Go.
//
// A catalogue becomes an [Index] (a [Builder], or a file that [Open] maps); a [Session] decodes requests against it,
// one level per step:
//
//	session.Start(sidbeam.StartArgs{})                         // once per request
//	session.Step(sidbeam.StepArgs{Rows: rows})                 // once per level, on the model's logits
//	beams.Codes, beams.Parents, beams.Scores                  // views of the session's arrays: what to feed next
//	session.Items(nil, items)                                  // the items of the beams
//
// Where items come and go while the index serves, it is that of a live [Catalog]:
//
//	catalog, err := sidbeam.NewCatalog(base, "catalogue", sidbeam.CatalogConfig{})
//	err = catalog.Add(pairs, nil)                              // nobody sees it yet
//	version, err := catalog.Publish()                          // all of it at once, or nothing
//	index, err := catalog.Snapshot(0)                          // an index like any other
//
// Where the library runs the model too, a [Runner] takes the tokens of a history and gives the items:
//
//	model, err := sidbeam.OpenModel("model", sidbeam.ModelConfig{})
//	runner, err := sidbeam.NewRunner(sidbeam.RunnerConfig{Model: model, Constraint: index, Beams: 50})
//	result, err := runner.Run(ctx, sidbeam.Request{Tokens: history})
//
// samples/go/minimal is a whole program. The package is a thin layer over the C ABI, whose headers (include/sidbeam)
// are the contract.
//
// # Conventions
//
// Arrays are dense and row-major slices; [S, M] means S rows of M. A nil slice is "none". Slices are read and written
// in place, during the call only. S is the number of slots (requests), M of beams, L of levels (codes of a SID), V of
// codes of a level.
//
// # Errors
//
// What fails returns an *[Error]. errors.Is compares with a [Code], errors.Is(err, sidbeam.Corrupt), and with what was
// behind it: fs.ErrNotExist, fs.ErrPermission and whatever else the operating system said, and context.Canceled and
// context.DeadlineExceeded. No method panics on an object that is nil, or that no constructor made.
//
// # Contexts
//
// What may take long and can be broken off takes a context, and fails with Cancelled soon after that has ended: plans
// and builds, files that are imported, compactions, waits for a version, and the requests of a [Runner]. The library
// does not break off what opens, verifies, saves or uploads. A nil context never ends.
//
// # Life and threads
//
// Runtime, Index, Filter, Constraint, ConstraintSet, Model, DraftHead and OutputLayer are immutable: share them among
// goroutines, and also a Runner and a Catalog. A Builder, Session, DraftDecoder, HiddenStep or Speculation serves one
// goroutine at a time; a second one gets BadState, never a crash. Close may be called again, and while calls run: the
// memory goes with the last of them, and the last view of the arrays of a session or a speculation. Objects that are
// not closed go with the garbage collector, which does not see how large they are. Every object holds what it was made
// from. Any use after Close fails with BadState.
//
// Nothing here calls back into Go, and C keeps no Go pointer: what a runner has to say waits for a goroutine.
package sidbeam
