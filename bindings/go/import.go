// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Quotes says what quotes in CSV are.
type Quotes int32

// Quotes of CSV: told by the file, those of RFC 4180, or text like any other.
const (
	QuotesAuto Quotes = iota
	QuotesRFC4180
	QuotesText
)

// String is the name, as the command's --quotes has it.
func (q Quotes) String() string { return name(int32(q), "auto", "rfc4180", "text") }

// ImportConfig says what a catalogue file holds where it does not say so itself; the zero value asks for what the file
// says. sidbeam/import.h describes the formats.
type ImportConfig struct {
	Levels         int     // codes of a SID (of the longest one); 0: from the file
	Codes          []int32 // of each level, or one number for all; nil: as many as occur
	VariableLength bool    // SIDs of different lengths
	Format         string  // "lcrec", "records", "jsonl", "csv", "npy", "npz", "raw" or "xllm"; "": by content
	IDs            string  // file of the ids of npy and raw rows
	ItemColumn     string  // field, column or array of the item's id, in CSV without names its number; "": a usual name
	SIDColumns     string  // the same of the SID; "c0,c1,c2" is a column per level
	PriorityColumn string  // the same of the item's priority
	TokenPattern   string  // families, as "<a_*> <b_*>", or one for all, as "<s{level}_*>"; "": found
	TokenIDs       bool    // numbers are token ids, a range of Codes per level
	TokenBase      int64   // with TokenIDs: the first id of level 0
	Quotes         Quotes  // of CSV
	Attributes     string  // fields or columns that are attributes, with types or without: "price,region:string"
}

// ImportInfo is what was seen in a catalogue file.
type ImportInfo struct {
	Format         string
	Summary        string   // "3 levels, families <a_*> <b_*> <c_*>, 10,310 items": one line for people
	Codes          []int32  // of each level
	Families       []string // of each level's tokens, * for the code; "*": plain numbers
	BeginTokens    string   // of every SID, separated by spaces
	EndTokens      string
	Rows           int64 // (SID, item) pairs
	VariableLength bool
	IDType         IDType
	CodesFromData  bool // Codes are 1 + the largest of the file
}

// IndexFromFile builds an index in memory of a catalogue file: JSON objects and lists, JSON lines, CSV and TSV, .npy
// and .npz, told by their content. Of build, Codes, VariableLength and IDType are the file's. The families of its
// tokens are in the index's metadata. Errors: those of Builder.AddFile and Builder.Finish.
func IndexFromFile(ctx context.Context, path string, config ImportConfig, build BuilderConfig) (*Index, error) {
	file, err := openImport(ctx, path, config, false, nil)
	if err != nil {
		return nil, err
	}
	defer file.handle.close()
	info, err := file.info()
	if err != nil {
		return nil, err
	}
	build.Codes, build.VariableLength, build.IDType = info.Codes, info.VariableLength, info.IDType
	builder, err := NewBuilder(build)
	if err != nil {
		return nil, err
	}
	defer builder.Close()
	if err := file.addTo(ctx, builder); err != nil {
		return nil, err
	}
	return builder.Finish(ctx)
}

// AddFile adds all pairs of a catalogue file and says what was seen in it. Levels, codes and lengths are the builder's.
// Ids of a builder of IDString may be integers in the file; otherwise their type must be the builder's. Errors:
// InvalidArgument (config, another type of ids), Corrupt (a row that is no catalogue's: file, line, item, what was
// expected), Unsupported (Parquet and its like, or no libsidbeam_import.so.1), IOError, Cancelled, OutOfMemory; then
// some of the pairs may have been added, and the builder is to be closed.
func (b *Builder) AddFile(ctx context.Context, path string, config ImportConfig) (*ImportInfo, error) {
	if err := made("builder", b); err != nil {
		return nil, err
	}
	config.Levels, config.Codes, config.VariableLength = b.levels, b.codes, b.variable
	file, err := openImport(ctx, path, config, b.idType == IDString, nil)
	if err != nil {
		return nil, err
	}
	defer file.handle.close()
	if err := file.addTo(ctx, b); err != nil {
		return nil, err
	}
	return file.info()
}

// AddFile adds all pairs of a catalogue file, to be published, and says what was seen in it. Codes, lengths and the
// type of ids are the catalogue's, and so are the types of attributes; where its base was built of tokens, the file's
// must be of the same families. Where no record has a priority, pairs that are live keep theirs. Errors:
// InvalidArgument (config), Corrupt (a row that is no catalogue's, or not this one's: file, line, item, what was
// expected), BadState (a catalogue that follows), Unsupported (Parquet and its like, or no libsidbeam_import.so.1),
// IOError, Cancelled, OutOfMemory; then some of the pairs may have been added: see Discard.
func (c *Catalog) AddFile(ctx context.Context, path string, config ImportConfig) (*ImportInfo, error) {
	if err := made("catalogue", c); err != nil {
		return nil, err
	}
	file, err := openImport(ctx, path, config, false, c)
	if err != nil {
		return nil, err
	}
	defer file.handle.close()
	err = file.cancellable(ctx, func(f *failure) {
		native.Flat_import_add_to_catalog(rawOf(file), rawOf(c), f.bytes())
	})
	runtime.KeepAlive(c)
	if err != nil {
		return nil, err
	}
	return file.info()
}

// importFile is a file that has been surveyed.
type importFile struct{ handle *handle }

// openImport surveys a file, whose form is that of a live catalogue where it is for one.
func openImport(ctx context.Context, path string, c ImportConfig, textIDs bool, live *Catalog) (*importFile, error) {
	if err := firstError(checkABI(), cText("path", path), cText("Format", c.Format), cText("IDs", c.IDs),
		cText("ItemColumn", c.ItemColumn), cText("SIDColumns", c.SIDColumns), cText("PriorityColumn", c.PriorityColumn),
		cText("TokenPattern", c.TokenPattern), cText("Attributes", c.Attributes)); err != nil {
		return nil, err
	}
	base := int64(-1)
	if c.TokenIDs {
		base = c.TokenBase
		if base < 0 {
			return nil, invalid("TokenBase is %d, expected a token id", base)
		}
	}
	var catalog uintptr
	if live != nil {
		catalog = rawOf(live)
	}
	file := &importFile{handle: newHandle(native.Flat_import_create())}
	err := file.cancellable(ctx, func(f *failure) {
		native.Flat_import_open(rawOf(file), path, saturate(c.Levels), c.Codes, flag(c.VariableLength), c.Format,
			c.IDs, c.ItemColumn, c.SIDColumns, c.PriorityColumn, c.TokenPattern, base, int(c.Quotes), flag(textIDs),
			c.Attributes, catalog, f.bytes())
	})
	runtime.KeepAlive(live)
	if err != nil {
		file.handle.close()
		return nil, err
	}
	return file, nil
}

func (i *importFile) addTo(ctx context.Context, b *Builder) error {
	err := i.cancellable(ctx, func(f *failure) {
		native.Flat_import_add_to(rawOf(i), rawOf(b), f.bytes())
	})
	runtime.KeepAlive(b)
	return err
}

func (i *importFile) cancellable(ctx context.Context, call func(f *failure)) error {
	return cancellable(ctx, i.handle, call)
}

func (i *importFile) info() (*ImportInfo, error) {
	numbers, codes := make([]int64, native.FLAT_IMPORT_COUNT), make([]int32, MaxLevels)
	f := newFailure()
	native.Flat_import_get_info(rawOf(i), numbers, codes, f.bytes())
	runtime.KeepAlive(i)
	if err := f.done(); err != nil {
		return nil, err
	}
	info := &ImportInfo{
		Codes:          codes[:numbers[native.FLAT_IMPORT_LEVELS]],
		Rows:           numbers[native.FLAT_IMPORT_ROWS],
		VariableLength: numbers[native.FLAT_IMPORT_VARIABLE_LENGTH] != 0,
		IDType:         IDType(numbers[native.FLAT_IMPORT_ID_TYPE]),
		CodesFromData:  numbers[native.FLAT_IMPORT_CODES_FROM_DATA] != 0,
		Families:       make([]string, numbers[native.FLAT_IMPORT_LEVELS]),
	}
	texts := map[int]*string{native.FLAT_IMPORT_FORMAT: &info.Format, native.FLAT_IMPORT_SUMMARY: &info.Summary,
		native.FLAT_IMPORT_BEGIN_TOKENS: &info.BeginTokens, native.FLAT_IMPORT_END_TOKENS: &info.EndTokens}
	for level := range info.Families {
		texts[native.FLAT_IMPORT_FAMILY+level] = &info.Families[level]
	}
	for which, text := range texts {
		bytes := make([]byte, native.Flat_import_text(rawOf(i), which, nil, f.bytes()))
		native.Flat_import_text(rawOf(i), which, bytes, f.bytes())
		*text = string(bytes)
	}
	runtime.KeepAlive(i)
	return info, f.done()
}
