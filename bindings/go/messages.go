// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"regexp"
	"strings"

	"sidbeam.io/sidbeam/internal/native"
)

// cWords are what only C says in a message: NULL, constants and functions. Words in quotation marks and paths stay, and
// names of environment variables.
var cWords = regexp.MustCompile(`(^|[ ,(])(?:NULL\b|SIDBEAM_(KIND|MODE|NORMALIZE|STRATEGY|ID|COLLISIONS|RESIDENCY|` +
	`VERIFY|SYNC|WEIGHTS|HIDDEN|SPECULATE|QUOTES|DRAFT_VERIFY|DRAFT_INPUT|DRAFT_TRANSITION|ATTRIBUTE|TERM|FILTER|ROWS|` +
	`DEVICE|DTYPE)_([A-Z0-9_]+|\*)|` +
	`sidbeam_([a-z]+)_([a-z]+)\(\)|SIDBEAM_(BROADCAST)\b)`)

// inGo is a message of the library with this package's names in place of C's.
func inGo(message string) string {
	text := []byte(message)
	words := make([]byte, 3*len(text)+64)
	message = string(words[:native.Flat_words(text, words)])
	return cWords.ReplaceAllStringFunc(message, func(found string) string {
		parts := cWords.FindStringSubmatch(found)
		before, family, constant := parts[1], parts[2], parts[3]
		switch {
		case family == "DEVICE" || family == "DTYPE":
			return before + constant
		case family != "":
			return before + camel(family) + camel(strings.TrimSuffix(constant, "*"))
		case parts[4] != "":
			return before + camel(parts[4]) + "." + camel(parts[5])
		case parts[6] != "":
			return before + camel(parts[6])
		default:
			return before + "nil"
		}
	})
}

// camel is SORTED as Sorted, and COMPACT_TRIE as CompactTrie, with what is not written so.
func camel(name string) string {
	known := map[string]string{"ID": "ID", "I64": "Int64", "U64": "Uint64", "RNN": "RNN", "GRU": "GRU", "BF16": "BF16",
		"RFC4180": "RFC4180", "SORTED_TOPK": "SortedTopK"}
	if written, ok := known[name]; ok {
		return written
	}
	made := ""
	for _, word := range strings.Split(strings.ToLower(name), "_") {
		if word != "" {
			made += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return made
}
