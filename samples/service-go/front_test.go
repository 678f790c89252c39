// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// A fault of a handler is an answer like any other, and its place is in the log.
func TestAFaultIsAnswered(t *testing.T) {
	var log bytes.Buffer
	f := &front{most: 1, metrics: newMetrics(), events: &events{out: &log, asJSON: true}}
	faulty := &route{path: "/faulty", method: "GET", early: true,
		answer: func(*front, *service, *exchange) (any, error) { panic("as a test") }}
	x := &exchange{in: httptest.NewRequest("GET", "/faulty", nil), out: httptest.NewRecorder(), id: "a-fault"}
	_, err := f.answer(faulty, x)
	if refused := refusalOf(err); refused.status != 500 || refused.code != "internal" ||
		strings.Contains(refused.message, "as a test") {
		t.Errorf("expected 500 without details, got %+v", refused)
	}
	if !strings.Contains(log.String(), "as a test") || !strings.Contains(log.String(), "front_test.go") ||
		!strings.Contains(log.String(), `"request_id":"a-fault"`) {
		t.Errorf("expected the fault and its place, got %s", log.String())
	}
	if f.running.Load() != 0 {
		t.Errorf("expected the request to have ended")
	}
}

func TestEventsAreLinesOfTextOrJSON(t *testing.T) {
	var log bytes.Buffer
	members := []member{{"version", json.RawMessage(`"abc"`)}, {"message", "a\nb \"c\""}, {"seconds", 0.5}}
	(&events{out: &log}).warn("reload_failed", members...)
	text := regexp.MustCompile(`^\S+ \S+ reload_failed version="abc" message="a\\nb \\"c\\"" seconds=0.5\n$`)
	if !text.Match(log.Bytes()) {
		t.Errorf("got %q", log.String())
	}
	log.Reset()
	(&events{out: &log, asJSON: true}).warn("reload_failed", members...)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || strings.Count(log.String(), "\n") != 1 ||
		line["level"] != "warning" || line["event"] != "reload_failed" || line["version"] != "abc" ||
		line["message"] != "a\nb \"c\"" || line["seconds"] != 0.5 || line["time"] == nil {
		t.Errorf("got %s %v", log.String(), err)
	}
}

// Net/http's own answers are told by how they begin; those of handlers are left as they are.
func TestOwnAnswersOfTheServer(t *testing.T) {
	for text, own := range map[string]bool{
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400":      true,
		"HTTP/1.1 505 Version: x\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n505":       true,
		"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\n\r\n":                                             true,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n":                  false,
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 5\r\nContent-Type: application/json\r\n": false,
		`{"error": "HTTP/1.1 400 Bad Request"}`:                                                                    false,
	} {
		if ownAnswer.MatchString(text) != own {
			t.Errorf("%q: expected %v", text, own)
		}
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	if got := refusalOf(errors.New("x")); got.status != 500 || got.code != "internal" || got.message != "x" {
		t.Errorf("got %+v", got)
	}
	if got := refusalOf(wrong("k", "is %d", 0)); got.status != 400 || got.message != "k is 0" || got.path != "k" {
		t.Errorf("got %+v", got)
	}
	if got := refusalOf(wrong(wholeBody, "is empty")); got.message != "the body is empty" || got.path != "body" {
		t.Errorf("got %+v", got)
	}
}
