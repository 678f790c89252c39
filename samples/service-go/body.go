// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxBody   = 1 << 20 // bytes of a request
	wholeBody = "body"  // the place of a mistake that is none of a member
)

// wholeCharacters matches JSON whose escapes have no half of a surrogate pair, of which json would make U+FFFD.
var wholeCharacters = regexp.MustCompile(
	`(?s)^(?:[^\\]|\\(?:[^u]|u(?:[^dD]|[dD](?:[^89a-fA-F]|[89abAB]..\\u[dD][c-fC-F]))))*$`)

// json gives the body of a request, which is JSON.
func (x *exchange) json() ([]byte, error) {
	kind, _, err := mime.ParseMediaType(x.in.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"Content-Type is %.80q, expected application/json", x.in.Header.Get("Content-Type"))
	}
	return x.body()
}

// none expects no body, or {}.
func (x *exchange) none() error {
	body, err := x.body()
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		_, err = members(body, "")
	}
	return err
}

func (x *exchange) body() ([]byte, error) {
	if x.in.ContentLength > maxBody {
		x.out.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.out, x.in.Body, maxBody))
	switch {
	case err != nil:
		x.out.Header().Set("Connection", "close")
		return nil, x.unread(err)
	case !utf8.Valid(body):
		return nil, wrong(wholeBody, "is not UTF-8")
	case bytes.Contains(body, []byte(`\u`)) && !wholeCharacters.Match(body):
		return nil, wrong(wholeBody, "has half of a surrogate pair")
	}
	return body, nil
}

// unread says why a body could not be read.
func (x *exchange) unread(err error) error {
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyTooSlow
	case x.in.Context().Err() != nil:
		return hungUp
	}
	return wrong(wholeBody, "cannot be read: %v", err)
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// mistake says what a value of a body is, and what was expected.
func mistake(raw json.RawMessage, path, expected string) error {
	if raw == nil {
		return wrong(path, "is missing, expected %s", expected)
	}
	return wrong(path, "is %.40s, expected %s", raw, expected)
}

// decode reads a value that must be there.
func decode[T any](raw json.RawMessage, path, expected string) (value T, err error) {
	if raw == nil || isNull(raw) || json.Unmarshal(raw, &value) != nil {
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
		return nil, wrong(wholeBody, "is no JSON object with [%s]", strings.Join(known, ", "))
	}
	if err != nil || object == nil {
		return nil, mistake(raw, path, "an object")
	}
	names := namesOf(raw)
	place := func(name string) string { return strings.TrimPrefix(fmt.Sprintf("%s.%.40s", path, name), ".") }
	if len(object) < len(names) {
		return nil, wrong(place(twice(names)), "is given twice")
	}
	for _, name := range names {
		if !contains(known, name) {
			return nil, wrong(place(name), "is not known, expected some of [%s]", strings.Join(known, ", "))
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

// twice gives the first of the names that comes again.
func twice(names []string) string {
	counts := map[string]int{}
	for _, name := range names {
		counts[name]++
	}
	for _, name := range names {
		if counts[name] > 1 {
			return name
		}
	}
	return ""
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}
