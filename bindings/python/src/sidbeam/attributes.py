"""Attributes of items: columns of values by item row, given to a builder and read from an index.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _native, catalogue
from .arrays import host
from .checks import entries, instance, integer, kind_of, shown
from .enums import AttributeType, member
from .errors import InvalidArgument, WrongType

TypeLike = Union[AttributeType, str]
_MISSING = ("NAType", "NaTType")  # of pandas
_NATIVE = {"i": AttributeType.I64, "u": AttributeType.I64, "f": AttributeType.F32, "b": AttributeType.BOOL}


@dataclasses.dataclass(frozen=True)
class Column:
    """Values as the native layer takes them; those that the type does not need are None."""

    name: str
    type: AttributeType
    valid: Optional[np.ndarray]
    integers: Optional[np.ndarray] = None
    numbers: Optional[np.ndarray] = None
    bools: Optional[np.ndarray] = None
    text: Optional[np.ndarray] = None
    offsets: Optional[np.ndarray] = None
    lists: Optional[np.ndarray] = None
    codes: Optional[np.ndarray] = None

    def put(self, call: Callable[..., None], to: Any, count: int) -> None:
        """Gives the values to what a native function of :data:`_native` puts them into."""
        arrays = (self.valid, self.integers, self.numbers, self.bools, self.text, self.offsets, self.lists)
        call(to, self.name, count, *arrays, self.codes)


def columns_of(given: Any, count: int, known: Mapping[str, AttributeType]) -> list[Column]:
    """The values of ``attributes={name: column}``, of as many rows; None: none."""
    columns = [] if given is None else instance(given, dict, "attributes").items()
    return [_column_of(instance(name, str, "a name of attributes"), values, count, known) for name, values in columns]


def _column_of(name: str, given: Any, count: int, known: Mapping[str, AttributeType]) -> Column:
    what = f"attributes[{name!r}]"
    values, valid = _gathered(given, what)
    if len(values) != count:
        raise InvalidArgument(f"{what} has {len(values)} entries, expected {count}, one per SID")
    kind = known.get(name)
    if isinstance(values, np.ndarray):
        kind = _NATIVE[values.dtype.kind] if kind is None else kind
        if _fits(values.dtype.kind, kind):
            return _of_array(name, kind, values, valid, what)
        values = values.tolist()
    there = [i for i, value in enumerate(values) if (valid is None or valid[i]) and not _is_missing(value)]
    if kind is None:
        kind = _type_of([values[i] for i in there], what)
    present = np.zeros(count, np.uint8)
    present[there] = 1
    return _of_list(name, kind, values, there, present, what)


def _gathered(given: Any, what: str) -> tuple[Union[np.ndarray, list[Any]], Optional[np.ndarray]]:
    """Numbers as an array, with which of them are there; anything else as a list."""
    if isinstance(given, np.ma.MaskedArray):
        values, valid = _gathered(np.asarray(given.data), what)
        shown_rows = ~np.ma.getmaskarray(given)
        return values, shown_rows if valid is None else valid & shown_rows
    if isinstance(given, (str, bytes, dict)):
        raise WrongType(f"{what} is {kind_of(given)}, expected an array or a list, one entry per SID")
    for method in ("to_pylist", "to_numpy"):  # of Arrow; of pandas and Polars
        if not isinstance(given, np.ndarray) and hasattr(given, method):
            given = getattr(given, method)()
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise InvalidArgument(f"{what} has shape {given.shape}, expected one entry per SID")
        if given.dtype.kind == "f":
            return given, ~np.isnan(given)
        return (given, None) if given.dtype.kind in "iub" else (given.tolist(), None)
    return entries(given, what, "values"), None


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)


def _fits(kind: str, wanted: AttributeType) -> bool:
    return _NATIVE[kind] == wanted or (kind in "iu" and wanted == AttributeType.F32)


def _of_array(name: str, kind: AttributeType, values: np.ndarray, valid: Optional[np.ndarray], what: str) -> Column:
    present = None if valid is None or valid.all() else np.ascontiguousarray(valid, np.uint8)
    if kind == AttributeType.I64:
        return Column(name, kind, present, integers=host(values, np.int64, what))
    if kind == AttributeType.BOOL:
        return Column(name, kind, present, bools=np.ascontiguousarray(values, np.uint8))
    return Column(name, kind, present, numbers=np.ascontiguousarray(values, np.float32))


def _kind_of_type(cls: type) -> Optional[AttributeType]:
    if issubclass(cls, (bool, np.bool_)):
        return AttributeType.BOOL
    if issubclass(cls, (int, np.integer)):
        return AttributeType.I64
    if issubclass(cls, (float, np.floating)):
        return AttributeType.F32
    if issubclass(cls, str):
        return AttributeType.STRING
    return AttributeType.STRING_LIST if issubclass(cls, (list, tuple, np.ndarray)) else None


def _kind_of_one(value: Any) -> Optional[AttributeType]:
    return _kind_of_type(type(value))


def _type_of(values: Sequence[Any], what: str) -> AttributeType:
    kinds = {_kind_of_type(cls) for cls in set(map(type, values))}
    if kinds == {AttributeType.I64, AttributeType.F32}:
        return AttributeType.F32
    if not kinds:
        raise InvalidArgument(f"{what} has no value, expected one, or its type by declare_attribute()")
    if len(kinds) > 1 or None in kinds:
        strange = next(v for v in values if _kind_of_one(v) is None or _kind_of_one(v) != _kind_of_one(values[0]))
        raise WrongType(
            f"{what} holds {shown(strange)}, expected integers, floats, bools, strings or lists of strings, one of"
            " these alone"
        )
    kind = kinds.pop()
    assert kind is not None
    return kind


def _of_list(
    name: str, kind: AttributeType, values: Sequence[Any], there: list[int], present: np.ndarray, what: str
) -> Column:
    def refuse(i: int, expected: str) -> InvalidArgument:
        return InvalidArgument(f"{what}[{i}] is {shown(values[i])}, expected {expected}")

    count = len(values)
    if kind in (AttributeType.I64, AttributeType.F32, AttributeType.BOOL):
        array = np.zeros(count, {AttributeType.I64: np.int64, AttributeType.F32: np.float32}.get(kind, np.uint8))
        for i in there:
            found = _kind_of_one(values[i])
            if kind == AttributeType.I64 and found == AttributeType.F32 and float(values[i]).is_integer():
                found = kind  # pandas makes floats of integers beside missing values
            if found != kind and not (kind == AttributeType.F32 and found == AttributeType.I64):
                raise refuse(i, {1: "an integer", 2: "a number", 3: "True or False"}[int(kind)])
            array[i] = integer(int(values[i]), f"{what}[{i}]") if kind == AttributeType.I64 else values[i]
        fields = {AttributeType.I64: "integers", AttributeType.F32: "numbers", AttributeType.BOOL: "bools"}
        return Column(name, kind, present, **{fields[kind]: array})
    table: dict[str, int] = {}  # distinct strings, of which there are mostly few
    codes: list[int] = []
    lists = np.zeros(count + 1, np.int64)
    for i in range(count):
        if kind == AttributeType.STRING:
            if present[i] and not isinstance(values[i], str):
                raise refuse(i, "a str")
            codes.append(table.setdefault(values[i], len(table)) if present[i] else 0)
        elif present[i]:
            if _kind_of_one(values[i]) != AttributeType.STRING_LIST or not all(isinstance(s, str) for s in values[i]):
                raise refuse(i, "a list of str")
            codes.extend(table.setdefault(s, len(table)) for s in values[i])
        lists[i + 1] = len(codes)
    texts = [catalogue.utf8(string, f"a string of {what}") for string in table]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    text = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    numbers = np.array(codes or [0], np.int64)
    spread = lists if kind == AttributeType.STRING_LIST else None
    return Column(name, kind, present, text=text, offsets=offsets, lists=spread, codes=numbers)


def asked_for(given: Any) -> tuple[Optional[list[str]], dict[str, AttributeType]]:
    """Names, and those types that are given, of "price,region:string" or a list of such; None: no names."""
    if given is None:
        return None, {}
    names: list[str] = []
    types: dict[str, AttributeType] = {}
    for part in given.split(",") if isinstance(given, str) else entries(given, "attributes", "names"):
        name, colon, kind = instance(part, str, "a name of attributes").rpartition(":")
        names.append(name if colon else part)
        if colon:
            types[name] = AttributeType.STRING_LIST if kind == "strings" else member(AttributeType, kind)
    return names, types


class Attribute:
    """A column of values by item row. Made by :attr:`Index.attributes`; valid as long as the index is open."""

    __slots__ = ("_handle", "_items", "_number", "name", "type", "nulls", "distinct", "least", "greatest", "_strings")

    name: str
    type: AttributeType
    nulls: int  #: rows without a value
    distinct: Optional[int]  #: different values, of lists the strings in them; None: of numbers nobody counts them
    least: Union[None, int, float, bool]  #: of numbers and bools; None where there are none
    greatest: Union[None, int, float, bool]

    def __init__(self, handle: Any, number: int, items: int) -> None:
        numbers, bounds = np.zeros(_native.FLAT_ATTRIBUTE_COUNT, np.int64), np.zeros(2, np.float32)
        name = bytearray(_native.flat_index_get_attribute(handle, number, numbers, bounds, None))
        _native.flat_index_get_attribute(handle, number, numbers, bounds, name)
        self._handle, self._items, self._number = handle, items, number
        self._strings: Optional[list[str]] = None
        self.name = name.decode()
        kind, self.nulls, distinct, _, least, greatest = numbers.tolist()
        self.type = AttributeType(kind)
        self.distinct = None if distinct < 0 else distinct
        self.least = self.greatest = None
        if self.nulls == items:
            return
        if self.type == AttributeType.F32:
            self.least, self.greatest = bounds.tolist()
        elif self.type == AttributeType.I64:
            self.least, self.greatest = least, greatest
        elif self.type == AttributeType.BOOL:
            self.least, self.greatest = bool(least), bool(greatest)

    def __repr__(self) -> str:
        return f"Attribute({self.name!r}, {self.type.name.lower()}, {self.nulls} nulls)"

    @property
    def strings(self) -> list[str]:
        """The distinct strings, sorted by their bytes; codes are their numbers.

        Of a version of a live catalogue those of its base are first, and behind them what came since, sorted too.
        """
        if self._strings is None:
            count = (self.distinct or 0) if self.type >= AttributeType.STRING else 0
            offsets = np.zeros(count + 1, np.int64)
            text = bytearray(_native.flat_index_attribute_strings(self._handle, self._number, 0, count, offsets, None))
            _native.flat_index_attribute_strings(self._handle, self._number, 0, count, offsets, text)
            ends = offsets.tolist()
            self._strings = [text[a:b].decode("utf-8", "replace") for a, b in zip(ends, ends[1:])]
        return self._strings

    def _rows(self, start: int, stop: Optional[int]) -> tuple[int, int]:
        first, end, _ = slice(start, stop).indices(self._items)
        return first, max(end - first, 0)

    def masked(self, start: int = 0, stop: Optional[int] = None) -> np.ma.MaskedArray[Any, Any]:
        """Of item rows start .. stop-1, nulls masked: int64, float32, bool; of strings int64 codes. Not of lists."""
        if self.type == AttributeType.STRING_LIST:
            raise WrongType(f"attribute {self.name!r} holds lists, expected single values: values() gives lists")
        first, count = self._rows(start, stop)
        floats = self.type == AttributeType.F32
        values, valid = np.zeros(count, np.float32 if floats else np.int64), np.zeros(count, np.uint8)
        read = _native.flat_index_attribute_numbers if floats else _native.flat_index_attribute_integers
        read(self._handle, self._number, first, count, values, valid)
        array = values.astype(bool) if self.type == AttributeType.BOOL else values
        return np.ma.MaskedArray(array, valid == 0)

    def values(self, start: int = 0, stop: Optional[int] = None) -> list[Any]:
        """Of item rows start .. stop-1: int, float, bool, str or lists of str; None where a row is null."""
        if self.type != AttributeType.STRING_LIST:
            listed: list[Any] = self.masked(start, stop).tolist()
            if self.type == AttributeType.STRING:
                return [None if code is None else self.strings[code] for code in listed]
            return listed
        first, count = self._rows(start, stop)
        offsets, valid = np.zeros(count + 1, np.int64), np.zeros(count, np.uint8)
        _native.flat_index_attribute_lists(self._handle, self._number, first, count, offsets, None, valid)
        codes = np.zeros(max(int(offsets[-1]), 1), np.int64)
        _native.flat_index_attribute_lists(self._handle, self._number, first, count, offsets, codes, valid)
        texts = [self.strings[code] for code in codes[: offsets[-1]].tolist()]
        ends = offsets.tolist()
        return [texts[a:b] if there else None for a, b, there in zip(ends, ends[1:], valid.tolist())]


def attributes_of(handle: Any, items: int) -> dict[str, Attribute]:
    count = int(_native.flat_index_attribute_count(handle))
    return {a.name: a for a in (Attribute(handle, number, items) for number in range(count))}
