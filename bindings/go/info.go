// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Info is what the header of an index says, and how far the rest was checked.
type Info struct {
	FormatMajor, FormatMinor int
	Levels                   int // L
	VariableLength           bool
	Shortest, Longest        int // codes of the shortest and the longest SID that is in it
	IDType                   IDType
	Kinds                    Kind
	Sections                 int
	SIDs, Items              int64 // distinct SIDs; item rows
	MergedPairs              int64 // identical (SID, item) pairs that were merged when it was built
	Collisions               int64 // SIDs with more than one item
	MaxItemsPerSID           int64
	FileBytes                int64
	Codes                    []int32 // [L] V_l, the end not counted
	MaxChildren              []int32 // [L] most continuations of a prefix of l codes, the end counted
	Nodes                    []int64 // [L] distinct prefixes of l+1 codes
	Fingerprint              string  // XXH3-128 of levels, codes, SIDs and items, in hexadecimal; not of kinds or metadata
	Verified                 Verify  // depth to which it was found sound; full after a Builder's Finish, header after Peek

	// Of a version of a live Catalog, whose SIDs and Items count those that have gone too. Otherwise 0, 0 and Items.
	Version, Generation, LiveItems int64

	metadata int
}

// Peek reads and checks the header of a file, nothing else. Errors: as Open.
func Peek(path string) (*Info, error) {
	if err := firstError(checkABI(), cText("path", path)); err != nil {
		return nil, err
	}
	return readInfo(func(numbers []int64, fingerprint []byte, f *failure) {
		native.Flat_index_peek(path, numbers, fingerprint, f.bytes())
	})
}

// Info gives what the header of the index says.
func (x *Index) Info() (*Info, error) {
	return readInfo(func(numbers []int64, fingerprint []byte, f *failure) {
		native.Flat_index_get_info(rawOf(x), numbers, fingerprint, f.bytes())
		runtime.KeepAlive(x)
	})
}

func readInfo(call func(numbers []int64, fingerprint []byte, f *failure)) (*Info, error) {
	numbers, fingerprint := make([]int64, native.FLAT_INFO_COUNT), make([]byte, 32)
	f := newFailure()
	call(numbers, fingerprint, f)
	if err := f.done(); err != nil {
		return nil, err
	}
	info := &Info{
		FormatMajor:    int(numbers[native.FLAT_INFO_FORMAT_MAJOR]),
		FormatMinor:    int(numbers[native.FLAT_INFO_FORMAT_MINOR]),
		Levels:         int(numbers[native.FLAT_INFO_LEVELS]),
		VariableLength: numbers[native.FLAT_INFO_VARIABLE_LENGTH] != 0,
		Shortest:       int(numbers[native.FLAT_INFO_SHORTEST]),
		Longest:        int(numbers[native.FLAT_INFO_LONGEST]),
		IDType:         IDType(numbers[native.FLAT_INFO_ID_TYPE]),
		Kinds:          Kind(numbers[native.FLAT_INFO_KINDS]),
		Sections:       int(numbers[native.FLAT_INFO_SECTION_COUNT]),
		SIDs:           numbers[native.FLAT_INFO_SIDS],
		Items:          numbers[native.FLAT_INFO_ITEMS],
		MergedPairs:    numbers[native.FLAT_INFO_MERGED_PAIRS],
		Collisions:     numbers[native.FLAT_INFO_COLLISIONS],
		MaxItemsPerSID: numbers[native.FLAT_INFO_MAX_ITEMS_PER_SID],
		FileBytes:      numbers[native.FLAT_INFO_FILE_BYTES],
		Fingerprint:    string(fingerprint),
		Verified:       Verify(numbers[native.FLAT_INFO_VERIFIED]),
		Version:        numbers[native.FLAT_INFO_VERSION],
		Generation:     numbers[native.FLAT_INFO_GENERATION],
		LiveItems:      numbers[native.FLAT_INFO_LIVE_ITEMS],
		metadata:       int(numbers[native.FLAT_INFO_METADATA_COUNT]),
	}
	for l := 0; l < info.Levels; l++ {
		info.Codes = append(info.Codes, int32(numbers[native.FLAT_INFO_CODES+l]))
		info.MaxChildren = append(info.MaxChildren, int32(numbers[native.FLAT_INFO_MAX_CHILDREN+l]))
		info.Nodes = append(info.Nodes, numbers[native.FLAT_INFO_NODES+l])
	}
	return info, nil
}

// header is what was read when the index was opened; it is empty for an Index that nobody opened.
func (x *Index) header() *Info {
	if x == nil || x.info == nil {
		return new(Info)
	}
	return x.info
}

// Section is a part of an index file.
type Section struct {
	Kind, Encoding string // "tokens", "row_pointers" ...; "u16", "u32", "u64", "bits" ...
	Level          int    // -1 where it belongs to no level
	Offset, Bytes  int64
	Checksum       uint64 // XXH3-64
}

// Sections lists the parts of the file, in its order.
func (x *Index) Sections() ([]Section, error) {
	info, err := x.Info()
	if err != nil {
		return nil, err
	}
	return readSections(info.Sections, func(i int, numbers []int64, kind, encoding []byte, f *failure) {
		native.Flat_index_get_section(rawOf(x), int64(i), numbers, kind, encoding, f.bytes())
		runtime.KeepAlive(x)
	})
}

func readSections(count int, call func(i int, numbers []int64, kind, encoding []byte, f *failure)) ([]Section, error) {
	sections := make([]Section, count)
	for i := range sections {
		var numbers [4]int64
		kind, encoding := make([]byte, 64), make([]byte, 64)
		f := newFailure()
		call(i, numbers[:], kind, encoding, f)
		if err := f.done(); err != nil {
			return nil, err
		}
		sections[i] = Section{cString(kind), cString(encoding), int(numbers[0]), numbers[1], numbers[2], uint64(numbers[3])}
	}
	return sections, nil
}

// Metadata gives the keys and values that the builder was given.
func (x *Index) Metadata() (map[string]string, error) {
	info, err := x.Info()
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{}
	for i := 0; i < info.metadata; i++ {
		var lengths [2]int64
		read := func(key, value []byte) error {
			f := newFailure()
			native.Flat_index_get_metadata(rawOf(x), int64(i), lengths[:], key, value, f.bytes())
			runtime.KeepAlive(x)
			return f.done()
		}
		if err := read(nil, nil); err != nil {
			return nil, err
		}
		key, value := make([]byte, lengths[0]), make([]byte, lengths[1])
		if err := read(key, value); err != nil {
			return nil, err
		}
		metadata[string(key)] = string(value)
	}
	return metadata, nil
}

// Codebook is the codebook text that the builder was given; "" where there was none.
func (x *Index) Codebook() (string, error) {
	read := func(text []byte) (int64, error) {
		f := newFailure()
		bytes := native.Flat_index_codebook(rawOf(x), text, f.bytes())
		runtime.KeepAlive(x)
		return bytes, f.done()
	}
	bytes, err := read(nil)
	if err != nil {
		return "", err
	}
	text := make([]byte, bytes)
	_, err = read(text)
	return string(text), err
}
