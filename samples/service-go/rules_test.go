// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

// priced writes a catalogue of 500 items, whose ids begin at firstID, as far as they are kept; an item's price is its
// id modulo 100.
func priced(t testing.TB, path string, firstID int64, kept func(id int64) bool) string {
	t.Helper()
	random := rand.New(rand.NewSource(firstID))
	pairs := sidbeam.Pairs{}
	prices := []int64{}
	for id := firstID; id < firstID+500; id++ {
		sid := []int32{random.Int31n(4), random.Int31n(4), random.Int31n(16)} // several items per SID
		if kept(id) {
			pairs.Codes, pairs.IDs = append(pairs.Codes, sid...), append(pairs.IDs, id)
			prices = append(prices, id%100)
		}
	}
	writePriced(t, path, pairs, prices)
	info, err := sidbeam.Peek(path)
	must(t, err)
	return info.Fingerprint
}

func all(int64) bool { return true }

// writeFile replaces a file by rename.
func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(t, os.Rename(path+".new", path))
}

// ruled is an answer to a request under rules.
type ruled struct {
	Version         string
	Items           json.RawMessage
	UnknownExcluded *int64 `json:"unknown_excluded"`
	UnknownAllowed  *int64 `json:"unknown_allowed"`
}

func askRuled(t testing.TB, url, rules string) ruled {
	t.Helper()
	var got ruled
	status, text, err := ask(url+"/recommend", `{"histories": [[1000, 1017], [1300]]`+rules+`}`)
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("%s: expected 200 and JSON, got %d %s %v", rules, status, text, err)
	}
	return got
}

func show(count *int64) string {
	if count == nil {
		return "none"
	}
	return fmt.Sprint(*count)
}

// A request under rules has the items and scores of a service whose index holds the allowed items alone. The items of
// histories may be excluded: they stay what the model reads.
func TestRules(t *testing.T) {
	folder := t.TempDir()
	o := testOptions(t, filepath.Join(folder, "catalogue.sidx"))
	o.filters = filepath.Join(folder, "filters.json")
	priced(t, o.index, 1000, all)
	writeFile(t, o.filters, `{"cheap": "price<40", "none": "price<0"}`)
	s, server := serve(t, o)
	read := map[int64]bool{1000: true, 1017: true, 1300: true} // what histories hold stays, or the prompts would differ
	for _, one := range []struct {
		rules, excluded, allowed string
		kept                     func(id int64) bool
	}{
		{``, "none", "none", all},
		{`, "exclude": null, "allow": null, "where": null, "filter": null`, "none", "none", all},
		{`, "exclude": [ 1001 , 1002, 1001, 77, 78]`, "2", "none", func(id int64) bool { return id != 1001 && id != 1002 }},
		{`, "exclude": []`, "0", "none", all},
		{`, "filter": "cheap"`, "none", "none", func(id int64) bool { return id%100 < 40 }},
		{`, "where": "price between 17 and 60 or price=0"`, "none", "none",
			func(id int64) bool { return id%100 >= 17 && id%100 <= 60 || id%100 == 0 }},
		{`, "where": "price>10 or price=0", "filter": "cheap", "exclude": [1020, -5]`, "1", "none",
			func(id int64) bool { return id%100 < 40 && (id%100 > 10 || id%100 == 0) && id != 1020 }},
		{`, "allow": [1000, 1017, 1300, 1301, 1302, 1303, 1304, 9], "exclude": [1303]`, "0", "1",
			func(id int64) bool { return id != 1303 && (read[id] || id >= 1301 && id <= 1304) }},
	} {
		alone := o
		alone.index, alone.filters = filepath.Join(folder, "alone.sidx"), ""
		priced(t, alone.index, 1000, func(id int64) bool { return one.kept(id) || read[id] })
		rules := one.rules
		if one.kept(1000) != one.kept(1017) || !one.kept(1300) {
			t.Fatalf("%s leaves out what histories hold", rules)
		}
		_, expected := serve(t, alone)
		want, got := askRuled(t, expected.URL, `, "k": 8`), askRuled(t, server.URL, rules+`, "k": 8`)
		if string(got.Items) != string(want.Items) || len(got.Items) < 200 {
			t.Errorf("%s: expected\n%s, got\n%s", rules, want.Items, got.Items)
		}
		if show(got.UnknownExcluded) != one.excluded || show(got.UnknownAllowed) != one.allowed {
			t.Errorf("%s: expected %s and %s unknown ids, got %s and %s", rules, one.excluded, one.allowed,
				show(got.UnknownExcluded), show(got.UnknownAllowed))
		}
	}
	for _, nothing := range []string{`"allow": []`, `"allow": [5]`, `"filter": "none"`, `"where": "false"`} {
		if got := askRuled(t, server.URL, `, `+nothing); string(got.Items) != "[[],[]]" {
			t.Errorf("%s: expected no items, got %s", nothing, got.Items)
		}
	}
	metrics := scrape(t, server.URL)
	for name, want := range map[string]float64{`sidbeam_filter_requests_total{filter="cheap"}`: 2,
		`sidbeam_filter_requests_total{filter="none"}`: 1, "sidbeam_where_requests_total": 3,
		"sidbeam_list_requests_total": 6, "sidbeam_request_errors_total": 0} {
		if got, there := metrics[name]; !there || got != want {
			t.Errorf("%s: expected %v, got %v", name, want, got)
		}
	}
	if kept := s.generations.current.catalogue.filters.order.Len(); kept != 3 {
		t.Errorf("expected the three filters of texts to be kept, got %d", kept)
	}
}

// The latest texts' filters are kept; one that goes meanwhile stays with those that use it.
func TestKeptFilters(t *testing.T) {
	o := testOptions(t, filepath.Join(t.TempDir(), "catalogue.sidx"))
	priced(t, o.index, 1000, all)
	for _, most := range []int{0, 2} {
		o.whereKept = most
		c, err := openCatalogue(&o)
		must(t, err)
		get := func(text string) (*sidbeam.Filter, func()) {
			filter, done, err := c.filters.get(nil, &text)
			must(t, err)
			return filter, done
		}
		first, done := get("price<1")
		again, doneAgain := get("price<1")
		if (first == again) != (most > 0) {
			t.Errorf("of %d kept: expected the same filter only where it is kept", most)
		}
		doneAgain()
		for i := 2; i < 9; i++ {
			_, done := get(fmt.Sprintf("price<%d", i))
			done()
		}
		if got := c.filters.order.Len(); got != most || len(c.filters.kept) != most {
			t.Errorf("expected %d kept, got %d", most, got)
		}
		if info, err := first.Info(); err != nil || info.Items != 5 {
			t.Errorf("a filter in use: expected 5 items, got %+v %v", info, err)
		}
		done()
		if _, err := first.Info(); err == nil {
			t.Errorf("expected a filter that nobody uses to be closed")
		}
		c.close()
	}
}

func TestRefusedRules(t *testing.T) {
	folder := t.TempDir()
	o := testOptions(t, filepath.Join(folder, "catalogue.sidx"))
	o.filters = filepath.Join(folder, "filters.json")
	priced(t, o.index, 1000, all)
	writeFile(t, o.filters, `{"cheap": "price<40", "dear": "price>60"}`)
	_, server := serve(t, o)
	for rules, text := range map[string]string{
		`"exclude": 5`:                     "the body is not what is expected",
		`"exclude": {"id": 5}`:             "the body is not what is expected",
		`"exclude": [1, "2"]`:              `exclude[1] is \"2\", expected an integer, as the ids of this index are`,
		`"allow": [null]`:                  "allow[0] is null, expected an integer",
		`"allow": [1.5]`:                   "allow[0] is 1.5, expected an integer",
		`"allow": [[1]]`:                   "allow[0] is [1], expected an integer",
		`"allow": [123456789012345678901]`: "allow[0] is 123456789012345678901, expected an integer",
		`"exclude": [` + strings.Repeat("1,", 300) + `1]`: "exclude has 301 ids, expected at most 300",
		`"where": "` + strings.Repeat("(", 201) + `"`:     "where has 201 bytes, expected at most 200",
		`"where": 5`:                      "the body is not what is expected",
		`"where": ""`:                     "where: at byte 0",
		`"where": "price<"`:               "where: at byte 6 (after `price\\u003c`): expected",
		`"where": "price<1\u0000"`:        "where: at byte 7",
		`"where": "cost<5"`:               "where: column 'cost' is not there, expected one of 'price'",
		`"where": "price=red"`:            "where: column 'price' holds integers, expected an integer after =",
		`"filter": "new"`:                 `filter is \"new\", expected one of [cheap, dear]`,
		`"filter": ""`:                    `filter is \"\", expected one of [cheap, dear]`,
		`"filter": ["cheap"]`:             "the body is not what is expected",
		`"filters": "cheap"`:              "there is no member filters, expected some of",
		`"filter": "cheap", "where": ")"`: "where: at byte 0",
	} {
		status, got, err := ask(server.URL+"/recommend", `{"histories": [[1000]], `+rules+`}`)
		if err != nil || status != http.StatusBadRequest || !strings.HasPrefix(got, `{"error":`) ||
			!strings.Contains(got, text) {
			t.Errorf("%.60s: expected 400 and %s, got %d %s %v", rules, text, status, got, err)
		}
	}
	if got := scrape(t, server.URL); got[`sidbeam_filter_requests_total{filter="cheap"}`] != 0 ||
		got["sidbeam_where_requests_total"] != 0 || got["sidbeam_list_requests_total"] != 0 {
		t.Errorf("expected no request under rules, got %v", got)
	}
}

// Filters of the settings that cannot be made refuse the catalogue, at the start and at a reload, where the old one
// stays with its own.
func TestFiltersOfTheSettings(t *testing.T) {
	folder := t.TempDir()
	o := testOptions(t, filepath.Join(folder, "catalogue.sidx"))
	o.filters = filepath.Join(folder, "filters.json")
	version := priced(t, o.index, 1000, all)
	settings := "the filters of " + o.filters
	filter := func(name string) string { return fmt.Sprintf("filter %q of %s: ", name, o.filters) }
	refused := map[string]string{
		`{"cheap": "price<40", "broken": "price<"}`: filter("broken") + "at byte 6 (after `price<`): expected",
		`{"gone": "cost<40"}`:                       filter("gone") + "column 'cost' is not there, expected one of 'price'",
		`{"a b": "price<40"}`:                       filter("a b") + "expected a name of 1 .. 64 letters",
		`{"": "price<40"}`:                          filter("") + "expected a name",
		`{"cheap": 5}`:                              settings + `, expected {"name": "text"}: json: `,
		`["price<40"]`:                              settings,
		`{`:                                         settings,
	}
	for filters, text := range refused {
		writeFile(t, o.filters, filters)
		if _, err := newService(o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("start with %s: expected %s, got %v", filters, text, err)
		}
	}
	must(t, os.Remove(o.filters))
	if _, err := newService(o); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("start without the file: got %v", err)
	}
	writeFile(t, o.filters, `{"cheap": "price<40"}`)
	s, server := serve(t, o)
	if info, err := s.generations.current.catalogue.filters.named["cheap"].Info(); err != nil || !info.Prepared {
		t.Errorf("expected the filter to be prepared, got %+v %v", info, err)
	}
	before := askRuled(t, server.URL, `, "filter": "cheap"`)
	priced(t, o.index, 2000, all)
	for filters, text := range refused {
		writeFile(t, o.filters, filters)
		quoted, _ := json.Marshal(text)
		status, got, err := ask(server.URL+"/reload", "")
		if err != nil || status != http.StatusInternalServerError ||
			!strings.Contains(got, strings.Trim(string(quoted), `"`)) {
			t.Errorf("reload with %s: expected 500 and %s, got %d %s %v", filters, text, status, got, err)
		}
		if after := askRuled(t, server.URL, `, "filter": "cheap"`); after.Version != version ||
			string(after.Items) != string(before.Items) {
			t.Errorf("after %s: expected the old catalogue and its filter", filters)
		}
	}
	next := priced(t, o.index, 1000, func(id int64) bool { return id != 1444 })
	writeFile(t, o.filters, `{"cheap": "price<0", "dear": "price>=0"}`)
	if status, text, err := ask(server.URL+"/reload", ""); err != nil || status != http.StatusOK {
		t.Errorf("reload: got %d %s %v", status, text, err)
	}
	if got := askRuled(t, server.URL, `, "filter": "cheap"`); got.Version != next || string(got.Items) != "[[],[]]" {
		t.Errorf("expected the new filter, got %+v", got)
	}
	if got := askRuled(t, server.URL, `, "filter": "dear"`); string(got.Items) == "[[],[]]" {
		t.Errorf("expected items of the new filter, got %s", got.Items)
	}
}

// askWithin sends a request with rules of every kind, and says what is wrong with its answer: by version, `most` is the
// bound of the filter "cheap".
func askWithin(url string, most map[string]int64, random *rand.Rand) error {
	from, least := 1000+random.Int63n(300), random.Int63n(20) // more texts than are kept
	excluded := []string{}
	for id := from; id < from+100; id++ {
		excluded = append(excluded, fmt.Sprint(id))
	}
	body := fmt.Sprintf(`{"histories": [[1000, %d], [%d]], "exclude": [%s], "where": "price>=%d", "filter": "cheap"}`,
		from, from+7, strings.Join(excluded, ","), least)
	status, text, err := ask(url+"/recommend", body)
	var got answered
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
		return fmt.Errorf("expected 200 and JSON, got %d %s %v", status, text, err)
	}
	bound, known := most[got.Version]
	for _, items := range got.Items {
		for _, item := range items {
			price := item.ID % 100
			if !known || price < least || price >= bound || item.ID >= from && item.ID < from+100 {
				return fmt.Errorf("%d has no place in the answer of %s to %s", item.ID, got.Version, body)
			}
		}
		if len(items) < 8 {
			return fmt.Errorf("expected 8 items, got %s", text)
		}
	}
	return nil
}

// Catalogue and filters are replaced under load: each answer keeps to its rules, by the filters of the version that it
// names.
func TestReloadsUnderLoadWithRules(t *testing.T) {
	const clients, reloads = 6, 15
	folder := t.TempDir()
	o := testOptions(t, filepath.Join(folder, "catalogue.sidx"))
	o.filters = filepath.Join(folder, "filters.json")
	replace := func(i int) (version string, most int64) {
		most = int64(30 + 20*(i%3))
		writeFile(t, o.filters, fmt.Sprintf(`{"cheap": "price<%d"}`, most))
		return priced(t, o.index, 1000, func(id int64) bool { return id != int64(1400+i%3) }), most
	}
	most := map[string]int64{}
	for i := 2; i >= 0; i-- {
		version, bound := replace(i)
		most[version] = bound
	}
	s, server := serve(t, o)
	first := s.generations.current
	stop := load(t, clients, func(random *rand.Rand) error { return askWithin(server.URL, most, random) })
	for i := 1; i <= reloads; i++ {
		version, _ := replace(i)
		status, text, err := ask(server.URL+"/reload", "")
		if err != nil || status != http.StatusOK || !strings.Contains(text, version) {
			t.Errorf("reload: expected 200 and %s, got %d %s %v", version, status, text, err)
		}
	}
	asked := float64(stop())
	<-first.gone
	metrics := scrape(t, server.URL)
	for _, name := range []string{"sidbeam_requests_total", `sidbeam_filter_requests_total{filter="cheap"}`,
		"sidbeam_where_requests_total", "sidbeam_list_requests_total"} {
		if metrics[name] != asked {
			t.Errorf("%s: expected %v, got %v", name, asked, metrics[name])
		}
	}
}

// Ids that are names.
func TestRulesOnNames(t *testing.T) {
	o := testOptions(t, filepath.Join(t.TempDir(), "names.sidx"))
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4, 4}, IDType: sidbeam.IDString})
	must(t, err)
	defer builder.Close()
	must(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 0, 0, 0, 0, 0, 1, 2, 3},
		Names: []string{"shoe", `"sock"`, "hat"}}))
	must(t, builder.Write(context.Background(), o.index))
	_, server := serve(t, o)
	status, text, err := ask(server.URL+"/recommend", `{"histories": [["hat"]], "exclude": ["shoe", "hat", "é", ""]}`)
	if err != nil || status != http.StatusOK || strings.Count(text, `"id"`) != 1 ||
		!strings.Contains(text, `"id":"\"sock\""`) || !strings.Contains(text, `"unknown_excluded":2`) {
		t.Errorf("expected the sock alone, got %d %s %v", status, text, err)
	}
	status, text, err = ask(server.URL+"/recommend", `{"histories": [["hat"]], "allow": ["hat", 5]}`)
	if err != nil || status != http.StatusBadRequest || !strings.Contains(text, "allow[1] is 5, expected a string") {
		t.Errorf("expected 400, got %d %s %v", status, text, err)
	}
	status, text, err = ask(server.URL+"/recommend", `{"histories": [["hat"]], "where": "price<5"}`)
	if err != nil || status != http.StatusBadRequest || !strings.Contains(text, "since the index has no attributes") {
		t.Errorf("expected 400, got %d %s %v", status, text, err)
	}
}
