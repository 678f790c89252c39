// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace writes a catalogue whose ids begin at firstID beside path, renames it to path, and gives its version.
func replace(t testing.TB, path string, firstID int64) string {
	t.Helper()
	random := rand.New(rand.NewSource(firstID))
	pairs := sidbeam.Pairs{}
	for i := int64(0); i < 500; i++ {
		pairs.Codes = append(pairs.Codes, random.Int31n(16), random.Int31n(16), random.Int31n(16))
		pairs.IDs = append(pairs.IDs, firstID+i)
	}
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{16, 16, 16}})
	must(t, err)
	defer builder.Close()
	must(t, builder.Add(pairs))
	must(t, builder.Write(context.Background(), path))
	info, err := sidbeam.Peek(path)
	must(t, err)
	return info.Fingerprint
}

func newService(t testing.TB, path string) (*service, *httptest.Server) {
	t.Helper()
	pool, err := newPool(path, limits{sessions: 2, histories: 3, beams: 8})
	must(t, err)
	s := &service{pool: pool}
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	return s, server
}

// answered is an answer as a client reads it.
type answered struct {
	Version string
	Items   [][]struct {
		ID    int64
		Score float32
	}
}

func ask(url, body string) (status int, text string, err error) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), err
}

// check says what is wrong with an answer: every item must be in the catalogue whose version it names.
func check(status int, text string, err error, firstID map[string]int64, k int) error {
	var got answered
	if err == nil {
		err = json.Unmarshal([]byte(text), &got)
	}
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("expected 200 and JSON, got %d %s %v", status, text, err)
	}
	first, known := firstID[got.Version]
	if !known || len(got.Items) != 2 {
		return fmt.Errorf("expected two lists of a version of ours, got %s", text)
	}
	for _, items := range got.Items {
		for i, item := range items {
			if item.ID < first || item.ID >= first+500 || (i > 0 && item.Score > items[i-1].Score) {
				return fmt.Errorf("expected ids of %d.. by score falling, got %s", first, text)
			}
		}
		if len(items) != k {
			return fmt.Errorf("expected %d items, got %s", k, text)
		}
	}
	return nil
}

func scrape(t testing.TB, url string) map[string]float64 {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	values := map[string]float64{}
	line := regexp.MustCompile(`^([a-z_]+(?:\{[a-z]+="[^"]*"\})?) (\S+)$`)
	for _, one := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		match := line.FindStringSubmatch(one)
		if match == nil {
			if !strings.HasPrefix(one, "# HELP ") && !strings.HasPrefix(one, "# TYPE ") {
				t.Errorf("metrics: a line that is none of Prometheus': %q", one)
			}
			continue
		}
		value, err := strconv.ParseFloat(match[2], 64)
		must(t, err)
		values[match[1]] = value
	}
	return values
}

// Clients that never stop, and an index that is replaced under them: no request fails, none sees half of an index.
func TestReloadsUnderLoad(t *testing.T) {
	const clients, reloads, k = 8, 20, 5
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	versions := [2]string{replace(t, path, 1000), ""}
	versions[1] = replace(t, path, 2000)
	firstID := map[string]int64{versions[0]: 1000, versions[1]: 2000}
	s, server := newService(t, path)
	first := s.pool.current.Load()

	var group sync.WaitGroup
	var served [clients]int
	done := make(chan struct{})
	for c := 0; c < clients; c++ {
		group.Add(1)
		go func(c int) {
			defer group.Done()
			random := rand.New(rand.NewSource(int64(c)))
			for {
				body := fmt.Sprintf(`{"histories": [[%d, %d], []], "k": %d}`, 1000+random.Intn(1500), 1000+random.Intn(1500), k)
				status, text, err := ask(server.URL+"/recommend", body)
				if err := check(status, text, err, firstID, k); err != nil {
					t.Error(err)
				}
				served[c]++
				select {
				case <-done:
					return
				default:
				}
			}
		}(c)
	}
	for r := 0; r < reloads; r++ {
		version := replace(t, path, []int64{1000, 2000}[r%2])
		status, text, err := ask(server.URL+"/reload", "")
		if err != nil || status != http.StatusOK || !strings.Contains(text, version) {
			t.Errorf("reload: expected 200 and %s, got %d %s %v", version, status, text, err)
		}
		// Answers after the reload are from the new index.
		status, text, err = ask(server.URL+"/recommend", `{"histories": [[1], [2]], "k": 5}`)
		if !strings.Contains(text, version) {
			t.Errorf("expected version %s, got %d %s %v", version, status, text, err)
		}
	}
	close(done)
	group.Wait()
	<-first.gone // and the old index is given back
	total := reloads
	for _, count := range served {
		total += count
	}
	checkMetrics(t, scrape(t, server.URL), total, reloads, versions[1])
}

func checkMetrics(t *testing.T, got map[string]float64, requests, reloads int, version string) {
	for name, want := range map[string]float64{
		"sidbeam_requests_total":                               float64(requests),
		"sidbeam_request_seconds_count":                        float64(requests),
		"sidbeam_request_errors_total":                         0,
		"sidbeam_legal_share":                                  1,
		"sidbeam_reloads_total":                                float64(reloads),
		"sidbeam_reload_errors_total":                          0,
		"sidbeam_index_items":                                  500,
		fmt.Sprintf("sidbeam_index_info{version=%q}", version): 1,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s: expected %v, got %v", name, want, value)
		}
	}
	p50, p90 := got[`sidbeam_request_seconds{quantile="0.50"}`], got[`sidbeam_request_seconds{quantile="0.90"}`]
	p99, sum := got[`sidbeam_request_seconds{quantile="0.99"}`], got["sidbeam_request_seconds_sum"]
	if p50 <= 0 || p50 > p90 || p90 > p99 || p99 > sum {
		t.Errorf("expected 0 < p50 <= p90 <= p99 <= sum, got %v %v %v %v", p50, p90, p99, sum)
	}
}

// atFirst is a context that does something when it is first waited for.
type atFirst struct {
	context.Context
	once *sync.Once
	do   func()
}

func (c atFirst) Done() <-chan struct{} {
	c.once.Do(c.do)
	return c.Context.Done()
}

// A request that has begun keeps its index; one that waits gets the next. The old index goes after its last request.
func TestGenerations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	p, err := newPool(path, limits{sessions: 2, histories: 1, beams: 4})
	must(t, err)
	old, first, err := p.acquire(context.Background())
	must(t, err)
	_, second, err := p.acquire(context.Background())
	must(t, err)
	replace(t, path, 2000)
	reload := func() { must(t, p.reload()) }
	next, third, err := p.acquire(atFirst{context.Background(), new(sync.Once), reload})
	if must(t, err); next == old || next != p.current.Load() {
		t.Errorf("a request that waited for the old index: expected the next one")
	}
	next.release(third)
	old.release(first)
	answers, _, _, err := second.recommend([][]int64{{0}}, 4)
	if must(t, err); len(answers[0]) != 4 || string(answers[0][0].ID) > "2000" {
		t.Errorf("a request that had begun: expected items of the old index, got %+v", answers[0])
	}
	select {
	case <-old.gone:
		t.Errorf("the old index is gone before its last request")
	default:
	}
	old.release(second)
	if <-old.gone; len(old.idle) != 0 {
		t.Errorf("%d closed workers are offered to requests", len(old.idle))
	}
	ended, end := context.WithCancel(context.Background())
	end()
	for _, w := range []*worker{<-next.idle, <-next.idle} {
		defer next.release(w)
	}
	if _, _, err := p.acquire(ended); err != context.Canceled {
		t.Errorf("a client that has gone: expected context.Canceled, got %v", err)
	}
}

func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	replace(t, path, 1000)
	_, server := newService(t, path)
	refusals := []struct {
		path, body string
		status     int
		text       string
	}{
		{"/recommend", `{"histories": [[1]], "k": `, 400, "the body is not what is expected"},
		{"/recommend", ``, 400, "the body is not what is expected"},
		{"/recommend", `{"histories": [[1]]} x`, 400, "more follows the object"},
		{"/recommend", `{"history": [1]}`, 400, `unknown field \"history\"`},
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
	if got := scrape(t, server.URL); got["sidbeam_request_errors_total"] != 13 || got["sidbeam_requests_total"] != 13 {
		t.Errorf("expected 13 requests that failed, got %v", got)
	}
	status, text, err := ask(server.URL+"/recommend", `{"histories": [[1000, "1001", 77]]}`)
	if err != nil || status != 200 || strings.Count(text, `"id"`) < 8 {
		t.Errorf("expected items, got %d %s %v", status, text, err)
	}
}

// A file that is not an index is refused, and the current index stays.
func TestReloadOfADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	version := replace(t, path, 1000)
	_, server := newService(t, path)
	must(t, os.WriteFile(path+".new", []byte("no index"), 0o600))
	must(t, os.Rename(path+".new", path))
	status, text, err := ask(server.URL+"/reload", "")
	if err != nil || status != http.StatusInternalServerError || !strings.Contains(text, "corrupt") {
		t.Errorf("reload: expected 500 and corrupt, got %d %s %v", status, text, err)
	}
	status, text, err = ask(server.URL+"/recommend", `{"histories": [[1]]}`)
	if err != nil || status != 200 || !strings.Contains(text, version) {
		t.Errorf("expected an answer of %s, got %d %s %v", version, status, text, err)
	}
	if got := scrape(t, server.URL); got["sidbeam_reload_errors_total"] != 1 || got["sidbeam_reloads_total"] != 0 {
		t.Errorf("expected one reload that failed, got %v", got)
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
	_, server := newService(t, path)
	status, text, err := ask(server.URL+"/recommend", `{"histories": [["hat"], ["shoe"]], "k": 8}`)
	var got struct{ Items [][]struct{ ID string } }
	if err != nil || status != 200 || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("expected items, got %d %s %v", status, text, err)
	}
	if len(got.Items[0]) != 4 || got.Items[0][0].ID != "hat" || got.Items[1][0].ID != `"sock"` ||
		got.Items[1][1].ID != "shoe" {
		t.Errorf("expected hat first of 4, then sock and shoe, got %s", text)
	}
}

// The program itself reloads on SIGHUP, and ends when its context does.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalogue.sidx")
	err := run(context.Background(), path, "127.0.0.1:0", limits{1, 1, 1}, nil)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("expected an error that names %s, got %v", path, err)
	}
	replace(t, path, 1000)
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- run(ctx, path, "127.0.0.1:0", limits{1, 1, 4}, ready) }()
	var url string
	select {
	case address := <-ready:
		url = "http://" + address
	case err := <-ended:
		t.Fatal(err)
	}
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
