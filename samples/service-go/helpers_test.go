// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

const testToken = "a-token-of-tests"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace writes a catalogue of 500 items with prices, whose ids begin at firstID, beside path, and renames it to path.
func replace(t testing.TB, path string, firstID int64) {
	t.Helper()
	random := rand.New(rand.NewSource(firstID))
	pairs, prices := sidbeam.Pairs{}, []int64{}
	for i := int64(0); i < 500; i++ {
		pairs.Codes = append(pairs.Codes, random.Int31n(16), random.Int31n(16), random.Int31n(16))
		pairs.IDs, prices = append(pairs.IDs, firstID+i), append(prices, i%100)
	}
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{16, 16, 16}})
	must(t, err)
	defer builder.Close()
	must(t, builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	must(t, builder.Add(pairs))
	must(t, builder.SetAttribute("price", sidbeam.AttributeValues{Integers: prices}))
	must(t, builder.Write(context.Background(), path))
}

// testOptions are those of the model that tests/bindings/tiny_model.py wrote, tokens 0 .. 63, and of a new index.
func testOptions(t testing.TB) options {
	folder := os.Getenv("SIDBEAM_MODEL")
	if folder == "" {
		t.Skip("SIDBEAM_MODEL is not set: the library was built without the runner")
	}
	t.Setenv(tokenVariable, testToken)
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	return options{model: folder, draft: folder, index: path, vocabulary: sidbeam.Vocabulary{Offsets: []int64{0, 16, 32}},
		group: 1, beams: 8, histories: 3, prompt: 8, lanes: 2, queue: 64, listed: 300, whereBytes: 200, whereKept: 4,
		keep: 16, requests: 16, timeout: time.Minute}
}

// liveOptions are those of a service whose index is a new live catalogue.
func liveOptions(t testing.TB) options {
	t.Helper()
	o := testOptions(t)
	base, err := sidbeam.Open(o.index, sidbeam.OpenConfig{})
	must(t, err)
	defer base.Close()
	o.index = filepath.Join(t.TempDir(), "live")
	catalog, err := sidbeam.NewCatalog(base, o.index, sidbeam.CatalogConfig{})
	must(t, err)
	must(t, catalog.Close())
	return o
}

// serve opens a service, and answers as its front does.
func serve(t testing.TB, o options) (*service, http.Handler) {
	t.Helper()
	f, err := newFront(&o, &events{out: io.Discard})
	must(t, err)
	s, err := newService(o, f.metrics, f.events)
	must(t, err)
	f.service.Store(s)
	t.Cleanup(s.close)
	return s, f
}

// do sends a request, and expects an answer.
func do(t testing.TB, handler http.Handler, method, path, body, expected string) {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+testToken)
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if !strings.Contains(answer.Body.String(), expected) {
		t.Fatalf("%s %s %.80s: expected %s, got %d %s", method, path, body, expected, answer.Code, answer.Body)
	}
}

// publish adds an item to a live catalogue and publishes it, as a version.
func publish(t testing.TB, handler http.Handler, item, version string) {
	t.Helper()
	do(t, handler, "POST", "/items", `{"items": [{"id": `+item+`, "sid": [4, 0, 0]}]}`, `{"added":1}`)
	do(t, handler, "POST", "/publish", "", `{"version":`+version+`}`)
}

// until waits for what another goroutine does.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
