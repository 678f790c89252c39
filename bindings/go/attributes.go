// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// AttributeType says what an attribute of the items holds.
type AttributeType int32

// Types of attributes.
const (
	AttributeInt64      AttributeType = 1
	AttributeFloat32    AttributeType = 2 // never NaN
	AttributeBool       AttributeType = 3
	AttributeString     AttributeType = 4
	AttributeStringList AttributeType = 5 // distinct strings in an order
)

// String is the name, as the command's --attributes has it.
func (a AttributeType) String() string {
	return name(int32(a), "none", "i64", "f32", "bool", "string", "strings")
}

// AttributeValues are values of one attribute for the pairs of an Add; one of the slices is given, that of its type.
type AttributeValues struct {
	Valid    []bool // [N] whether there is a value; nil: all
	Integers []int64
	Numbers  []float32
	Bools    []bool
	Strings  []string
	Lists    [][]string
}

// DeclareAttribute declares an attribute before the first pairs. One that is declared already, of the same type, stays
// as it is. Errors: InvalidArgument (name, type), BadState after an Add.
func (b *Builder) DeclareAttribute(name string, kind AttributeType) error {
	if err := cText("name", name); err != nil {
		return err
	}
	f := newFailure()
	native.Flat_builder_declare_attribute(rawOf(b), name, int(kind), f.bytes())
	runtime.KeepAlive(b)
	return f.done()
}

// SetAttribute gives the pairs of the last Add the values of an attribute. Pairs that are given none are null. Where
// identical pairs merge, null gives way to a value, and values that differ make Plan, Write and Finish fail.
// Errors: InvalidArgument with attribute and row (NaN, text that is not UTF-8, another number of values).
func (b *Builder) SetAttribute(name string, values AttributeValues) error {
	if err := cText("name", name); err != nil {
		return err
	}
	v := values.native()
	f := newFailure()
	native.Flat_builder_set_attribute(rawOf(b), name, v.count, v.valid, v.integers, v.numbers, v.bools, v.text,
		v.offsets, v.lists, nil, f.bytes())
	runtime.KeepAlive(b)
	return f.done()
}

// nativeValues are AttributeValues as C has them.
type nativeValues struct {
	count              int64
	valid, bools, text []byte
	integers           []int64
	numbers            []float32
	offsets, lists     []int64
}

func (v *AttributeValues) native() nativeValues {
	out := nativeValues{valid: flags(v.Valid), bools: flags(v.Bools), integers: v.Integers, numbers: v.Numbers}
	out.count = int64(len(v.Integers) + len(v.Numbers) + len(v.Bools) + len(v.Strings) + len(v.Lists))
	if v.Lists != nil {
		var all []string
		out.lists = make([]int64, 1, len(v.Lists)+1)
		for _, list := range v.Lists {
			all = append(all, list...)
			out.lists = append(out.lists, int64(len(all)))
		}
		out.text, out.offsets = join(all)
	} else if v.Strings != nil {
		out.text, out.offsets = join(v.Strings)
	}
	return out
}

func flags(bools []bool) []byte {
	if bools == nil {
		return nil
	}
	bytes := make([]byte, len(bools))
	for i, b := range bools {
		bytes[i] = byte(flag(b))
	}
	return bytes
}

// Attribute is a column of values by item row. It holds its index.
type Attribute struct {
	Name                        string
	Type                        AttributeType
	Nulls                       int64   // rows without a value
	Distinct                    int64   // different values, of lists the strings in them; -1 for numbers: not counted
	Least, Greatest             int64   // of AttributeInt64 and AttributeBool; 0 where there are none
	LeastNumber, GreatestNumber float32 // of AttributeFloat32
	index                       *Index
	number                      int64
}

// Attributes gives the index's attributes, sorted by name.
func (x *Index) Attributes() ([]*Attribute, error) {
	f := newFailure()
	all := make([]*Attribute, native.Flat_index_attribute_count(rawOf(x), f.bytes()))
	numbers, bounds := make([]int64, native.FLAT_ATTRIBUTE_COUNT), make([]float32, 2)
	for i := range all {
		name := make([]byte, native.Flat_index_get_attribute(rawOf(x), int64(i), numbers, bounds, nil, f.bytes()))
		native.Flat_index_get_attribute(rawOf(x), int64(i), numbers, bounds, name, f.bytes())
		all[i] = &Attribute{
			Name:           string(name),
			Type:           AttributeType(numbers[native.FLAT_ATTRIBUTE_TYPE]),
			Nulls:          numbers[native.FLAT_ATTRIBUTE_NULLS],
			Distinct:       numbers[native.FLAT_ATTRIBUTE_DISTINCT],
			Least:          numbers[native.FLAT_ATTRIBUTE_LEAST],
			Greatest:       numbers[native.FLAT_ATTRIBUTE_GREATEST],
			LeastNumber:    bounds[0],
			GreatestNumber: bounds[1],
			index:          x,
			number:         int64(i),
		}
	}
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	return all, nil
}

// Integers gives the values of count item rows from row on and which of them there are: of AttributeInt64, of
// AttributeBool as 0 and 1, and of AttributeString codes, the numbers of its strings. Errors: InvalidArgument.
func (a *Attribute) Integers(row, count int64) (values []int64, valid []bool, err error) {
	err = a.read(count, func(there []byte, f *failure) {
		values = make([]int64, len(there))
		native.Flat_index_attribute_integers(rawOf(a.index), a.number, row, count, values, there, f.bytes())
	}, &valid)
	return values, valid, err
}

// Numbers gives those of AttributeFloat32.
func (a *Attribute) Numbers(row, count int64) (values []float32, valid []bool, err error) {
	err = a.read(count, func(there []byte, f *failure) {
		values = make([]float32, len(there))
		native.Flat_index_attribute_numbers(rawOf(a.index), a.number, row, count, values, there, f.bytes())
	}, &valid)
	return values, valid, err
}

// Lists gives the codes of AttributeStringList: those of row + i are codes[offsets[i]:offsets[i+1]].
func (a *Attribute) Lists(row, count int64) (offsets, codes []int64, valid []bool, err error) {
	err = a.read(count, func(there []byte, f *failure) {
		offsets = make([]int64, len(there)+1)
		native.Flat_index_attribute_lists(rawOf(a.index), a.number, row, count, offsets, nil, there, f.bytes())
		codes = make([]int64, offsets[len(there)])
		if f.code == 0 && len(codes) > 0 {
			native.Flat_index_attribute_lists(rawOf(a.index), a.number, row, count, offsets, codes, there, f.bytes())
		}
	}, &valid)
	return offsets, codes, valid, err
}

// made refuses one that is not of Attributes.
func (a *Attribute) made() error {
	if a == nil || a.index == nil {
		return invalid("attribute is null, expected one of Index.Attributes")
	}
	return nil
}

func (a *Attribute) read(count int64, call func(there []byte, f *failure), valid *[]bool) error {
	if err := a.made(); err != nil {
		return err
	}
	if count < 0 {
		return invalid("count is %d, expected 0 or more", count)
	}
	there, f := make([]byte, count), newFailure()
	call(there, f)
	runtime.KeepAlive(a.index)
	*valid = make([]bool, count)
	for i, b := range there {
		(*valid)[i] = b != 0
	}
	return f.done()
}

// Strings gives the distinct strings of AttributeString and AttributeStringList, sorted by bytes (of a version of a
// live catalogue those of its base, and behind them what came since, sorted too); codes are their numbers.
func (a *Attribute) Strings() ([]string, error) {
	if err := a.made(); err != nil {
		return nil, err
	}
	if a.Type < AttributeString {
		return nil, nil
	}
	f := newFailure()
	offsets := make([]int64, a.Distinct+1)
	text := make([]byte, native.Flat_index_attribute_strings(rawOf(a.index), a.number, 0, a.Distinct, offsets, nil,
		f.bytes()))
	native.Flat_index_attribute_strings(rawOf(a.index), a.number, 0, a.Distinct, offsets, text, f.bytes())
	runtime.KeepAlive(a.index)
	if err := f.done(); err != nil {
		return nil, err
	}
	all := make([]string, a.Distinct)
	for i := range all {
		all[i] = string(text[offsets[i]:offsets[i+1]])
	}
	return all, nil
}
