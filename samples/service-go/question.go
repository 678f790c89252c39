// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sidbeam.io/sidbeam"
)

// question is the body of POST /recommend. The rules are those of all its histories.
type question struct {
	histories [][]json.RawMessage // ids and SIDs
	k         int
	exclude   []json.RawMessage // nil, here and below: not asked for
	allow     []json.RawMessage
	where     *string
	filter    *string
}

func readQuestion(body []byte, limits *options) (*question, error) {
	given, err := members(body, "", "histories", "k", "exclude", "allow", "where", "filter")
	if err != nil {
		return nil, err
	}
	asked := &question{}
	if asked.histories, err = readHistories(given["histories"], limits.histories); err != nil {
		return nil, err
	}
	if asked.k, err = readK(given, limits.beams); err != nil {
		return nil, err
	}
	for name, ids := range map[string]*[]json.RawMessage{"exclude": &asked.exclude, "allow": &asked.allow} {
		if raw, there := given[name]; there {
			if *ids, err = decode[[]json.RawMessage](raw, name, "an array of ids"); err != nil {
				return nil, err
			}
			if len(*ids) > limits.listed {
				return nil, wrong(name, "has %d ids, expected at most %d", len(*ids), limits.listed)
			}
		}
	}
	for name, text := range map[string]**string{"where": &asked.where, "filter": &asked.filter} {
		if raw, there := given[name]; there {
			value, err := decode[string](raw, name, "a string")
			if err != nil {
				return nil, err
			}
			*text = &value
		}
	}
	if asked.where != nil && len(*asked.where) > limits.whereBytes {
		return nil, wrong("where", "has %d bytes, expected at most %d", len(*asked.where), limits.whereBytes)
	}
	return asked, nil
}

func readHistories(raw json.RawMessage, most int) ([][]json.RawMessage, error) {
	all, err := decode[[]json.RawMessage](raw, "histories", "an array of histories")
	if err != nil {
		return nil, err
	}
	if len(all) < 1 || len(all) > most {
		return nil, wrong("histories", "has %d elements, expected 1 .. %d", len(all), most)
	}
	histories := make([][]json.RawMessage, len(all))
	for i, one := range all {
		histories[i], err = decode[[]json.RawMessage](one, fmt.Sprintf("histories[%d]", i), "an array of ids and SIDs")
		if err != nil {
			return nil, err
		}
	}
	return histories, nil
}

func readK(given map[string]json.RawMessage, beams int) (int, error) {
	raw, there := given["k"]
	if !there {
		return min(10, beams), nil
	}
	expected := fmt.Sprintf("1 .. %d", beams)
	k, err := decode[int](raw, "k", expected)
	if err == nil && (k < 1 || k > beams) {
		err = mistake(raw, "k", expected)
	}
	return k, err
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// known gives the SIDs of those items of histories that the index has. Others are passed over: they may have been in an
// earlier index, or be in a later one.
func (c *catalogue) known(histories [][]json.RawMessage) ([][][]int32, error) {
	known := make([][][]int32, len(histories))
	for i, history := range histories {
		sids := make([][]int32, len(history))
		ids, places := []string{}, []int{}
		for j, raw := range history {
			path := fmt.Sprintf("histories[%d][%d]", i, j)
			if raw[0] == '[' {
				var err error
				if sids[j], err = readSID(raw, path, c.info); err != nil {
					return nil, err
				}
				continue
			}
			id, name, ok := readID(raw, c.info.IDType)
			if !ok {
				return nil, mistake(raw, path, expectedID(c.info.IDType)+", as the ids of this index are, or a SID")
			}
			if c.info.IDType != sidbeam.IDString {
				name = idText(id, c.info.IDType)
			}
			ids, places = append(ids, name), append(places, j)
		}
		found, err := c.sids(ids)
		if err != nil {
			return nil, err
		}
		for n, sid := range found {
			sids[places[n]] = sid
		}
		for _, sid := range sids {
			if sid != nil {
				known[i] = append(known[i], sid)
			}
		}
	}
	return known, nil
}

// readSID reads the codes of a SID.
func readSID(raw json.RawMessage, path string, info *sidbeam.Info) ([]int32, error) {
	codes, err := decode[[]json.RawMessage](raw, path, "an array of codes")
	if err != nil {
		return nil, err
	}
	least, expected := info.Levels, fmt.Sprint(info.Levels)
	if info.VariableLength {
		least, expected = 1, fmt.Sprintf("1 .. %d", info.Levels)
	}
	if len(codes) < least || len(codes) > info.Levels {
		return nil, wrong(path, "has %d codes, expected %s", len(codes), expected)
	}
	sid := make([]int32, len(codes))
	for l, code := range codes {
		where, within := fmt.Sprintf("%s[%d]", path, l), fmt.Sprintf("0 .. %d", info.Codes[l]-1)
		if sid[l], err = decode[int32](code, where, within); err != nil {
			return nil, err
		}
		if sid[l] < 0 || sid[l] >= info.Codes[l] {
			return nil, mistake(code, where, within)
		}
	}
	return sid, nil
}

const (
	timeoutHeader = "X-Request-Timeout-Ms"
	mostTimeout   = 86400000
)

// limited gives the context of a request, which ends when its client hangs up, or its own time or the service's is
// over.
func (x *exchange) limited(most time.Duration) (context.Context, context.CancelFunc, error) {
	for _, text := range x.in.Header.Values(timeoutHeader) {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || !integer.MatchString(text) || milliseconds < 1 || milliseconds > mostTimeout {
			return nil, nil, wrong(timeoutHeader, "is %.40q, expected milliseconds, 1 .. %d", text, mostTimeout)
		}
		if own := time.Duration(milliseconds) * time.Millisecond; own < most {
			most = own
		}
	}
	ctx, cancel := context.WithDeadline(x.in.Context(), x.begin.Add(most))
	return ctx, cancel, nil
}
