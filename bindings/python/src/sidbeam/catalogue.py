"""Turns catalogues as people have them (lists, NumPy, pandas, Arrow, Polars) into the builder's arrays.

Only NumPy is imported: a table is recognised by its methods. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Mapping, NoReturn, Optional, Sequence, Union

import numpy as np

from .arrays import from_dlpack, host, is_one
from .enums import IdType
from .errors import InvalidArgument

Sids = tuple[np.ndarray, Optional[np.ndarray]]
Rows = Union[Sequence[Any], np.ndarray]


def column(value: Any) -> np.ndarray:
    """One column: an array, a list, a pandas or Polars Series, an Arrow array."""
    if isinstance(value, np.ndarray):
        return value
    value = _imported(value)
    if _is_arrow(value) and not hasattr(value, "chunks"):
        value = value.to_numpy(zero_copy_only=False)
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return np.asarray(value)


def _imported(value: Any) -> Any:
    """Turns objects that only speak Arrow's C interface (DuckDB, nanoarrow) into PyArrow's."""
    if hasattr(value, "to_numpy") or _is_arrow(value):
        return value
    if hasattr(value, "__arrow_c_stream__"):
        import pyarrow

        return pyarrow.table(value)
    if hasattr(value, "__arrow_c_array__"):
        import pyarrow

        return pyarrow.array(value)
    return value


def _is_arrow(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pyarrow"


def sids_of(value: Any, lengths: Any = None, *, variable: bool = True, name: str = "sids") -> Sids:
    """codes [n, L] and lengths [n], or None where every SID has L codes. With `variable`, SIDs may end early in the
    data itself, by lists of different lengths or missing codes; without it, those are mistakes."""
    value = _imported(value)
    _refuse_text(value, name)
    if lengths is not None:
        codes = _matrix(value, name)
        if codes is None:
            raise InvalidArgument(f"{name} are lists of different lengths, expected a matrix where lengths are given")
        return host(codes, np.int32, name), host(column(lengths), np.int32, "lengths")
    codes = _matrix(value, name)
    if codes is None:
        ragged = _ragged(_rows(value), name)
        if not variable:
            _refuse_lengths(ragged[1], "have different lengths")
        return ragged
    if codes.dtype.kind == "f" and np.isnan(codes).any():  # pandas marks a missing code so
        lengths = (~np.isnan(codes)).sum(axis=1).astype(np.int32)
        if not variable:
            _refuse_lengths(lengths, "have missing codes (NaN)")
        if np.isnan(codes[np.arange(codes.shape[1]) < lengths[:, None]]).any():
            raise InvalidArgument(f"{name} have a missing code before the last one of a SID")
        codes = np.nan_to_num(codes, nan=0.0)
        return host(_whole(codes, name), np.int32, name), lengths
    return host(_whole(codes, name) if codes.dtype.kind == "f" else codes, np.int32, name), None


def _shape(name: str) -> str:
    return "[items, levels]" if name == "sids" else f"a sequence of codes for each: {name}=[[0, 1], [2, 0]]"


def _refuse_text(value: Any, name: str) -> None:
    """Dictionaries and token strings, as catalogues of other programs have them."""
    if isinstance(value, Mapping):
        raise InvalidArgument(
            f"{name} is a {type(value).__name__}, expected {_shape(name)}: Index.from_file reads catalogues by item"
        )
    first = value
    while isinstance(first, (list, tuple, np.ndarray)) and len(first):
        first = first[0]
    if isinstance(first, (str, bytes)):
        raise InvalidArgument(
            f"{name} has the text {str(first)!r:.60}, expected codes, which are integers: Index.from_file reads token"
            " strings"
        )


def _refuse_lengths(lengths: Any, what: str) -> NoReturn:
    longest = int(lengths.max())
    first = int(np.argmax(lengths < longest)) if (lengths < longest).any() else 0
    raise InvalidArgument(
        f"sids {what}: sids[{first}] has {lengths[first]} codes, expected as many as the others,"
        " or variable_length=True for SIDs of different lengths"
    )


def _whole(codes: np.ndarray, name: str) -> np.ndarray:
    whole: np.ndarray = codes.astype(np.int64)
    if not np.array_equal(whole, codes):
        raise InvalidArgument(f"{name} have codes that are no integers")
    return whole


def _matrix(value: Any, name: str) -> Optional[np.ndarray]:
    """The SIDs as one array of two dimensions, or None where they are lists of different lengths."""
    if _is_arrow(value):
        if hasattr(value, "itercolumns"):
            columns = [column(c) for c in value.itercolumns()]
            return (
                np.column_stack(columns)
                if len(columns) != 1 or columns[0].dtype != object
                else _stack(columns[0], name)
            )
        return _stack(column(value), name)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value, name)
    if isinstance(value, np.ndarray) and value.dtype != object:
        matrix: np.ndarray = value
        if matrix.ndim != 2:
            raise InvalidArgument(f"{name} have shape {matrix.shape}, expected {_shape(name)}")
        return matrix
    return _stack(value, name)


def _stack(rows: Rows, name: str) -> Optional[np.ndarray]:
    """One array of sequences, where they are of one length."""
    try:
        sizes = set(map(len, rows))
    except TypeError:
        raise InvalidArgument(f"{name} are not sequences of codes, expected {_shape(name)}") from None
    if len(sizes) == 1 and 0 not in sizes:
        matrix = np.array([np.asarray(row) for row in rows])
        return np.array(matrix.tolist()) if matrix.dtype == object else matrix
    return np.empty((0, 0), np.int32) if not sizes else None


def _rows(value: Any) -> Rows:
    return column(value) if _is_arrow(value) or hasattr(value, "to_numpy") else value


def _ragged(rows: Rows, name: str) -> Sids:
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    levels = int(lengths.max())
    codes = np.zeros((len(rows), levels), np.int32)
    flat = np.array(list(chain.from_iterable(rows)))
    codes[np.arange(levels) < lengths[:, None]] = host(flat, np.int32, name)
    return codes, lengths


def codes_of(codes: Union[None, int, Sequence[int], np.ndarray], sids: Sids) -> np.ndarray:
    """Codes per level: as given, one number for all levels, or as many as occur in the SIDs."""
    matrix, lengths = sids
    levels = matrix.shape[1]
    if codes is None:
        if lengths is not None:
            matrix = np.where(np.arange(levels) < lengths[:, None], matrix, 0)
        return np.asarray(matrix.max(axis=0, initial=0) + 1, np.int32)
    return host(np.full(levels, codes) if is_one(codes) else codes, np.int32, "codes")


def id_type_of(ids: Any) -> IdType:
    if ids is None:
        return IdType.I64
    array = column(ids)
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and array.size and isinstance(array.flat[0], (str, bytes))):
        return IdType.STRING
    return IdType.U64 if array.dtype == np.uint64 else IdType.I64


def integer_ids(ids: Any) -> Optional[np.ndarray]:
    """Ids [n]; unsigned ones travel as the same bits."""
    if ids is None:
        return None
    array = column(ids)
    return host(array.view(np.int64) if array.dtype == np.uint64 else array, np.int64, "ids")


def named_ids(ids: Any) -> tuple[np.ndarray, np.ndarray]:
    """UTF-8 of all names one after the other, and offsets [n + 1]."""
    names = [n if isinstance(n, bytes) else str(n).encode() for n in column(ids).tolist()]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, names), np.int64, len(names)), out=offsets[1:])
    return np.frombuffer(b"".join(names), np.uint8), offsets
