"""Turns catalogues as people have them (lists, NumPy, pandas, Arrow, Polars) into the builder's arrays.

Only NumPy is imported: a table is recognised by its methods. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import Any, Mapping, NoReturn, Optional, Sequence, Union

import numpy as np

from .arrays import each, from_dlpack, host, is_one, plain_array, unboxed, vector
from .checks import entries, kind_of, shown
from .enums import IdType
from .errors import InvalidArgument, WrongType

Sids = tuple[np.ndarray, Optional[np.ndarray]]
Rows = Union[Sequence[Any], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Of the pairs that a builder, or a live catalogue, takes."""

    levels: int
    variable: bool
    id_type: IdType


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Pairs as the native layer takes them; ids are in one of the two ways, or missing."""

    count: int
    codes: np.ndarray  #: [count, levels]
    lengths: Optional[np.ndarray]
    ids: Optional[np.ndarray]
    names: Optional[tuple[np.ndarray, np.ndarray]]  #: as of named_ids
    priorities: Optional[np.ndarray]


def column(value: Any, name: str) -> np.ndarray:
    """One column: an array, a list, a pandas or Polars Series, an Arrow array."""
    given = value
    if not isinstance(value, np.ndarray):
        value = _imported(value)
        if hasattr(value, "itercolumns"):
            raise InvalidArgument(f"{name} is a table, expected one column of it: {name}=table[..]")
        if _is_arrow(value) and not hasattr(value, "chunks"):
            value = value.to_numpy(zero_copy_only=False)
        elif hasattr(value, "to_numpy"):
            value = value.to_numpy()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value, name)
    array = plain_array(value, name)
    if array.dtype.kind in "US" and isinstance(value, (list, tuple)) and set(map(type, value)) <= {str, bytes}:
        array = np.array(value, object)  # NumPy's own texts end before trailing NULs
    if array.ndim != 1:
        what = f"shape {array.shape}" if array.ndim else f"type {kind_of(given)}"
        raise InvalidArgument(f"{name} has {what}, expected an array or a list, one entry per SID")
    return array


def numbers_of(value: Any, dtype: Any, name: str) -> np.ndarray:
    """One column of integers."""
    return host(column(value, name), dtype, name)


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
    value = _listed(_imported(value), name)
    _refuse_text(value, name)
    if lengths is not None:
        codes = _matrix(value, name)
        if codes is None:
            raise InvalidArgument(f"{name} are lists of different lengths, expected a matrix where lengths are given")
        sizes = numbers_of(lengths, np.int32, "lengths")
        if name == "sids" and len(sizes) != len(codes):
            raise InvalidArgument(f"lengths has {len(sizes)} entries, expected {len(codes)}, one per SID")
        return host(codes, np.int32, name), sizes
    codes = _matrix(value, name)
    if codes is None:
        ragged = _ragged(_rows(value, name), name)
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


def _listed(value: Any, name: str) -> Any:
    """What can be read once, or has no order of its own, as a list."""
    if isinstance(value, (list, tuple, Mapping, str, bytes)) or hasattr(value, "__array__"):
        return value
    if hasattr(value, "to_numpy") or hasattr(value, "__dlpack__") or _is_arrow(value):
        return value
    return entries(value, name, "SIDs" if name == "sids" else "sequences of codes")


def _refuse_text(value: Any, name: str) -> None:
    """Dictionaries and token strings, as catalogues of other programs have them."""
    if isinstance(value, Mapping):
        raise InvalidArgument(
            f"{name} is a {type(value).__name__}, expected {_shape(name)}: Index.from_file reads catalogues by item"
        )
    first = value
    for _ in range(2):
        if isinstance(first, np.ndarray):
            first = first.flat[0] if first.size else None
        elif isinstance(first, (list, tuple)):
            first = first[0] if len(first) else None
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
    with np.errstate(invalid="ignore"):  # of infinities and what is too large, which are not equal either
        whole: np.ndarray = codes.astype(np.int64)
    if not np.array_equal(whole, codes):
        raise InvalidArgument(f"{name} have codes that are no integers: {shown(codes[whole != codes].flat[0])}")
    return whole


def _matrix(value: Any, name: str) -> Optional[np.ndarray]:
    """The SIDs as one array of two dimensions, or None where they are lists of different lengths."""
    if _is_arrow(value):
        if hasattr(value, "itercolumns"):
            columns = [column(c, name) for c in value.itercolumns()]
            if len(columns) == 1 and columns[0].dtype == object:
                return _stack(columns[0], name)
            return np.column_stack(columns) if columns else np.empty((0, 0), np.int32)
        return _stack(column(value, name), name)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value, name)
    if not isinstance(value, np.ndarray) and not isinstance(value, (list, tuple)):
        value = plain_array(value, name)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _of_two_dimensions(plain_array(value, name), name)
    return _stack(value, name)


def _of_two_dimensions(matrix: np.ndarray, name: str) -> np.ndarray:
    if matrix.ndim != 2:
        raise InvalidArgument(f"{name} have shape {matrix.shape}, expected {_shape(name)}")
    return matrix


def _stack(rows: Rows, name: str) -> Optional[np.ndarray]:
    """One array of sequences, where they are of one length."""
    try:
        sizes = set(map(len, rows))
    except (TypeError, ValueError):
        if isinstance(rows, np.ndarray) and rows.ndim == 0:
            raise WrongType(f"{name} is {kind_of(rows)}, expected {_shape(name)}") from None
        odd = next((i for i, row in enumerate(rows) if not hasattr(row, "__len__")), 0)
        raise InvalidArgument(
            f"{name} are not sequences of codes: {name}[{odd}] is {shown(rows[odd])}, expected {_shape(name)}"
        ) from None
    if len(sizes) == 1 and 0 not in sizes:
        try:
            matrix = np.array([np.asarray(row) for row in rows])
        except Exception:  # lists within them, of different lengths; whatever an entry's __array__ raises
            return None
        matrix = _of_two_dimensions(matrix, name)
        return _unboxed(matrix, name) if matrix.dtype == object else matrix
    return np.empty((0, 0), np.int32) if not sizes else None


def _unboxed(matrix: np.ndarray, name: str) -> np.ndarray:
    """Of objects: as numbers, where None is a missing code like NaN."""
    values = [float("nan") if value is None else value for value in matrix.ravel().tolist()]
    return np.array(values).reshape(matrix.shape) if all(map(_is_number, values)) else matrix


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def _rows(value: Any, name: str) -> Rows:
    return column(value, name) if _is_arrow(value) or hasattr(value, "to_numpy") else value


def _ragged(rows: Rows, name: str) -> Sids:
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    levels = int(lengths.max(initial=0))
    codes = np.zeros((len(rows), levels), np.int32)
    flat = list(chain.from_iterable(rows))
    starts = np.cumsum(lengths) - lengths

    def place(number: int) -> str:
        row = int(np.searchsorted(starts + lengths, number, side="right"))
        return f"[{row}][{number - starts[row]}]"

    given = np.array(flat if all(map(_is_number, flat)) else unboxed(flat, np.dtype(np.int32), name, place))
    given = _whole(given, name) if given.dtype.kind == "f" else given
    codes[np.arange(levels) < lengths[:, None]] = host(given, np.int32, name)
    return codes, lengths


def codes_of(codes: Union[None, int, Sequence[int], np.ndarray], sids: Sids) -> np.ndarray:
    """Codes per level: as given, one number for all levels, or as many as occur in the SIDs."""
    matrix, lengths = sids
    levels = matrix.shape[1]
    if codes is None:
        if lengths is not None:
            matrix = np.where(np.arange(levels) < lengths[:, None], matrix, 0)
        return np.asarray(matrix.max(axis=0, initial=0) + 1, np.int32)
    return each(codes, levels, np.int32, "codes") if is_one(codes) else vector(codes, np.int32, "codes")


def id_type_of(ids: Any) -> IdType:
    if ids is None:
        return IdType.I64
    array = column(ids, "ids")
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and array.size and isinstance(array.flat[0], (str, bytes))):
        return IdType.STRING
    return IdType.U64 if array.dtype == np.uint64 else IdType.I64


def integer_ids(ids: Any, id_type: IdType, name: str = "ids") -> Optional[np.ndarray]:
    """Ids [n]; unsigned ones travel as the same bits."""
    if ids is None:
        return None
    array = column(ids, name)
    if array.dtype.kind in "US" or (array.dtype == object and any(isinstance(i, (str, bytes)) for i in array.tolist())):
        raise InvalidArgument(
            f'{name} are text, expected integers with id_type="{id_type.name.lower()}": text needs id_type="string"'
        )
    if id_type == IdType.U64:
        return host(array, np.uint64, name).view(np.int64)
    return host(array, np.int64, name)


def utf8(text: Any, name: str) -> bytes:
    """The bytes of an id; integers in a catalogue of texts are texts."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, (str, int)):
        raise InvalidArgument(f"{name} is {shown(text)}, expected a str, bytes or an integer")
    try:
        return str(text).encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} is {shown(text)}, which is no text: it has surrogates") from None


def named_ids(ids: Any, what: str = "ids") -> tuple[np.ndarray, np.ndarray]:
    """UTF-8 of all names one after the other, and offsets [n + 1]."""
    names = [utf8(name, f"{what}[{i}]") for i, name in enumerate(column(ids, what).tolist())]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, names), np.int64, len(names)), out=offsets[1:])
    return np.frombuffer(b"".join(names), np.uint8), offsets


def pairs_of(shape: Shape, sids: Any, ids: Any, lengths: Any, priorities: Any) -> Pairs:
    """What :meth:`Builder.add` takes."""
    codes, sizes = sids_of(sids, lengths, variable=shape.variable)
    count, levels = codes.shape
    ids = None if ids is None else column(ids, "ids")
    if count and levels > shape.levels:
        raise InvalidArgument(f"sids have {levels} codes, expected at most {shape.levels}")
    if count and levels < shape.levels:
        if sizes is None:
            sizes = np.full(count, levels, np.int32)
        codes = np.ascontiguousarray(np.pad(codes, ((0, 0), (0, shape.levels - levels))))
    ranks = None if priorities is None else numbers_of(priorities, np.int64, "priorities")
    for name, array in (("ids", ids), ("lengths", sizes), ("priorities", ranks)):
        if array is not None and len(array) != count:
            raise InvalidArgument(f"{name} has {len(array)} entries, expected {count}, one per SID")
    if ids is not None and shape.id_type == IdType.STRING:
        return Pairs(count, codes, sizes, None, named_ids(ids), ranks)
    return Pairs(count, codes, sizes, integer_ids(ids, shape.id_type), None, ranks)
