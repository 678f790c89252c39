// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// Clients that never stop, and an index that is replaced under them: no request fails, none sees half of an index.
func TestReloadsUnderLoad(t *testing.T) {
	const clients, reloads, k = 8, 20, 5
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	versions := [2]string{replace(t, path, 1000), ""}
	versions[1] = replace(t, path, 2000)
	firstID := map[string]int64{versions[0]: 1000, versions[1]: 2000}
	s, server := serve(t, testOptions(t, path))
	first := s.generations.current

	stop := load(t, clients, func(random *rand.Rand) error {
		n := random.Intn(500) // one of the two is in the catalogue, whichever that is
		body := fmt.Sprintf(`{"histories": [[%d, %d], [%d, %d]], "k": %d}`, 1000+n, 2000+n, 2000+n/2, 1000+n/2, k)
		status, text, err := ask(server.URL+"/recommend", body)
		return check(status, text, err, firstID, k)
	})
	for r := 0; r < reloads; r++ {
		version := replace(t, path, []int64{1000, 2000}[r%2])
		status, text, err := ask(server.URL+"/reload", "")
		if err != nil || status != http.StatusOK || !strings.Contains(text, version) {
			t.Errorf("reload: expected 200 and %s, got %d %s %v", version, status, text, err)
		}
		// Answers after the reload are from the new index.
		status, text, err = ask(server.URL+"/recommend", `{"histories": [[1000], [2000]], "k": 5}`)
		if !strings.Contains(text, version) {
			t.Errorf("expected version %s, got %d %s %v", version, status, text, err)
		}
	}
	total := reloads + stop()
	<-first.gone // and the old index is given back
	checkMetrics(t, scrape(t, server.URL), total, reloads, versions[1])
}

func checkMetrics(t *testing.T, got map[string]float64, requests, reloads int, version string) {
	for name, want := range map[string]float64{
		"sidbeam_requests_total":                               float64(requests),
		"sidbeam_request_seconds_count":                        float64(requests),
		"sidbeam_request_errors_total":                         0,
		"sidbeam_reloads_total":                                float64(reloads),
		"sidbeam_reload_errors_total":                          0,
		"sidbeam_index_items":                                  500,
		fmt.Sprintf("sidbeam_index_info{version=%q}", version): 1,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s: expected %v, got %v", name, want, value)
		}
	}
	if got["sidbeam_runner_lanes"] != 2 || got["sidbeam_runner_queued"] != 0 || got["sidbeam_runner_failed_total"] != 0 ||
		got["sidbeam_runner_finished_total"] < float64(requests) || got["sidbeam_runner_batch_rows_total"] <= 0 ||
		got["sidbeam_runner_lane_use"] <= 0 || got[`sidbeam_runner_seconds{quantile="0.99"}`] <= 0 {
		t.Errorf("expected the runner's numbers of %d requests, got %v", requests, got)
	}
	rounds, accepted := got["sidbeam_runner_rounds_total"], got["sidbeam_runner_accepted_levels_total"]
	if rounds <= 0 || accepted <= 0 || got["sidbeam_runner_round_levels_total"] != rounds+accepted ||
		got["sidbeam_runner_drafted_levels_total"] < accepted || got["sidbeam_runner_nodes_total"] < rounds ||
		got["sidbeam_runner_draft_seconds_total"] <= 0 {
		t.Errorf("expected the draft's numbers, got %v", got)
	}
	p50, p90 := got[`sidbeam_request_seconds{quantile="0.50"}`], got[`sidbeam_request_seconds{quantile="0.90"}`]
	p99, sum := got[`sidbeam_request_seconds{quantile="0.99"}`], got["sidbeam_request_seconds_sum"]
	if p50 <= 0 || p50 > p90 || p90 > p99 || p99 > sum {
		t.Errorf("expected 0 < p50 <= p90 <= p99 <= sum, got %v %v %v %v", p50, p90, p99, sum)
	}
}

// A request that has begun keeps its index; the next one gets the new index. The old one goes after its last request.
func TestGenerations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	s, _ := serve(t, testOptions(t, path))
	g := s.generations
	first, second := g.acquire(), g.acquire()
	replace(t, path, 2000)
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
	ended, end := context.WithCancel(context.Background())
	end()
	_, err = s.recommender.recommend(ended, next.catalogue, next.catalogue.index, [][][]int32{{{1, 2, 3}}}, 4)
	if !errors.Is(err, context.Canceled) || statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("a client that has gone: expected context.Canceled, got %v", err)
	}
}

// The model has an output for every code: an index of another codebook is refused.
func TestReloadOfAnotherCodebook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	version := replace(t, path, 1000)
	s, server := serve(t, testOptions(t, path))
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{16, 16, 17}})
	must(t, err)
	defer builder.Close()
	must(t, builder.Add(sidbeam.Pairs{Codes: []int32{1, 2, 3}}))
	must(t, builder.Write(context.Background(), path))
	status, text, err := ask(server.URL+"/reload", "")
	if err != nil || status != 500 || !strings.Contains(text, "[16 16 17] codes per level, expected [16 16 16]") {
		t.Errorf("reload: expected 500 and both codebooks, got %d %s %v", status, text, err)
	}
	if string(s.version()) != strconv.Quote(version) {
		t.Errorf("expected the old index to stay")
	}
}

// The prompt is what the model reads: whole SIDs, the latest ones.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	s, _ := serve(t, testOptions(t, path))
	sids, err := s.generations.current.catalogue.sids([]string{"1005", "1007", "77", "1008"})
	must(t, err)
	want := []int32{}
	for _, sid := range sids[1:] { // room for 8 tokens: two SIDs
		want = append(want, sid[0], 16+sid[1], 32+sid[2])
	}
	if got := s.recommender.tokens(sids); fmt.Sprint(got) != fmt.Sprint(want) || len(sids) != 3 {
		t.Errorf("expected %v, got %v", want, got)
	}
}

// With the trained model of samples/train: the items and scores of sidbeam run (tests/bindings/trained.sh).
func TestTrainedModel(t *testing.T) {
	folder := os.Getenv("SIDBEAM_TRAINED")
	if folder == "" {
		t.Skip("SIDBEAM_TRAINED is not set: the library was built without the runner")
	}
	for _, group := range []string{"1", "3"} {
		o, _ := parse(flag.NewFlagSet("service", flag.PanicOnError), []string{"-model", "../train/made_up", "-index",
			folder + "/made_up.sidx", "-start-tokens", "192", "-offsets", "0,64,128", "-group", group, "-prompt", "30",
			"-normalize", "level"})
		_, server := serve(t, o)
		status, text, err := ask(server.URL+"/recommend", `{"histories": [[13, 18, 26]], "k": 3}`)
		var got answered
		if err != nil || status != 200 || json.Unmarshal([]byte(text), &got) != nil {
			t.Fatalf("group %s: expected items, got %d %s %v", group, status, text, err)
		}
		var lines string
		for _, item := range got.Items[0] {
			lines += fmt.Sprintf("%d %v\n", item.ID, item.Score)
		}
		want, err := os.ReadFile(folder + "/group" + group + ".txt")
		if must(t, err); lines != string(want) {
			t.Errorf("group %s: expected\n%s, got\n%s", group, want, lines)
		}
	}
}

func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	_, server := serve(t, testOptions(t, path))
	refusals := []struct {
		path, body string
		status     int
		text       string
	}{
		{"/recommend", `{"histories": [[1]], "k": `, 400, "the body is no JSON object with [histories, k, "},
		{"/recommend", ``, 400, "the body is no JSON object with [histories, k, "},
		{"/recommend", `{"histories": [[1]]} x`, 400, "the body is no JSON object with [histories, k, "},
		{"/recommend", `{"history": [1]}`, 400, "there is no member history, expected some of [histories, k, "},
		{"/recommend", `{"histories": [[1]], "k": 2, "k": 3}`, 400, "k is given twice"},
		{"/recommend", `{"histories": [["\ud800"]]}`, 400, "the body has half of a surrogate pair"},
		{"/recommend", `{"histories": [["` + "\xff" + `"]]}`, 400, "the body is not UTF-8"},
		{"/recommend", `{"histories": [1]}`, 400, "the body is not what is expected"},
		{"/recommend", `{"histories": [[1]], "k": 1.5}`, 400, "the body is not what is expected"},
		{"/recommend", `{"histories": [[1]], "k": 0}`, 400, "k is 0, expected 1 .. 8"},
		{"/recommend", `{"histories": [[1]], "k": 9}`, 400, "k is 9, expected 1 .. 8"},
		{"/recommend", `{"histories": []}`, 400, "histories has 0 elements, expected 1 .. 3"},
		{"/recommend", `{"histories": [[],[],[],[]]}`, 400, "histories has 4 elements, expected 1 .. 3"},
		{"/recommend", `{"histories": [[1, null]], "k": 2}`, 400, "histories[0][1] is null, expected the id of an item"},
		{"/recommend", `{"histories": [[1, [2]]], "k": 2}`, 400, "histories[0][1] is [2], expected the id of an item"},
		{"/recommend", `{"histories": [[` + strings.Repeat("1,", 1<<20) + `1]]}`, 413, "longer than 1048576 bytes"},
		{"/metrics", ``, 405, "/metrics is for GET"},
		{"/nothing", ``, 404, ""},
	}
	for _, bad := range refusals {
		status, text, err := ask(server.URL+bad.path, bad.body)
		if must(t, err); status != bad.status || !strings.Contains(text, bad.text) {
			t.Errorf("%s %.40s: expected %d %s, got %d %s", bad.path, bad.body, bad.status, bad.text, status, text)
		}
	}
	if got := scrape(t, server.URL); got["sidbeam_request_errors_total"] != 16 || got["sidbeam_requests_total"] != 16 {
		t.Errorf("expected 16 requests that failed, got %v", got)
	}
	status, text, err := ask(server.URL+"/recommend", `{"histories": [[1000, "1001", 77]]}`)
	if err != nil || status != 200 || strings.Count(text, `"id"`) < 8 {
		t.Errorf("expected items, got %d %s %v", status, text, err)
	}
}

// A file that is no index, or one of right checksums whose SIDs are out of order, is refused, and the current index
// stays.
func TestReloadOfADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	version := replace(t, path, 1000)
	_, server := serve(t, testOptions(t, path))
	unordered, err := os.ReadFile("../../tests/cli/data/out_of_order.sidx")
	must(t, err)
	for _, damaged := range [][]byte{[]byte("no index"), unordered} {
		must(t, os.WriteFile(path+".new", damaged, 0o600))
		must(t, os.Rename(path+".new", path))
		status, text, err := ask(server.URL+"/reload", "")
		if err != nil || status != http.StatusInternalServerError || !strings.Contains(text, "corrupt") {
			t.Errorf("reload: expected 500 and corrupt, got %d %s %v", status, text, err)
		}
		status, text, err = ask(server.URL+"/recommend", `{"histories": [[1]]}`)
		if err != nil || status != 200 || !strings.Contains(text, version) {
			t.Errorf("expected an answer of %s, got %d %s %v", version, status, text, err)
		}
	}
	if got := scrape(t, server.URL); got["sidbeam_reload_errors_total"] != 2 || got["sidbeam_reloads_total"] != 0 {
		t.Errorf("expected two reloads that failed, got %v", got)
	}
}

// Names, SIDs of several lengths, and several items per SID.
func TestNamesAndVariableLength(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names.sidx")
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{
		Codes: []int32{4, 4}, VariableLength: true, IDType: sidbeam.IDString})
	must(t, err)
	defer builder.Close()
	must(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 0, 0, 0, 1, 0, 1, 2}, Lengths: []int32{2, 2, 1, 2},
		Names: []string{"shoe", `"sock"`, "hat", "scarf"}}))
	must(t, builder.Write(context.Background(), path))
	o := testOptions(t, path)
	o.vocabulary = sidbeam.Vocabulary{Offsets: []int64{0, 4}, HasEnd: true, EndColumn: 8}
	_, server := serve(t, o)
	status, text, err := ask(server.URL+"/recommend", `{"histories": [["hat"], ["shoe"]], "k": 8}`)
	var got struct{ Items [][]struct{ ID string } }
	if err != nil || status != 200 || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("expected items, got %d %s %v", status, text, err)
	}
	for _, items := range got.Items {
		var names []string
		for _, item := range items {
			names = append(names, item.ID)
		}
		sort.Strings(names)
		if strings.Join(names, " ") != `"sock" hat scarf shoe` {
			t.Errorf("expected all four names, got %s", text)
		}
	}
}

// The program itself reloads on SIGHUP, and ends when its context does.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	o := testOptions(t, path)
	err := run(context.Background(), o, "127.0.0.1:0", nil)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("expected an error that names %s, got %v", path, err)
	}
	replace(t, path, 1000)
	url, stop, ended := running(t, o)
	version := replace(t, path, 2000)
	must(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	for begin := time.Now(); scrape(t, url)["sidbeam_reloads_total"] != 1; {
		if time.Since(begin) > time.Minute {
			t.Fatal("no reload a minute after SIGHUP")
		}
	}
	_, text, err := ask(url+"/recommend", `{"histories": [[2000]], "k": 4}`)
	if err != nil || !bytes.Contains([]byte(text), []byte(version)) {
		t.Errorf("expected version %s, got %s %v", version, text, err)
	}
	stop()
	must(t, <-ended)
}
