// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"bufio"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// record is one of tests/bindings' shared cases: see make_cases.cc there for what each holds.
type record struct {
	kind   string
	fields map[string][]string
	types  map[string]string
}

// readCases reads the file that $SIDBEAM_CASES names; test.sh sets it.
func readCases(t testing.TB) []record {
	path := os.Getenv("SIDBEAM_CASES")
	if path == "" {
		t.Skip("SIDBEAM_CASES names no file of shared cases (bindings/go/test.sh sets it)")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var records []record
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		words := strings.Split(lines.Text(), " ")
		name, values := words[0], words[3:]
		if count, err := strconv.Atoi(words[2]); err != nil || count != len(values) {
			t.Fatalf("%s: %s: expected %s values, got %d", path, name, words[2], len(values))
		}
		if name == "record" {
			records = append(records, record{values[0], map[string][]string{}, map[string]string{}})
			continue
		}
		last := records[len(records)-1]
		last.fields[name], last.types[name] = values, words[1]
	}
	if lines.Err() != nil || len(records) == 0 {
		t.Fatalf("%s: %d records, %v", path, len(records), lines.Err())
	}
	return records
}

// numbers gives a field as T, nil where it is absent; floats are bits.
func numbers[T int32 | int64 | uint16 | uint32](t testing.TB, r record, name string) []T {
	values, given := r.fields[name]
	if !given {
		return nil
	}
	out := make([]T, len(values))
	for i, value := range values {
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatalf("%s.%s[%d]: %v", r.kind, name, i, err)
		}
		out[i] = T(number)
	}
	return out
}

func one(t testing.TB, r record, name string) int {
	values := numbers[int64](t, r, name)
	if len(values) != 1 {
		t.Fatalf("%s.%s: expected one value, got %v", r.kind, name, values)
	}
	return int(values[0])
}

func (r record) has(name string) bool { _, given := r.fields[name]; return given }

func texts(t testing.TB, r record, name string) []string {
	values, given := r.fields[name]
	if !given {
		return nil
	}
	out := make([]string, len(values))
	for i, value := range values {
		text, err := url.PathUnescape(value)
		if err != nil {
			t.Fatalf("%s.%s[%d]: %v", r.kind, name, i, err)
		}
		out[i] = text
	}
	return out
}
