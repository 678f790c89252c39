// SPDX-License-Identifier: Apache-2.0

package sidbeam

import "math"

// Broadcast is the stride of entries that are all the same: all beams of a slot, or all slots, read the same logits
// row.
const Broadcast = math.MinInt64

// Rows are logits rows, or rows of log-probabilities, read in place: exactly one of F32, F16, BF16 is given.
//
//	Slots > 0  [Slots, Rows, Columns]: beam m of the i-th slot of the call has the logits row (i, m); a slot that has
//	           only just started reads that of beam 0 alone
//	Slots = 0  [Rows, Columns], and the call has a row map that names each beam's logits row
//
// Element (i, r, c) is at i*SlotStride + r*RowStride + c, in elements. Strides of 0 are dense: Columns, and
// Rows*RowStride.
type Rows struct {
	F32                   []float32
	F16, BF16             []uint16 // the elements' bits
	Device                Device   // where the slice lies (see DeviceSlice)
	Slots, Rows, Columns  int
	SlotStride, RowStride int
}

// memory gives the elements' address, as a slice of bytes whose length means nothing, their number and type.
func (r *Rows) memory() (address []byte, elements int64, dtype DType, err error) {
	given := 0
	if r.F32 != nil {
		address, elements, dtype, given = reinterpret[byte](r.F32), int64(len(r.F32)), F32, given+1
	}
	if r.F16 != nil {
		address, elements, dtype, given = reinterpret[byte](r.F16), int64(len(r.F16)), F16, given+1
	}
	if r.BF16 != nil {
		address, elements, dtype, given = reinterpret[byte](r.BF16), int64(len(r.BF16)), BF16, given+1
	}
	if given > 1 {
		err = invalid("Rows has %d of F32, F16, BF16, expected one", given)
	}
	return address, elements, dtype, err
}

// Vocabulary says which column of a logits row a code has: code t of level l is column Offsets[l] + t, or Maps[l][t]
// where that level has a map. Levels may share columns.
type Vocabulary struct {
	Offsets   []int64   // [L]; nil: all 0
	Maps      [][]int32 // [L], each nil or [V_l] columns; nil: no maps
	HasEnd    bool      // an index of variable length needs an end, others do not read it
	EndColumn int64     // the column that ends a SID, where there is one
}

// flat gives the maps one after the other, and how many codes each covers.
func (v *Vocabulary) flat() (offsets []int64, maps []int32, mapCodes []int64, end int64) {
	if v == nil {
		return nil, nil, nil, -1
	}
	if v.Maps != nil {
		maps, mapCodes = []int32{}, make([]int64, len(v.Maps))
		for l, columns := range v.Maps {
			maps, mapCodes[l] = append(maps, columns...), int64(len(columns))
		}
	}
	end = -1
	if v.HasEnd {
		end = v.EndColumn
	}
	return v.Offsets, maps, mapCodes, end
}
