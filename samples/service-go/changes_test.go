// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

// changing are requests that need the token, and their answers in this order by a service of liveOptions.
var changing = []struct{ method, path, body, answer string }{
	{"POST", "/reload", "", `{"version":1}`},
	{"POST", "/items", `{"items": [{"id": 7, "sid": [1, 2, 3]}]}`, `{"added":1}`},
	{"DELETE", "/items/7", "", `{"removed":7}`},
	{"POST", "/publish", "", `{"version":2}`},
	{"POST", "/rollback", `{"version": 1}`, `{"version":3}`},
	{"POST", "/compact", "", `{"version":4}`},
}

// What changes something needs the token, and without one configured nobody has it.
func TestToken(t *testing.T) {
	o := liveOptions(t)
	t.Setenv(tokenVariable, "")
	_, without := serve(t, o)
	for _, one := range changing {
		refused(t, without.URL, one.method, one.path, one.body, 403, "no token is configured, so that nobody may change")
	}
	o = liveOptions(t)
	o.tokenFile = filepath.Join(t.TempDir(), "token")
	writeFile(t, o.tokenFile, "of-the-file\n")
	t.Setenv(tokenVariable, "of-the-environment")
	_, server := serve(t, o)
	for _, one := range changing {
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer of-the-environment", "Bearer of-the-file2",
			"Bearer of-the-fil", "Basic of-the-file", "of-the-file", "Bearer of-the-file of-the-file"} {
			request := httptest.NewRequest(one.method, one.path, strings.NewReader(one.body))
			request.Header.Set("Authorization", header)
			answer := httptest.NewRecorder()
			server.Config.Handler.ServeHTTP(answer, request)
			if answer.Code != http.StatusUnauthorized || answer.Header().Get("WWW-Authenticate") != "Bearer" ||
				!strings.HasPrefix(answer.Body.String(), `{"error":"expected the header Authorization: Bearer TOKEN`) {
				t.Errorf("%s %s by %q: expected 401, got %d %s", one.method, one.path, header, answer.Code, answer.Body)
			}
		}
	}
	for i, one := range changing {
		header := []string{"Bearer of-the-file", "bearer  of-the-file "}[i%2]
		status, text, err := askWith(one.method, server.URL+one.path, one.body, header)
		if err != nil || status != http.StatusOK || strings.TrimSpace(text) != one.answer {
			t.Errorf("%s %s: expected %s, got %d %s %v", one.method, one.path, one.answer, status, text, err)
		}
	}
	for _, open := range []string{"/metrics", "/versions"} {
		if status, text, err := askWith("GET", server.URL+open, "", ""); err != nil || status != http.StatusOK {
			t.Errorf("%s: expected 200, got %d %s %v", open, status, text, err)
		}
	}
}

func TestWrongTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if _, err := readToken(path); !os.IsNotExist(err) {
		t.Errorf("expected a file that is missing, got %v", err)
	}
	t.Setenv(tokenVariable, "given")
	for _, text := range []string{"", "\n", "two words", "é", "a\nb"} {
		writeFile(t, path, text)
		token, err := readToken(path)
		if err == nil || !strings.Contains(err.Error(), "the token in "+path+" is empty, or") || token != "" {
			t.Errorf("%q: expected an error that names the file, got %q %v", text, token, err)
		}
	}
	t.Setenv(tokenVariable, "two words")
	if _, err := readToken(""); err == nil || !strings.Contains(err.Error(), "the token in SIDBEAM_TOKEN") {
		t.Errorf("expected an error that names the variable, got %v", err)
	}
}

// Without a live catalogue there is nothing to change but the file.
func TestChangesOfAFile(t *testing.T) {
	o := testOptions(t, filepath.Join(t.TempDir(), "catalogue.sidx"))
	replace(t, o.index, 1000)
	_, server := serve(t, o)
	for _, one := range append(changing[1:], struct{ method, path, body, answer string }{"GET", "/versions", "", ""}) {
		refused(t, server.URL, one.method, one.path, one.body, 409, "catalogue.sidx is an index file, expected the folder")
	}
	if _, there := scrape(t, server.URL)["sidbeam_catalog_version"]; there {
		t.Errorf("expected no metrics of a live catalogue")
	}
	o.follow = true
	if _, err := newService(o); err == nil || !strings.Contains(err.Error(), "is no folder, expected that of a") {
		t.Errorf("expected a file not to be followed, got %v", err)
	}
}

// attributedOptions are those of a catalogue with an attribute of each type, whose SIDs are of any length.
func attributedOptions(t testing.TB) options {
	t.Helper()
	folder := t.TempDir()
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}, VariableLength: true,
		IDType: sidbeam.IDString})
	must(t, err)
	defer builder.Close()
	for name, kind := range map[string]sidbeam.AttributeType{"price": sidbeam.AttributeInt64,
		"rating": sidbeam.AttributeFloat32, "new": sidbeam.AttributeBool, "brand": sidbeam.AttributeString,
		"tags": sidbeam.AttributeStringList} {
		must(t, builder.DeclareAttribute(name, kind))
	}
	must(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 0}, Names: []string{"hat"}}))
	must(t, builder.Write(context.Background(), filepath.Join(folder, "base.sidx")))
	newFolder(t, filepath.Join(folder, "base.sidx"), filepath.Join(folder, "live"))
	o := testOptions(t, filepath.Join(folder, "live"))
	o.vocabulary = sidbeam.Vocabulary{Offsets: []int64{0, 4}, HasEnd: true, EndColumn: 8}
	return o
}

// Items with all that they may have. What an update does not give stays.
func TestAttributesOfAddedItems(t *testing.T) {
	o := attributedOptions(t)
	_, server := serve(t, o)
	where := func(text, expected string) {
		t.Helper()
		status, got, err := ask(server.URL+"/recommend", `{"histories": [["hat"]], "where": "`+text+`", "k": 8}`)
		ids := strings.Split(got, `"id":`)[1:]
		for i := range ids {
			ids[i] = strings.Split(ids[i], ",")[0]
		}
		if err != nil || status != http.StatusOK || strings.Join(ids, " ") != expected {
			t.Errorf("%s: expected %s, got %d %s %v", text, expected, status, got, err)
		}
	}
	do(t, server.URL, "POST", "/items", `{"items": [
		{"id": "a/b", "sid": [1], "priority": 3, "attributes": {"price": -5, "rating": 0.5, "new": true, "brand": "é", "tags":
			["x", "y"]}},
		{"id": "", "sid": [1], "priority": 9223372036854775807, "attributes": {"price": null, "rating": 2, "new": null,
			"brand": null, "tags": []}}]}`, `{"added":2}`)
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	where("price=-5 and rating=0.5 and new and brand=é and tags contains x and tags contains y", `"a/b"`)
	where("price is null and rating=2 and new is null and brand is null and tags is not null", `""`)
	where("rating<=2", `"" "a/b"`) // by priority
	do(t, server.URL, "POST", "/items", `{"items": [{"attributes": {"price": 7}, "sid": [1], "id": "a/b"}]}`,
		`{"added":1}`)
	do(t, server.URL, "POST", "/publish", "", `{"version":3}`)
	where("price=7 and rating=0.5 and new and brand=é and tags contains y", `"a/b"`)
	where("rating<=2", `"" "a/b"`)
	do(t, server.URL, "DELETE", "/items/a%2Fb", "", `{"removed":"a/b"}`)
	do(t, server.URL, "DELETE", "/items/", "", `{"removed":""}`)
	do(t, server.URL, "POST", "/items", `{"items": [{"id": "\ud83d\uDE00\\ud800", "sid": [3]}]}`, `{"added":1}`)
	do(t, server.URL, "DELETE", "/items/%F0%9F%98%80%5Cud800", "", `{"removed":"😀\\ud800"}`)
	refused(t, server.URL, "DELETE", "/items/..//%22%C3%A9", "", 404, `there is no item "..//\"é"`)
	do(t, server.URL, "POST", "/publish", "", `{"version":4}`)
	where("true", `"hat"`)
}

func TestRefusedChanges(t *testing.T) {
	_, server := serve(t, attributedOptions(t))
	item := func(members string) string { return `{"items": [{"id": "a", "sid": [1, 2]}, {` + members + `}]}` }
	priced := func(value string) string {
		return `{"items": [{"id": "a", "sid": [1], "attributes": {` + value + `}}]}`
	}
	for _, one := range [][2]string{
		{``, "the body is no JSON object with [items]"},
		{`null`, "the body is no JSON object with [items]"},
		{`[]`, "the body is no JSON object with [items]"},
		{`{"items": []} x`, "the body is no JSON object with [items]"},
		{`{}`, "items is missing, expected an array of items"},
		{`{"items": null}`, "items is null, expected an array of items"},
		{`{"items": {}}`, "items is {}, expected an array of items"},
		{`{"items": []}`, "items has 0 elements, expected 1 or more"},
		{`{"items": [5]}`, "items[0] is 5, expected an object"},
		{`{"items": [], "publish": 1}`, "there is no member publish, expected some of [items]"},
		{item(`"id": "b", "sids": [1]`),
			"there is no member items[1].sids, expected some of [id, sid, priority, attributes]"},
		{item(`"id": "b"`), "items[1].sid is missing, expected an array of codes"},
		{item(`"sid": [1]`), "items[1].id is missing, expected a string, as the ids of this index are"},
		{item(`"id": 5, "sid": [1]`), "items[1].id is 5, expected a string, as the ids of this index are"},
		{item(`"id": null, "sid": [1]`), "items[1].id is null, expected a string"},
		{item(`"id": "b", "sid": 1`), "items[1].sid is 1, expected an array of codes"},
		{item(`"id": "b", "sid": []`), "items[1].sid has 0 codes, expected 1 .. 2"},
		{item(`"id": "b", "sid": [1, 2, 3]`), "items[1].sid has 3 codes, expected 1 .. 2"},
		{item(`"id": "b", "sid": [1, 4]`), "items[1].sid[1] is 4, expected 0 .. 3"},
		{item(`"id": "b", "sid": [-1]`), "items[1].sid[0] is -1, expected 0 .. 3"},
		{item(`"id": "b", "sid": [1.5]`), "items[1].sid[0] is 1.5, expected 0 .. 3"},
		{item(`"id": "b", "sid": [null]`), "items[1].sid[0] is null, expected 0 .. 3"},
		{item(`"id": "b", "sid": [4294967297]`), "items[1].sid[0] is 4294967297, expected 0 .. 3"},
		{item(`"id": "b", "sid": [1], "priority": 1`), "items[1] gives [priority], expected [] as items[0] does"},
		{item(`"id": "b", "sid": [1], "attributes": 5`), "items[1].attributes is 5, expected an object"},
		{`{"items": [{"id": "a", "sid": [1], "priority": "x"}]}`, `items[0].priority is "x", expected an integer`},
		{`{"items": [{"id": "a", "sid": [1], "priority": 9223372036854775808}]}`,
			"items[0].priority is 9223372036854775808"},
		{priced(`"cost": 5`),
			"there is no member items[0].attributes.cost, expected some of [brand, new, price, rating, tags]"},
		{priced(`"price": 1.5`), "items[0].attributes.price is 1.5, expected an integer"},
		{priced(`"price": "1"`), `items[0].attributes.price is "1", expected an integer`},
		{priced(`"rating": 1e39`), "items[0].attributes.rating is 1e39, expected a number of 32 bits"},
		{priced(`"rating": true`), "items[0].attributes.rating is true, expected a number of 32 bits"},
		{priced(`"new": 1`), "items[0].attributes.new is 1, expected true or false"},
		{priced(`"brand": 5`), "items[0].attributes.brand is 5, expected a string"},
		{priced(`"tags": "x"`), `items[0].attributes.tags is "x", expected an array of strings`},
		{priced(`"tags": ["x", null]`), "items[0].attributes.tags[1] is null, expected a string"},
		{`{"items": [{"id": "` + "\xff" + `"}]}`, "the body is not UTF-8"},
		{`{"items": [], "items": []}`, "items is given twice"},
		{`{"items": [{"id": "a", "sid": [1], "i\u0064": "b"}]}`, "items[0].id is given twice"},
		{priced(`"price": 1, "price": 2`), "items[0].attributes.price is given twice"},
		{priced(`"` + strings.Repeat("é", 41) + `": 1`),
			"there is no member items[0].attributes." + strings.Repeat("é", 40) + ", expected"},
		{item(`"id": "\ud800", "sid": [1]`), "the body has half of a surrogate pair"},
		{item(`"id": "\uDC00", "sid": [1]`), "the body has half of a surrogate pair"},
		{item(`"id": "\\\ud83d\n\ude00", "sid": [1]`), "the body has half of a surrogate pair"},
		{item(`"id": "\ud83d\ud83d\ude00", "sid": [1]`), "the body has half of a surrogate pair"},
	} {
		refused(t, server.URL, "POST", "/items", one[0], 400, one[1])
	}
	for _, one := range [][2]string{
		{``, "the body is no JSON object with [version]"},
		{`{}`, "version is missing, expected the number of a version"},
		{`{"version": "1"}`, `version is "1", expected the number of a version`},
		{`{"version": 1.5}`, "version is 1.5, expected the number of a version"},
		{`{"version": 0}`, "version is 0, expected one of those that are kept, 1 to 1"},
		{`{"version": 2}`, "version is 2, expected one of those that are kept, 1 to 1"},
		{`{"to": 1}`, "there is no member to, expected some of [version]"},
	} {
		refused(t, server.URL, "POST", "/rollback", one[0], 400, one[1])
	}
	refused(t, server.URL, "DELETE", "/items/a%FF", "", 400, `the item is "a\xff", expected UTF-8`)
	refused(t, server.URL, "DELETE", "/items/%EF%BF%BD", "", 404, "there is no item \"\uFFFD\"")
	refused(t, server.URL, "POST", "/items", strings.Repeat(" ", maxBody+1), 413, "longer than 1048576 bytes")
	refused(t, server.URL, "GET", "/items", "", 405, "/items is for POST")
	refused(t, server.URL, "POST", "/items/hat", "", 405, "/items/hat is for DELETE")
	refused(t, server.URL, "POST", "/versions", "", 405, "/versions is for GET")
	do(t, server.URL, "POST", "/publish", "", `{"version":1}`) // nothing of a refused call was added
}

// Ids are those of the catalogue: integers here.
func TestIdsOfRemovedItems(t *testing.T) {
	_, server := serve(t, liveOptions(t))
	for _, id := range []string{"hat", "1.0", "", "%201000", "1000/", "18446744073709551616",
		"+1000", "001000", "-01000", "-", "1_000"} {
		refused(t, server.URL, "DELETE", "/items/"+id, "", 400, "expected an integer, as the ids of this index are")
	}
	refused(t, server.URL, "POST", "/items", `{"items": [{"id": "1000", "sid": [1, 2, 3]}]}`, 400,
		`items[0].id is "1000", expected an integer, as the ids of this index are`)
	refused(t, server.URL, "POST", "/items", `{"items": [{"id": 5, "sid": [1, 2]}]}`, 400,
		"items[0].sid has 2 codes, expected 3")
	do(t, server.URL, "DELETE", "/items/1000", "", `{"removed":1000}`)
}

func TestMetricsOfALiveCatalogue(t *testing.T) {
	_, server := serve(t, liveOptions(t))
	expect := func(want map[string]float64) {
		t.Helper()
		got := scrape(t, server.URL)
		for name, value := range want {
			if got["sidbeam_"+name] != value {
				t.Errorf("%s: expected %v, got %v", name, value, got["sidbeam_"+name])
			}
		}
		if got["sidbeam_catalog_age_seconds"] < 0 || got["sidbeam_catalog_age_seconds"] > 600 {
			t.Errorf("expected an age of seconds, got %v", got["sidbeam_catalog_age_seconds"])
		}
	}
	expect(map[string]float64{`index_info{version="1"}`: 1, "index_items": 360, "catalog_version": 1,
		"catalog_pinned_versions": 1, "catalog_changes": 0, "catalog_compact_soon": 0, "catalog_unsynced_bytes": 0,
		"catalog_log_failed": 0, "catalog_refresh_errors_total": 0})
	before := scrape(t, server.URL)["sidbeam_catalog_log_bytes"]
	var items []string
	for id := 5000; id < 5020; id++ {
		items = append(items, `{"id": `+string(rune('1'+id%9))+`, "sid": [9, 9, `+string(rune('0'+id%10))+`]}`)
	}
	do(t, server.URL, "POST", "/items", `{"items": [`+strings.Join(items, ",")+`]}`, `{"added":20}`)
	do(t, server.URL, "DELETE", "/items/1000", "", `{"removed":1000}`)
	expect(map[string]float64{"catalog_version": 1, "catalog_changes": 2})
	do(t, server.URL, "POST", "/publish", "", `{"version":2}`)
	expect(map[string]float64{`index_info{version="2"}`: 1, "index_items": 378, "catalog_version": 2,
		"catalog_changes": 0, "catalog_compact_soon": 1})
	if after := scrape(t, server.URL)["sidbeam_catalog_log_bytes"]; before <= 0 || after <= before {
		t.Errorf("expected a log that grows, got %v and %v", before, after)
	}
	status, text, err := askWith("GET", server.URL+"/versions", "", "")
	if err != nil || status != http.StatusOK || strings.Count(text, `"generation":1`) != 2 ||
		!strings.HasPrefix(text, `{"version":2,"versions":[{"version":1,"generation":1,"published":"`) ||
		!strings.Contains(text, `"items":378,"changed":22,`) {
		t.Errorf("expected two versions, got %d %s %v", status, text, err)
	}
}
