// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// InGo is for tests outside of the package.
var InGo = inGo

func TestMessagesInGo(t *testing.T) {
	for c, want := range map[string]string{
		"config.head is NULL, expected one":                    "config.head is nil, expected one",
		"strategy is SIDBEAM_STRATEGY_SORTED_TOPK, expected":   "strategy is StrategySortedTopK, expected",
		"kinds is 99, expected SIDBEAM_KIND_* or'ed (0 to 15)": "kinds is 99, expected Kind or'ed (0 to 15)",
		"id_type is SIDBEAM_ID_I64 (SIDBEAM_ID_U64)":           "id_type is IDInt64 (IDUint64)",
		"expected sidbeam_index_upload() before":               "expected Index.Upload before",
		"the plugin that SIDBEAM_CUDA_LIBRARY names":           "the plugin that SIDBEAM_CUDA_LIBRARY names",
		"cannot open '/srv/NULL/SIDBEAM_ID_I64.sidx'":          "cannot open '/srv/NULL/SIDBEAM_ID_I64.sidx'",
	} {
		if got := inGo(c); got != want {
			t.Errorf("%q: expected %q, got %q", c, want, got)
		}
	}
}

// Every text in the library's sources that may be a message.
func TestEveryMessageIsInGo(t *testing.T) {
	if _, err := os.Stat("../../runtime"); err != nil {
		t.Skip("the library's sources are not beside the package")
	}
	literals := regexp.MustCompile(`(?m)^[^#\n]*"((?:[^"\\\n]|\\.)*)"`)
	words := regexp.MustCompile(`\bNULL\b|SIDBEAM_[A-Z_]+|sidbeam_\w+\(\)`)
	ours := regexp.MustCompile(`SIDBEAM_(?:RUNNER_)?CUDA_|SIDBEAM_CUDA\b`)
	seen := 0
	check := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".cc") && !strings.HasSuffix(path, ".h") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, literal := range literals.FindAllStringSubmatch(string(text), -1) {
			message := literal[1]
			if !strings.Contains(message, "expected") || !words.MatchString(message) {
				continue
			}
			seen++
			if left := words.FindString(ours.ReplaceAllString(inGo(message), "")); left != "" {
				t.Errorf("%s: %q leaves %q in %q", path, message, left, inGo(message))
			}
		}
		return err
	}
	for _, folder := range []string{"../../runtime", "../flat", "../import"} {
		if err := filepath.WalkDir(folder, check); err != nil {
			t.Fatal(err)
		}
	}
	if seen < 40 {
		t.Errorf("%d messages have words of C, expected 40 or more", seen)
	}
}
