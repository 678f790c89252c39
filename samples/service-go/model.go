// SPDX-License-Identifier: Apache-2.0

package main

// A stand-in for a neural model, without training: the same history and prefix always give the same logits, made of
// what the history's SIDs share with the prefix. Like a real model it likes codes that lead to no item.
const (
	recent   = 5    // items of a history that count
	decay    = 0.7  // weight of an item against the one after it
	followed = 4.0  // a code that an item of the history has after the same prefix
	anywhere = 1.0  // a code that it has at this level, whatever the prefix
	noise    = 0.25 // tells the other codes apart, by prefix and code
)

// logits fills a row for the code after prefix, the codes that a beam has chosen so far.
func (c *catalogue) logits(history []int64, prefix []int32, row []float32) {
	state := uint64(14695981039346656037)
	for _, code := range prefix {
		state = (state ^ uint64(code)) * 1099511628211
	}
	for t := range row {
		mixed := (state ^ uint64(t)) * 0x9e3779b97f4a7c15
		row[t] = noise * float32(mixed>>40) / (1 << 24)
	}
	levels, weight := c.info.Levels, float32(1)
	for back := 1; back <= recent && back <= len(history); back++ {
		sid := c.codes[int(history[len(history)-back])*levels:][:levels]
		code := sid[len(prefix)]
		if code < 0 {
			code = int32(c.columns - 1) // the SID ends here
		}
		row[code] += anywhere * weight
		if begins(sid, prefix) {
			row[code] += followed * weight
		}
		weight *= decay
	}
}

func begins(sid, prefix []int32) bool {
	for l, code := range prefix {
		if sid[l] != code {
			return false
		}
	}
	return true
}
