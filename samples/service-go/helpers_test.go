// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sidbeam.io/sidbeam"
)

const testToken = "a-token-of-tests"

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

// testOptions are those of the model that tests/bindings/tiny_model.py wrote: tokens 0 .. 63.
func testOptions(t testing.TB, path string) options {
	folder := os.Getenv("SIDBEAM_MODEL")
	if folder == "" {
		t.Skip("SIDBEAM_MODEL is not set: the library was built without the runner")
	}
	t.Setenv(tokenVariable, testToken)
	return options{model: folder, draft: folder, index: path, vocabulary: sidbeam.Vocabulary{Offsets: []int64{0, 16, 32}},
		group: 1, beams: 8, histories: 3, prompt: 8, lanes: 2, queue: 64, listed: 300, whereBytes: 200, whereKept: 4}
}

func serve(t testing.TB, o options) (*service, *httptest.Server) {
	t.Helper()
	s, err := newService(o)
	must(t, err)
	server := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		server.Close()
		s.close()
	})
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
	return askWith(http.MethodPost, url, body, "Bearer "+testToken)
}

func askWith(method, url, body, authorization string) (status int, text string, err error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
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

// load has clients send requests, one after the other, until stop is called, which gives their number.
func load(t testing.TB, clients int, request func(random *rand.Rand) error) (stop func() int) {
	var group sync.WaitGroup
	served := make([]int, clients)
	done := make(chan struct{})
	for c := range served {
		group.Add(1)
		go func(c int) {
			defer group.Done()
			random := rand.New(rand.NewSource(int64(c)))
			for {
				if err := request(random); err != nil {
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
	return func() (total int) {
		close(done)
		group.Wait()
		for _, count := range served {
			total += count
		}
		return total
	}
}

// running starts the program, until stop is called; then it says how it ended.
func running(t testing.TB, o options) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready, end := make(chan string, 1), make(chan error, 1)
	go func() { end <- run(ctx, o, "127.0.0.1:0", ready) }()
	select {
	case address := <-ready:
		return "http://" + address, stop, end
	case err := <-end:
		t.Fatal(err)
		return "", stop, end
	}
}

// writePriced writes an index of pairs that have prices.
func writePriced(t testing.TB, path string, pairs sidbeam.Pairs, prices []int64) {
	t.Helper()
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{16, 16, 16}})
	must(t, err)
	defer builder.Close()
	must(t, builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	must(t, builder.Add(pairs))
	must(t, builder.SetAttribute("price", sidbeam.AttributeValues{Integers: prices}))
	must(t, builder.Write(context.Background(), path))
}
