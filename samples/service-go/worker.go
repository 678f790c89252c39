// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"sidbeam.io/sidbeam"
)

// worker is a session and its buffers: it serves one request at a time, one history per slot.
type worker struct {
	catalogue *catalogue
	session   *sidbeam.Session
	slots     []int32 // 0, 1, ... S-1: a request starts as many as it needs
	beams     *sidbeam.Beams
	chosen    *sidbeam.Items // the codes of beams so far
	logits    []float32      // [S, M, columns]
	items     *sidbeam.Items
}

func newWorker(c *catalogue, limits limits) (*worker, error) {
	session, err := sidbeam.NewSession(sidbeam.SessionConfig{Constraint: c.index, Slots: limits.histories,
		Beams: limits.beams, Vocabulary: c.vocabulary()})
	if err != nil {
		return nil, err
	}
	beams, err := session.Beams()
	if err != nil {
		return nil, err
	}
	slots, width, levels := session.Shape()
	all := make([]int32, slots)
	for slot := range all {
		all[slot] = int32(slot)
	}
	return &worker{
		catalogue: c,
		session:   session,
		slots:     all,
		beams:     beams,
		chosen:    &sidbeam.Items{SIDs: make([]int32, slots*width*levels), Lengths: make([]int32, slots*width)},
		logits:    make([]float32, slots*width*c.columns),
		items:     session.NewItems(slots, width),
	}, nil
}

// scored is an item of an answer: its id, as a JSON number or text, and the log-probability of its SID.
type scored struct {
	ID    json.RawMessage `json:"id"`
	Score float32         `json:"score"`
}

// recommend gives the k best items of each history, whose items are given by ordinal. It also counts the beams, and
// those that name an item.
func (w *worker) recommend(histories [][]int64, k int) (answers [][]scored, beams, legal int, err error) {
	if err := w.session.Start(sidbeam.StartArgs{Slots: w.slots[:len(histories)]}); err != nil {
		return nil, 0, 0, err
	}
	defer w.session.Stop(nil, 0)
	for w.pending(len(histories)) {
		if err := w.step(histories); err != nil {
			return nil, 0, 0, err
		}
	}
	if err := w.session.Items(nil, w.items); err != nil {
		return nil, 0, 0, err
	}
	_, width, _ := w.session.Shape()
	answers = make([][]scored, len(histories))
	for i := range histories {
		live := int(w.beams.Live.At(i))
		beams += live
		answers[i] = []scored{}
		for m := 0; m < live; m++ {
			if w.items.Ordinals[i*width+m] >= 0 {
				legal++
			}
			for _, row := range w.items.RowsOf(i, m) {
				if len(answers[i]) < k {
					answers[i] = append(answers[i], scored{w.catalogue.jsonID(row), w.beams.Scores.At(i*width + m)})
				}
			}
		}
	}
	return answers, beams, legal, nil
}

func (w *worker) pending(slots int) bool {
	for i := 0; i < slots; i++ {
		if w.beams.Active.At(i) > 0 {
			return true
		}
	}
	return false
}

// step runs the model on every beam that must be fed, then the search; slots that are idle or done are passed over.
func (w *worker) step(histories [][]int64) error {
	if err := w.session.Items(nil, w.chosen); err != nil {
		return err
	}
	slots, width, levels := w.session.Shape()
	columns := w.catalogue.columns
	for i, history := range histories {
		for m := 0; m < int(w.beams.Live.At(i)); m++ {
			beam := i*width + m
			length := int(w.chosen.Lengths[beam])
			if length < int(w.beams.Level.At(i)) || w.beams.Active.At(i) == 0 {
				continue // ended
			}
			w.catalogue.logits(history, w.chosen.SIDs[beam*levels:][:length], w.logits[beam*columns:][:columns])
		}
	}
	rows := sidbeam.Rows{F32: w.logits, Slots: slots, Rows: width, Columns: columns}
	return w.session.Step(sidbeam.StepArgs{Rows: rows})
}

func (c *catalogue) jsonID(row int64) json.RawMessage {
	if c.info.IDType != sidbeam.IDString {
		return json.RawMessage(c.ids[row])
	}
	text, _ := json.Marshal(c.ids[row]) // text can always be marshalled
	return text
}
