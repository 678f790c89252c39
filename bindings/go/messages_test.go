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
		"config.head is NULL, expected one":                    "head is nil, expected one",
		"expected 5, config.beams, or config.%s":               "expected 5, beams, or %s",
		"rows.columns is 3, hidden.data is NULL":               "the number of columns of logits is 3, hidden is nil",
		"args.draft_count is 1 (request.sampling.seeds)":       "the number of drafts is 1 (seeds)",
		"'/srv/config.d/rows.columns' has no config.json":      "'/srv/config.d/rows.columns' has no config.json",
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

// What only C says; names of environment variables and files apart.
var wordsOfC = regexp.MustCompile(`\b(?:config|model_config|args|rows|request|sampling|hidden)\.[\w%]+|\bNULL\b|` +
	`\bSIDBEAM_[A-Z_]+|\bsidbeam_\w+\(`)
var everybodys = regexp.MustCompile(`\.(?:json|npy|cc)$|SIDBEAM_(?:CATALOGUES|(?:RUNNER_)?CUDA_LIBRARY|CUDA_PDL)`)

func wordOfC(message string) string {
	for _, word := range wordsOfC.FindAllString(message, -1) {
		if !everybodys.MatchString(word) {
			return word
		}
	}
	return ""
}

// eachText calls with the strings of the sources in a folder, those beside each other as one.
func eachText(t *testing.T, folder string, suffixes string, call func(path, text string)) {
	t.Helper()
	texts := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*`)
	pieces := regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"`)
	includes := regexp.MustCompile(`(?m)^\s*#include.*$`)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(suffixes, filepath.Ext(path)+" ") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, text := range texts.FindAllString(includes.ReplaceAllString(string(source), ""), -1) {
			whole := ""
			for _, piece := range pieces.FindAllStringSubmatch(text, -1) {
				whole += piece[1]
			}
			call(path, strings.ReplaceAll(whole, `\"`, `"`))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every text in the library's sources that may be a message.
func TestEveryMessageIsInGo(t *testing.T) {
	if _, err := os.Stat("../../runtime"); err != nil {
		t.Skip("the library's sources are not beside the package")
	}
	seen := 0
	for _, folder := range []string{"../../runtime", "../flat", "../import"} {
		eachText(t, folder, ".cc .cu .cuh .h ", func(path, text string) {
			if wordOfC(text) == "" {
				return
			}
			seen++
			if left := wordOfC(inGo(text)); left != "" {
				t.Errorf("%s: %q leaves %q in %q", path, text, left, inGo(text))
			}
		})
	}
	if seen < 300 {
		t.Errorf("%d messages have words of C, expected 300 or more", seen)
	}
}

// And those of the package itself.
func TestThePackageHasNoWordsOfC(t *testing.T) {
	eachText(t, ".", ".go ", func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal") {
			return
		}
		if left := wordOfC(text); left != "" {
			t.Errorf("%s: %q in %q", path, left, text)
		}
	})
}
