// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// mistake says what a value of a body is, and what was expected.
func mistake(raw json.RawMessage, path, expected string) error {
	if raw == nil {
		return badRequest(fmt.Sprintf("%s is missing, expected %s", path, expected))
	}
	return badRequest(fmt.Sprintf("%s is %.40s, expected %s", path, raw, expected))
}

// decode reads a value that must be there.
func decode[T any](raw json.RawMessage, path, expected string) (value T, err error) {
	if isNull(raw) || json.Unmarshal(raw, &value) != nil {
		return value, mistake(raw, path, expected)
	}
	return value, nil
}

// members reads an object whose members are some of those that are known; path is "" of the body itself. A member that
// is misspelt would be none.
func members(raw []byte, path string, known ...string) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	if path == "" && (err != nil || object == nil) {
		return nil, badRequest(fmt.Sprintf("the body is no JSON object with [%s]", strings.Join(known, ", ")))
	}
	if err != nil || object == nil {
		return nil, mistake(raw, path, "an object")
	}
	names := []string{}
	for name := range object {
		names = append(names, name)
	}
	sort.Strings(names) // so that the same mistake comes first each time
	for _, name := range names {
		if !contains(known, name) {
			return nil, badRequest(fmt.Sprintf("there is no member %s, expected some of [%s]",
				strings.TrimPrefix(path+"."+name, "."), strings.Join(known, ", ")))
		}
	}
	return object, nil
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}
