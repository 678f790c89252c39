"""Item rows as hosts have them: masks of booleans, packed bits, Roaring bitmaps. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from .arrays import from_dlpack, plain_array
from .checks import kind_of
from .errors import InvalidArgument, WrongType

RowSet = tuple[int, Any, int]  #: encoding, bytes, the bit of row 0


def row_set(mask: Any, bits: bool, items: int) -> RowSet:
    """What the native layer takes for the rows of an index of so many."""
    if bits:
        return _native.SIDBEAM_ROWS_BITS, _packed(mask), 0
    if isinstance(mask, (bytes, bytearray, memoryview)):
        return _native.SIDBEAM_ROWS_ROARING, mask, 0
    if type(mask).__module__.partition(".")[0] == "pyarrow":
        return _of_arrow(mask, items)
    array = _booleans(mask)
    _expect(len(array), items)
    return _native.SIDBEAM_ROWS_BYTES, np.ascontiguousarray(array).view(np.uint8), 0


def _expect(count: int, items: int) -> None:
    if count != items:
        raise InvalidArgument(f"mask has {count} entries, expected {items}, one per item row")


def _refuse(kind: str) -> WrongType:
    return WrongType(
        f"mask is of {kind}, expected booleans, one per item row: ids= and rows= take lists, bits=True packed bits"
    )


def _packed(mask: Any) -> np.ndarray:
    """As of np.packbits(.., bitorder="little")."""
    if isinstance(mask, (bytes, bytearray, memoryview)):
        return np.frombuffer(mask, np.uint8)
    array = plain_array(mask, "mask")
    if array.dtype != np.uint8 or array.ndim != 1:
        raise InvalidArgument(f"mask has dtype {array.dtype} and {array.ndim} dimensions, expected uint8 and one")
    return np.ascontiguousarray(array)


def _of_arrow(mask: Any, items: int) -> RowSet:
    """The bits of an array, in place where nothing in it is null."""
    import pyarrow

    if not hasattr(mask, "type") or mask.type != pyarrow.bool_():
        raise _refuse(str(getattr(mask, "type", kind_of(mask))))
    if isinstance(mask, pyarrow.ChunkedArray):
        none = pyarrow.array([], mask.type)
        mask = mask.chunk(0) if mask.num_chunks == 1 else pyarrow.concat_arrays([none, *mask.chunks])
    if mask.null_count:
        mask = mask.fill_null(False)
    _expect(len(mask), items)
    data = mask.buffers()[1]
    return _native.SIDBEAM_ROWS_BITS, np.frombuffer(b"" if data is None else data, np.uint8), mask.offset


def _booleans(mask: Any) -> np.ndarray:
    """bool [n]; what is null is False."""
    library, dtype = type(mask).__module__.partition(".")[0], str(getattr(mask, "dtype", ""))
    if library == "polars" and dtype == "Boolean":
        mask = mask.fill_null(False).to_numpy()
    elif library == "pandas" and dtype in ("boolean", "bool[pyarrow]"):
        mask = mask.fillna(False).to_numpy(dtype=bool)
    elif not isinstance(mask, np.ndarray) and hasattr(mask, "__dlpack__") and not hasattr(mask, "to_numpy"):
        mask = from_dlpack(mask, "mask")
    array = plain_array(mask, "mask")
    if array.dtype != np.bool_ and array.size:
        raise _refuse(f"{dtype or array.dtype}")
    if array.ndim != 1:
        raise InvalidArgument(f"mask has shape {array.shape}, expected one dimension")
    return array.astype(np.bool_, copy=False)
