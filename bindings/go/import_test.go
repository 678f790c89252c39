// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"sidbeam.io/sidbeam"
)

const field = "../../tests/bindings/field"

// importOptions reads fields of sidbeam_import_config.
func importOptions(t *testing.T, text string) sidbeam.ImportConfig {
	var config sidbeam.ImportConfig
	if text == "-" {
		return config
	}
	for _, option := range strings.Split(text, " ") {
		key, value, _ := strings.Cut(option, "=")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "quotes":
			config.Quotes = sidbeam.QuotesText
		case "sid_columns":
			config.SIDColumns = value
		case "item_column":
			config.ItemColumn = value
		case "token_pattern":
			config.TokenPattern = value
		case "variable_length":
			config.VariableLength = true
		case "token_base":
			config.TokenIDs, config.TokenBase = true, number
		case "codes":
			config.Codes = []int32{int32(number)}
		default:
			t.Fatalf("an option %q, expected one that this test knows", key)
		}
	}
	return config
}

// pairs are those of an index, as the table of cases has them.
func pairs(t *testing.T, index *sidbeam.Index) []string {
	t.Helper()
	info, err := index.Info()
	noError(t, err)
	var found []string
	for ordinal := int64(0); ordinal < info.SIDs; ordinal++ {
		sid, err := index.SID(ordinal)
		noError(t, err)
		lo, hi, err := index.ItemRows(ordinal)
		noError(t, err)
		for row := lo; row < hi; row++ {
			id := ""
			if info.IDType == sidbeam.IDString {
				names, err := index.ItemNames([]int64{row})
				noError(t, err)
				id = names[0]
			} else {
				ids, err := index.ItemIDs([]int64{row})
				noError(t, err)
				id = fmt.Sprint(ids[0])
			}
			found = append(found, id+": "+strings.Trim(fmt.Sprint(sid), "[]"))
		}
	}
	sort.Strings(found)
	return found
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Small catalogues as people have them, which every language imports.
func TestCatalogueFiles(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(field, "cases.txt"))
	noError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "\t")
		index, err := sidbeam.IndexFromFile(context.Background(), filepath.Join(field, parts[0]),
			importOptions(t, parts[1]), sidbeam.BuilderConfig{})
		if parts[2] == "error" {
			var failed *sidbeam.Error
			if !errors.As(err, &failed) || failed.Code != sidbeam.Corrupt {
				t.Errorf("%s: %v, expected Corrupt", line, err)
				continue
			}
			for _, piece := range parts[3:] {
				if !strings.Contains(failed.Message, piece) {
					t.Errorf("%s: %q, expected %q in it", parts[0], failed.Message, piece)
				}
			}
			continue
		}
		noError(t, err)
		sort.Strings(parts[3:])
		if got := pairs(t, index); strings.Join(got, "\n") != strings.Join(parts[3:], "\n") {
			t.Errorf("%s: got %q, expected %q", line, got, parts[3:])
		}
		noError(t, index.Close())
	}
}

func TestAddFile(t *testing.T) {
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{250, 120, 31}, IDType: sidbeam.IDString})
	noError(t, err)
	defer builder.Close()
	path := filepath.Join(field, "tokens_in_a_string.json")
	info, err := builder.AddFile(context.Background(), path, sidbeam.ImportConfig{})
	noError(t, err)
	if got := fmt.Sprint(info.Format, info.Rows, info.Families, info.BeginTokens, info.EndTokens, info.IDType); got !=
		"lcrec3 [<s_a_*> <s_b_*> <s_c_*>]<|sid_begin|><|sid_end|>string" {
		t.Errorf("got %s", got)
	}
	index, err := builder.Finish(context.Background())
	noError(t, err)
	defer index.Close()
	if got := pairs(t, index); strings.Join(got, ";") != "11: 249 119 30;12: 249 7 30;13: 0 7 1" {
		t.Errorf("got %q", got)
	}
	integers, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{9, 9, 9}})
	noError(t, err)
	defer integers.Close()
	if _, err := integers.AddFile(context.Background(), filepath.Join(field, "several_sids.jsonl"),
		sidbeam.ImportConfig{}); err == nil || !strings.Contains(err.Error(), "ids of the type string, expected i64") {
		t.Errorf("ids of another type: %v", err)
	}
}

func TestAddFileToALiveCatalogue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.jsonl")
	write := func(lines string) { noError(t, os.WriteFile(path, []byte(lines), 0o600)) }
	write(`{"id": 7, "sid": [1, 2], "weight": 2}` + "\n" + `{"id": 8, "sid": [3]}` + "\n")
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{4, 4}, VariableLength: true,
		IDType: sidbeam.IDString})
	noError(t, err)
	defer builder.Close()
	noError(t, builder.DeclareAttribute("weight", sidbeam.AttributeFloat32))
	noError(t, builder.Add(sidbeam.Pairs{Codes: []int32{0, 0}, Names: []string{"a"}}))
	base, err := builder.Finish(context.Background())
	noError(t, err)
	catalog, err := sidbeam.NewCatalog(base, "", sidbeam.CatalogConfig{})
	noError(t, err)
	info, err := catalog.AddFile(context.Background(), path, sidbeam.ImportConfig{Attributes: "weight"})
	noError(t, err)
	if info.Rows != 2 || info.IDType != sidbeam.IDString {
		t.Errorf("got %+v", info)
	}
	_, err = catalog.Publish()
	noError(t, err)
	_, err = catalog.Compact(context.Background(), sidbeam.CompactConfig{})
	noError(t, err)
	index, err := catalog.Snapshot(0)
	noError(t, err)
	if got := pairs(t, index); strings.Join(got, ";") != "7: 1 2;8: 3;a: 0 0" {
		t.Errorf("got %q", got)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := catalog.AddFile(cancelled, path, sidbeam.ImportConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected the context's error", err)
	}
	refused := func(what string, c *sidbeam.Catalog, config sidbeam.ImportConfig) {
		t.Helper()
		if _, err := c.AddFile(context.Background(), path, config); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, expected %q", err, what)
		}
	}
	refused("attributes: 'weight' is of the type i64, expected f32, as the catalogue has", catalog,
		sidbeam.ImportConfig{Attributes: "weight:i64"})
	write(`{"id": 7, "sid": [1, 4]}`)
	refused("code 4 at level 1, expected 0..3", catalog, sidbeam.ImportConfig{})
	refused("catalogue is null", &sidbeam.Catalog{}, sidbeam.ImportConfig{})
	if info, err := catalog.Info(); err != nil || info.Changes != 0 {
		t.Errorf("got %+v %v", info, err)
	}
	noError(t, catalog.Close())
	refused("catalogue is closed", catalog, sidbeam.ImportConfig{})
}

func TestImportIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(field, "several_sids.jsonl")
	if _, err := sidbeam.IndexFromFile(ctx, path, sidbeam.ImportConfig{}, sidbeam.BuilderConfig{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v, expected the context's error", err)
	}
	if _, err := sidbeam.IndexFromFile(context.Background(), path, sidbeam.ImportConfig{TokenIDs: true},
		sidbeam.BuilderConfig{}); err == nil || !strings.Contains(err.Error(), "token ids need codes") {
		t.Errorf("token ids without codes: %v", err)
	}
}
