// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"sidbeam.io/sidbeam"
)

// recommender runs the model on histories: one runner for all generations of the index.
type recommender struct {
	options options
	model   *sidbeam.Model
	runner  *sidbeam.Runner
}

func newRecommender(o options, c *catalogue) (*recommender, error) {
	model, err := sidbeam.OpenModel(o.model, sidbeam.ModelConfig{})
	if err != nil {
		return nil, err
	}
	var draft *sidbeam.Model
	if o.draft != "" {
		if draft, err = sidbeam.OpenModel(o.draft, sidbeam.ModelConfig{}); err != nil {
			_ = model.Close()
			return nil, err
		}
		defer draft.Close() // the runner holds it
	}
	like, err := c.like()
	if err != nil {
		_ = model.Close()
		return nil, err
	}
	defer like.Close() // the runner holds it
	runner, err := sidbeam.NewRunner(sidbeam.RunnerConfig{Model: model, Draft: draft, Constraint: like, Beams: o.beams,
		Vocabulary: &o.vocabulary, BeginTokens: o.beginTokens, Lanes: o.lanes, QueueRequests: o.queue,
		Normalization: o.normalization, MaxGroup: o.group, MaxPrompt: len(o.fill(o.startTokens))/o.group + o.prompt})
	if err != nil {
		_ = model.Close()
		return nil, err
	}
	return &recommender{o, model, runner}, nil
}

func (r *recommender) close() {
	_ = r.runner.Close()
	_ = r.model.Close()
}

// scored is an item of an answer: its id, as a JSON number or text, and the log-probability of its SID.
type scored struct {
	ID    json.RawMessage `json:"id"`
	Score float32         `json:"score"`
}

// recommend gives the k best items of each history, whose items are given by their SIDs; the histories run side by
// side, under the same rules. A history without items has no answer: the model would have nothing to read.
func (r *recommender) recommend(
	ctx context.Context, c *catalogue, rules scope, histories [][][]int32, k int,
) ([][]scored, error) {
	answers := make([][]scored, len(histories))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of an answer that fails, the other histories end too
	failures := make(chan error, len(histories))
	for i := range histories {
		go func(i int) {
			var err error
			answers[i], err = r.items(ctx, c, rules, histories[i], k)
			failures <- err
		}(i)
	}
	var first error
	for range histories {
		if err := <-failures; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return answers, first
}

func (r *recommender) items(
	ctx context.Context, c *catalogue, rules scope, history [][]int32, k int,
) ([]scored, error) {
	items := []scored{}
	tokens := r.tokens(history)
	if len(tokens) == 0 {
		return items, nil
	}
	result, err := r.runner.Run(ctx, sidbeam.Request{Tokens: tokens, Group: r.options.group, Constraint: rules})
	if err != nil {
		return nil, err
	}
	lists, err := rules.ItemRowsOf(result.Ordinals, sidbeam.ItemLimits{Total: k})
	if err != nil {
		return nil, fmt.Errorf("items of %d ordinals: %w", len(result.Ordinals), err)
	}
	ids, err := c.jsonIDs(lists.Rows)
	if err != nil {
		return nil, err
	}
	for i := range result.Ordinals {
		for _, id := range ids[lists.Offsets[i]:lists.Offsets[i+1]] {
			items = append(items, scored{id, result.Scores[i]})
		}
	}
	return items, nil
}

// tokens are the start tokens and those of the history's SIDs, whole ones, as many of the latest as the model reads.
// There are none where that is no SID.
func (r *recommender) tokens(history [][]int32) []int32 {
	tokens := r.options.fill(r.options.startTokens)
	begin, room := len(history), r.options.prompt*r.options.group
	for ; begin > 0; begin-- {
		if room -= len(r.position(history[begin-1])); room < 0 {
			break
		}
	}
	if begin == len(history) {
		return nil
	}
	for _, sid := range history[begin:] {
		tokens = append(tokens, r.position(sid)...)
	}
	return tokens
}

// position holds the tokens of a SID, to the end of a position.
func (r *recommender) position(sid []int32) []int32 {
	var tokens []int32
	for level, code := range sid {
		tokens = append(tokens, r.token(level, code))
	}
	return r.options.fill(tokens)
}

// fill gives a copy of tokens that ends where a position does: -1 is no token.
func (o *options) fill(tokens []int32) []int32 {
	filled := append([]int32{}, tokens...)
	for len(filled)%o.group != 0 {
		filled = append(filled, -1)
	}
	return filled
}

func (r *recommender) token(level int, code int32) int32 {
	if r.options.vocabulary.Offsets == nil {
		return code
	}
	return int32(r.options.vocabulary.Offsets[level]) + code
}
