// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sidbeam.io/sidbeam"
)

// What is added is recommended once it is published, and what is removed no longer: each version answers as an index of
// its items alone does, also for histories of items that have gone, moved or changed.
func TestItemsComeAndGo(t *testing.T) {
	o := liveOptions(t)
	_, server := serve(t, o)
	pairs := livingBase()
	checkServed(t, o, server.URL, "1", pairs)

	added := livePairs{{2000, [3]int32{4, 0, 0}}: 77, {2001, [3]int32{0, 9, 0}}: 5, {2001, [3]int32{8, 9, 0}}: 5}
	do(t, server.URL, "POST", "/items", added.body(), `{"added":3}`)
	checkServed(t, o, server.URL, "1", pairs) // nobody sees it yet
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	for pair, price := range added {
		pairs[pair] = price
	}
	checkServed(t, o, server.URL, "2", pairs)

	do(t, server.URL, "DELETE", "/items/1205", "", `{"removed":1205}`)
	refused(t, server.URL, "DELETE", "/items/1205", "", 404, "there is no item 1205")
	do(t, server.URL, "DELETE", "/items/1017", "", `{"removed":1017}`)
	pairs.remove(1205)
	pairs.remove(1017)
	changed := livePairs{{1017, [3]int32{5, 1, 1}}: 17} // moves
	changed[pairs.least(1210)] = 77                     // of two SIDs, which now is the second by row
	do(t, server.URL, "POST", "/items", changed.body(), `{"added":2}`)
	for pair, price := range changed {
		pairs[pair] = price
	}
	do(t, server.URL, "POST", "/publish", "", `{"version":3}`)
	checkServed(t, o, server.URL, "3", pairs)

	do(t, server.URL, "DELETE", "/items/1000", "", `{"removed":1000}`)
	do(t, server.URL, "POST", "/rollback", `{"version": 1}`, `{"version":4}`)
	checkServed(t, o, server.URL, "4", livingBase())
	do(t, server.URL, "POST", "/publish", "", `{"version":4}`) // the rollback dropped what waited
	do(t, server.URL, "POST", "/rollback", `{"version": 3}`, `{"version":5}`)
	do(t, server.URL, "POST", "/compact", "", `{"version":6}`)
	checkServed(t, o, server.URL, "6", pairs)
	do(t, server.URL, "POST", "/rollback", `{"version": 2}`, `{"version":7}`) // of the generation before
	do(t, server.URL, "POST", "/rollback", `{"version": 6}`, `{"version":8}`)
	checkServed(t, o, server.URL, "8", pairs)
}

// A running request keeps its version, whose items it finds; the version goes after it.
func TestARunningRequestKeepsItsVersion(t *testing.T) {
	o := liveOptions(t)
	o.keep = 2
	s, server := serve(t, o)
	first := s.generations.acquire()
	before, err := s.recommender.recommend(context.Background(), first.catalogue, first.catalogue.index,
		[][][]int32{{{1, 2, 3}}}, 8)
	must(t, err)
	for _, item := range before[0] {
		do(t, server.URL, "DELETE", "/items/"+string(item.ID), "", `{"removed":`+string(item.ID)+`}`)
	}
	do(t, server.URL, "POST", "/items", livePairs{{2000, [3]int32{4, 0, 0}}: 77}.body(), `{"added":1}`)
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	if got := scrape(t, server.URL); got["sidbeam_catalog_pinned_versions"] != 2 || got["sidbeam_catalog_version"] != 2 {
		t.Errorf("expected versions 1 and 2 to be in use, got %v", got)
	}
	next := s.generations.acquire()
	defer s.generations.release(next)
	for _, g := range []*generation{first, next} {
		answers, err := s.recommender.recommend(context.Background(), g.catalogue, g.catalogue.index,
			[][][]int32{{{1, 2, 3}}}, 8)
		if must(t, err); (fmt.Sprint(answers) == fmt.Sprint(before)) != (g == first) {
			t.Errorf("version %s: got %v, before the change %v", g.catalogue.version(), answers, before)
		}
	}
	old, err := first.catalogue.sids([]string{"2000", string(before[0][0].ID)})
	must(t, err)
	if sids, err := next.catalogue.sids([]string{string(before[0][0].ID), "2000"}); err != nil || len(old) != 1 ||
		fmt.Sprint(sids) != "[[4 0 0]]" {
		t.Errorf("expected each version to know its items, got %v and %v %v", old, sids, err)
	}
	s.generations.release(first)
	<-first.gone
	until(t, "version 2 alone is in use", func() bool { // a lane gives its request up just after it has answered
		return scrape(t, server.URL)["sidbeam_catalog_pinned_versions"] == 1
	})
}

// A version that has grown too old can no longer be gone back to, and counts as in use as long as a request holds it.
func TestARequestOutlivesTheAgeOfItsVersion(t *testing.T) {
	o := liveOptions(t)
	given, _ := parse(flag.NewFlagSet("", flag.PanicOnError), []string{"-model", o.model, "-index", o.index, "-keep",
		"10000", "-keep-age", "1ms"})
	o.keep, o.keepAge = given.keep, given.keepAge
	s, server := serve(t, o)
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
		do(t, server.URL, "POST", "/items", livePairs{{2000 + version, [3]int32{4, 0, 0}}: 77}.body(), `{"added":1}`)
		do(t, server.URL, "POST", "/publish", "", fmt.Sprintf(`{"version":%d}`, version))
	}
	refused(t, server.URL, "POST", "/rollback", `{"version": 1}`, 400, "version is 1, expected one of those that are kept")
	if got := scrape(t, server.URL)["sidbeam_catalog_pinned_versions"]; got != 2 {
		t.Errorf("expected version 1 and the newest to be in use, got %v", got)
	}
	s.generations.release(first)
	if got := scrape(t, server.URL)["sidbeam_catalog_pinned_versions"]; got != 1 {
		t.Errorf("expected the newest alone to be in use, got %v", got)
	}
}

// A follower serves what the writer publishes, across compactions, and changes nothing.
func TestFollower(t *testing.T) {
	o := liveOptions(t)
	_, writer := serve(t, o)
	following := o
	following.follow = true
	_, follower := serve(t, following)
	pairs := livingBase()
	checkServed(t, o, follower.URL, "1", pairs)
	for _, change := range []struct{ method, path, body string }{{"POST", "/items", `{}`}, {"DELETE", "/items/1000", ""},
		{"POST", "/publish", ""}, {"POST", "/rollback", `{"version": 1}`}, {"POST", "/compact", ""}} {
		refused(t, follower.URL, change.method, change.path, change.body, 409, "live is followed: expected changes by the "+
			"process that writes it")
	}
	serves := func(version float64) {
		t.Helper()
		until(t, "the version is served", func() bool {
			return scrape(t, follower.URL)["sidbeam_catalog_version"] == version
		})
	}
	pairs.remove(1205)
	do(t, writer.URL, "DELETE", "/items/1205", "", `{"removed":1205}`)
	do(t, writer.URL, "POST", "/publish", "", `{"version":2}`)
	serves(2)
	checkServed(t, o, follower.URL, "2", pairs)
	// A folder that cannot be read leaves the version.
	manifest := filepath.Join(o.index, "catalog.live")
	must(t, os.Rename(manifest, manifest+".away"))
	refused(t, follower.URL, "POST", "/reload", "", 500, "catalog.live")
	until(t, "a refresh failed", func() bool {
		return scrape(t, follower.URL)["sidbeam_catalog_refresh_errors_total"] > 0
	})
	checkServed(t, o, follower.URL, "2", pairs)
	must(t, os.Rename(manifest+".away", manifest))
	do(t, writer.URL, "POST", "/compact", "", `{"version":3}`)
	serves(3)
	checkServed(t, o, follower.URL, "3", pairs)
	pairs[livePair{2000, [3]int32{4, 0, 0}}] = 77
	do(t, writer.URL, "POST", "/items", livePairs{{2000, [3]int32{4, 0, 0}}: 77}.body(), `{"added":1}`)
	do(t, writer.URL, "POST", "/publish", "", `{"version":4}`)
	do(t, follower.URL, "POST", "/reload", "", `{"version":4}`)
	checkServed(t, o, follower.URL, "4", pairs)
}

// A reload of a live catalogue reads the filters of the settings again, and a publish keeps those that were read.
func TestFiltersOfALiveCatalogue(t *testing.T) {
	o := liveOptions(t)
	s, server := serve(t, o)
	cheap := func() string {
		items, _ := found(t, server.URL, `, "filter": "cheap"`)
		return items
	}
	before := cheap()
	writeFile(t, o.filters, `{"cheap": "price<0"}`)
	do(t, server.URL, "POST", "/items", livePairs{{2000, [3]int32{15, 15, 15}}: 99}.body(), `{"added":1}`)
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	if info, err := s.generations.current.catalogue.filters.named["cheap"].Info(); err != nil || !info.Prepared {
		t.Errorf("expected the filter to be prepared, got %+v %v", info, err)
	}
	if got := cheap(); got != before {
		t.Errorf("expected the filter that was read, got %s", got)
	}
	do(t, server.URL, "POST", "/reload", "", `{"version":2}`)
	if got := cheap(); got != "[[],[],[]]" {
		t.Errorf("expected the new filter, got %s", got)
	}
	writeFile(t, o.filters, `{"cheap": "price<"}`)
	refused(t, server.URL, "POST", "/reload", "", 500, `filter "cheap"`)
	do(t, server.URL, "POST", "/rollback", `{"version": 1}`, `{"version":3}`)
	if got := cheap(); got != "[[],[],[]]" {
		t.Errorf("expected the filter that was read last, got %s", got)
	}
}

// Versions are published under load: each answer's items are live in the version that it names.
func TestPublishesUnderLoad(t *testing.T) {
	const clients, publishes = 6, 60
	o := liveOptions(t)
	o.whereKept = 1
	s, server := serve(t, o)
	first := s.generations.current
	var mutex sync.Mutex
	live := map[int64]livePairs{1: livingBase()}
	stop := load(t, clients, func(random *rand.Rand) error {
		rules := []string{"", `, "filter": "cheap"`, `, "where": "price<40", "exclude": [1001]`}[random.Intn(3)]
		status, text, err := ask(server.URL+"/recommend", fmt.Sprintf(`{"histories": [[%d, 1299], [1298, %d]]%s}`,
			1000+random.Intn(300), 1000+random.Intn(300), rules))
		var got struct {
			Version int64
			Items   [][]struct{ ID int64 }
		}
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
			return fmt.Errorf("expected 200 and JSON, got %d %s %v", status, text, err)
		}
		mutex.Lock()
		pairs := live[got.Version]
		mutex.Unlock()
		return pairs.checkItems(got.Items, rules != "", text)
	})
	random := rand.New(rand.NewSource(9))
	pairs := livingBase()
	for version := int64(2); version < 2+publishes; version++ {
		gone := 1000 + random.Int63n(298)
		status, text, err := askWith("DELETE", fmt.Sprintf("%s/items/%d", server.URL, gone), "", "Bearer "+testToken)
		if err != nil || (status != http.StatusOK && status != http.StatusNotFound) {
			t.Errorf("expected 200 or 404, got %d %s %v", status, text, err)
		}
		pairs.remove(gone)
		pair := livePair{1000 + random.Int63n(300), [3]int32{random.Int31n(4), random.Int31n(4), random.Int31n(8)}}
		price := random.Int63n(80)
		pairs[pair] = price
		do(t, server.URL, "POST", "/items", livePairs{pair: price}.body(), `{"added":1}`)
		copied := livePairs{}
		for pair, price := range pairs {
			copied[pair] = price
		}
		mutex.Lock()
		live[version] = copied
		mutex.Unlock()
		do(t, server.URL, "POST", "/publish", "", fmt.Sprintf(`{"version":%d}`, version))
		if version%20 == 0 {
			do(t, server.URL, "POST", "/reload", "", fmt.Sprintf(`{"version":%d}`, version))
		}
	}
	asked := stop()
	<-first.gone
	if got := scrape(t, server.URL); got["sidbeam_request_errors_total"] != 0 ||
		got["sidbeam_requests_total"] != float64(asked) || got["sidbeam_catalog_version"] != 1+publishes {
		t.Errorf("expected %d requests without errors, got %v", asked, got)
	}
	do(t, server.URL, "POST", "/compact", "", fmt.Sprintf(`{"version":%d}`, 2+publishes)) // which orders a SID's items
	checkServed(t, o, server.URL, fmt.Sprint(2+publishes), pairs)
}

// checkItems says which items of an answer the catalogue has not, or not so cheap as was asked.
func (p livePairs) checkItems(lists [][]struct{ ID int64 }, cheap bool, text string) error {
	has := map[int64]bool{}
	for pair, price := range p {
		has[pair.id] = has[pair.id] || !cheap || price < 40
	}
	for _, items := range lists {
		for _, item := range items {
			if !has[item.ID] {
				return fmt.Errorf("%d has no place in %s", item.ID, text)
			}
		}
		if len(items) < 8 {
			return fmt.Errorf("expected 8 items, got %s", text)
		}
	}
	return nil
}

// The program closes its catalogue when it ends, and there is one writer.
func TestRunOfALiveCatalogue(t *testing.T) {
	o := liveOptions(t)
	url, stop, ended := running(t, o)
	if _, err := newService(o); err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("expected an error that names the writer, got %v", err)
	}
	do(t, url, "POST", "/items", livePairs{{2000, [3]int32{4, 0, 0}}: 77}.body(), `{"added":1}`)
	do(t, url, "POST", "/publish", "", `{"version":2}`)
	stop()
	must(t, <-ended)
	catalog, err := sidbeam.OpenCatalog(o.index, sidbeam.CatalogConfig{})
	must(t, err)
	defer catalog.Close()
	if info, err := catalog.Info(); err != nil || info.Version != 2 || info.UnsyncedBytes != 0 {
		t.Errorf("expected version 2 on the disk, got %+v %v", info, err)
	}
}

// The end of the service cancels a compaction.
func TestTheEndCancelsACompaction(t *testing.T) {
	s, server := serve(t, liveOptions(t))
	s.end()
	refused(t, server.URL, "POST", "/compact", "", 503, "cancelled")
	do(t, server.URL, "POST", "/publish", "", `{"version":1}`)
}

// The service closes after the last request, and refuses those that are late.
func TestCloseWaitsForRequests(t *testing.T) {
	s, err := newService(liveOptions(t))
	must(t, err)
	body, sender := io.Pipe()
	request := httptest.NewRequest("POST", "/items", body)
	request.Header.Set("Authorization", "Bearer "+testToken)
	answer, answered, closed := httptest.NewRecorder(), make(chan struct{}), make(chan struct{})
	go func() {
		s.handler().ServeHTTP(answer, request)
		close(answered)
	}()
	_, err = sender.Write([]byte(`{"items": [`)) // returns once it is read
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
	late := httptest.NewRecorder()
	s.handler().ServeHTTP(late, httptest.NewRequest("GET", "/metrics", nil))
	if late.Code != http.StatusServiceUnavailable || !strings.Contains(late.Body.String(), "the service is closed") {
		t.Errorf("expected a late request to be refused, got %d %s", late.Code, late.Body)
	}
}

// Whoever publishes is served that version or a later one, whatever others do meanwhile.
func TestChangesSideBySide(t *testing.T) {
	const clients, rounds = 4, 12
	_, server := serve(t, liveOptions(t))
	var group sync.WaitGroup
	for c := 0; c < clients; c++ {
		group.Add(1)
		go func(c int) {
			defer group.Done()
			for r := 0; r < rounds; r++ {
				id := int64(2000 + rounds*c + r)
				added := livePairs{{id, [3]int32{4, int32(c), int32(r)}}: 1}
				if status, text, err := ask(server.URL+"/items", added.body()); err != nil || status != http.StatusOK {
					t.Errorf("expected 200, got %d %s %v", status, text, err)
				}
				route := []string{"/publish", "/compact", "/reload", "/publish"}[(c+r)%4]
				status, text, err := ask(server.URL+route, "")
				if route == "/compact" && status == http.StatusConflict {
					continue // another one runs
				}
				var made, served struct{ Version int64 }
				if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &made) != nil {
					t.Errorf("%s: got %d %s %v", route, status, text, err)
				}
				_, text, err = ask(server.URL+"/recommend", fmt.Sprintf(`{"histories": [[1299, %d]], "k": 1}`, id))
				if err != nil || json.Unmarshal([]byte(text), &served) != nil || served.Version < made.Version {
					t.Errorf("expected version %d or a later one, got %s %v", made.Version, text, err)
				}
			}
		}(c)
	}
	group.Wait()
	if status, text, err := ask(server.URL+"/publish", ""); err != nil || status != http.StatusOK {
		t.Errorf("expected 200, got %d %s %v", status, text, err)
	}
	if got := scrape(t, server.URL)["sidbeam_index_items"]; got != 360+clients*rounds {
		t.Errorf("expected all items, got %v", got)
	}
}
