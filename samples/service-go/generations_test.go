// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A request that has begun keeps its index; the next one gets the new index. The old one goes after its last request.
func TestGenerations(t *testing.T) {
	o := testOptions(t)
	s, _ := serve(t, o)
	g := s.generations
	first, second := g.acquire(), g.acquire()
	replace(t, o.index, 2000)
	must(t, g.reload())
	next := g.acquire()
	defer g.release(next)
	if first != second || next == first {
		t.Errorf("expected the next index after the reload")
	}
	g.release(first)
	answers, err := s.recommender.recommend(context.Background(), second.catalogue, second.catalogue.index,
		[][][]int32{{{1, 2, 3}}, {}}, 4)
	if must(t, err); len(answers[0]) != 4 || string(answers[0][0].ID) > "2000" || len(answers[1]) != 0 {
		t.Errorf("a request that had begun: expected items of the old index, got %+v", answers)
	}
	select {
	case <-second.gone:
		t.Errorf("the old index is gone before its last request")
	default:
	}
	g.release(second)
	<-second.gone
}

// A running request keeps its version, whose items it finds; the version goes after it.
func TestARunningRequestKeepsItsVersion(t *testing.T) {
	o := liveOptions(t)
	o.keep = 2
	s, handler := serve(t, o)
	first := s.generations.acquire()
	before, err := s.recommender.recommend(context.Background(), first.catalogue, first.catalogue.index,
		[][][]int32{{{1, 2, 3}}}, 8)
	must(t, err)
	for _, item := range before[0] {
		do(t, handler, "DELETE", "/items/"+string(item.ID), "", `{"removed":`+string(item.ID)+`}`)
	}
	publish(t, handler, "2000", "2")
	do(t, handler, "GET", "/metrics", "", "sidbeam_catalog_pinned_versions 2\n")
	next := s.generations.acquire()
	defer s.generations.release(next)
	for _, g := range []*generation{first, next} {
		answers, err := s.recommender.recommend(context.Background(), g.catalogue, g.catalogue.index,
			[][][]int32{{{1, 2, 3}}}, 8)
		if must(t, err); (fmt.Sprint(answers) == fmt.Sprint(before)) != (g == first) {
			t.Errorf("version %s: got %v, before the change %v", g.catalogue.version(), answers, before)
		}
	}
	gone := string(before[0][0].ID)
	old, err := first.catalogue.sids([]string{"2000", gone})
	must(t, err)
	if sids, err := next.catalogue.sids([]string{gone, "2000"}); err != nil || old[0] != nil || old[1] == nil ||
		fmt.Sprint(sids) != "[[] [4 0 0]]" {
		t.Errorf("expected each version to know its items, got %v and %v %v", old, sids, err)
	}
	s.generations.release(first)
	<-first.gone
	until(t, "version 2 alone is in use", func() bool { // a lane gives its request up just after it has answered
		versions, err := s.generations.live.Versions()
		return err == nil && s.generations.inUse(versions) == 1
	})
}

// A version that has grown too old can no longer be gone back to, and counts as in use as long as a request holds it.
func TestARequestOutlivesTheAgeOfItsVersion(t *testing.T) {
	o := liveOptions(t)
	o.keep, o.keepAge = 10000, time.Millisecond
	s, handler := serve(t, o)
	first := s.generations.acquire()
	oldest := func() int64 {
		info, err := s.generations.live.Info()
		must(t, err)
		return info.OldestVersion
	}
	for version := int64(2); oldest() == 1; version++ {
		if version > 1000 {
			t.Fatalf("version 1 is kept after %d publishes", version)
		}
		publish(t, handler, fmt.Sprint(2000+version), fmt.Sprint(version))
	}
	do(t, handler, "POST", "/rollback", `{"version": 1}`, "version is 1, expected one of those that are kept")
	do(t, handler, "GET", "/metrics", "", "sidbeam_catalog_pinned_versions 2\n")
	s.generations.release(first)
	do(t, handler, "GET", "/metrics", "", "sidbeam_catalog_pinned_versions 1\n")
}

// The service closes after the last request, and refuses those that are late.
func TestCloseWaitsForRequests(t *testing.T) {
	s, handler := serve(t, liveOptions(t))
	body, sender := io.Pipe()
	request := httptest.NewRequest("POST", "/items", body)
	request.Header.Set("Authorization", "Bearer "+testToken)
	request.Header.Set("Content-Type", "application/json")
	answer, answered, closed := httptest.NewRecorder(), make(chan struct{}), make(chan struct{})
	go func() {
		handler.ServeHTTP(answer, request)
		close(answered)
	}()
	_, err := sender.Write([]byte(`{"items": [`)) // returns once it is read
	must(t, err)
	go func() {
		s.close()
		close(closed)
	}()
	until(t, "the service waits for the request", func() bool {
		free := s.running.TryRLock()
		if free {
			s.running.RUnlock()
		}
		return !free
	})
	_, err = sender.Write([]byte(`{"id": 7, "sid": [1, 2, 3]}]}`))
	must(t, err)
	must(t, sender.Close())
	<-answered
	<-closed
	if answer.Code != http.StatusOK || strings.TrimSpace(answer.Body.String()) != `{"added":1}` {
		t.Errorf("expected a request that runs to be answered, got %d %s", answer.Code, answer.Body)
	}
	do(t, handler, "GET", "/metrics", "", `"code":"draining"`)
}

// The prompt is what the model reads: whole SIDs, the latest ones.
func TestTokens(t *testing.T) {
	s, _ := serve(t, testOptions(t))
	sids, err := s.generations.current.catalogue.sids([]string{"1005", "1007", "77", "1008"})
	must(t, err)
	if sids[2] != nil {
		t.Errorf("expected no SID of an item that is not there, got %v", sids[2])
	}
	sids = append(sids[:2], sids[3])
	want := []int32{}
	for _, sid := range sids[1:] { // room for 8 tokens: two SIDs
		want = append(want, sid[0], 16+sid[1], 32+sid[2])
	}
	if got := s.recommender.tokens(sids); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("expected %v, got %v", want, got)
	}
}
