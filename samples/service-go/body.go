// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// wholeCharacters matches JSON whose escapes have no half of a surrogate pair, of which json would make U+FFFD.
var wholeCharacters = regexp.MustCompile(
	`(?s)^(?:[^\\]|\\(?:[^u]|u(?:[^dD]|[dD](?:[^89a-fA-F]|[89abAB]..\\u[dD][c-fC-F]))))*$`)

// readBody gives the bytes of a request's body.
func readBody(out http.ResponseWriter, in *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(out, in.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		err = refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	case err == nil && !utf8.Valid(body):
		err = badRequest("the body is not UTF-8")
	case err == nil && bytes.Contains(body, []byte(`\u`)) && !wholeCharacters.Match(body):
		err = badRequest("the body has half of a surrogate pair")
	}
	return body, err
}

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
// is misspelt would be none, and of one that is given twice the first would be dropped.
func members(raw []byte, path string, known ...string) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	if path == "" && (err != nil || object == nil) {
		return nil, badRequest(fmt.Sprintf("the body is no JSON object with [%s]", strings.Join(known, ", ")))
	}
	if err != nil || object == nil {
		return nil, mistake(raw, path, "an object")
	}
	names := namesOf(raw)
	for i, name := range names {
		shown := strings.TrimPrefix(fmt.Sprintf("%s.%.40s", path, name), ".")
		if !contains(known, name) {
			return nil, badRequest(fmt.Sprintf("there is no member %s, expected some of [%s]", shown,
				strings.Join(known, ", ")))
		}
		if contains(names[:i], name) {
			return nil, badRequest(fmt.Sprintf("%s is given twice", shown))
		}
	}
	return object, nil
}

// namesOf gives the names of an object, which can be read, in their order: a map has the last of those that are equal.
func namesOf(object []byte) (names []string) {
	members := json.NewDecoder(bytes.NewReader(object))
	_, _ = members.Token() // its brace
	for members.More() {
		name, _ := members.Token()
		names = append(names, name.(string))
		_ = members.Decode(new(json.RawMessage))
	}
	return names
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}
