"""Catalogues by Arrow's PyCapsule protocol, which the library reads itself: nothing of Arrow's is imported.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import host
from .checks import entries, shown
from .enums import MAX_LEVELS, IdType
from .errors import InvalidArgument, WrongType

SID_NAMES = ("sid", "sids", "semantic_id", "semantic_ids", "codes", "tokens", "token_ids")
ITEM_NAMES = ("item", "item_id", "iid", "id", "asin", "docid", "goods_id")
PRIORITY_NAMES = ("priority",)


@dataclasses.dataclass(frozen=True)
class Columns:
    """Which columns hold what; :meth:`Builder.add_arrow` describes them."""

    sid: Optional[str] = None
    levels: Union[None, str, Sequence[str]] = None
    item: Optional[str] = None
    priority: Optional[str] = None
    attributes: Union[None, bool, Sequence[str]] = None  #: True: all that nothing else uses

    def __post_init__(self) -> None:
        if self.attributes is not None and not isinstance(self.attributes, bool):
            object.__setattr__(self, "attributes", tuple(entries(self.attributes, "attributes", "names")))
        if self.levels is not None and not isinstance(self.levels, str):
            object.__setattr__(self, "levels", tuple(entries(self.levels, "levels", "names")))

    @classmethod
    def of(cls, options: dict[str, Any]) -> Columns:
        return cls(**{field.name: options.get(field.name) for field in dataclasses.fields(cls)})

    def native(self) -> tuple[Optional[bytes], ...]:
        """The names as the native layer takes them."""
        if self.levels is not None and len(self.levels) == 0:
            raise InvalidArgument("levels is empty, expected a name per level, or what such names begin with")
        prefix = self.levels if isinstance(self.levels, str) else None
        names = None if self.levels is None or prefix is not None else b"".join(_text(n, "levels") for n in self.levels)
        return (
            _optional(self.sid, "sid"),
            names,
            _optional(prefix, "levels"),
            _optional(self.item, "item"),
            _optional(self.priority, "priority"),
        )

    def native_attributes(self) -> tuple[Optional[bytes], bool]:
        """The names, and whether all others are meant."""
        if self.attributes is None or isinstance(self.attributes, bool):
            return None, bool(self.attributes)
        return b"".join(_text(n, "attributes") for n in self.attributes) or None, False

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Those of a table's columns that are read, or that make the names ambiguous."""
        if isinstance(self.levels, str):
            kept = {n for n in names if n.startswith(self.levels) and n[len(self.levels) :].isdigit()}
        else:
            kept = set(self.levels or ((self.sid,) if self.sid is not None else SID_NAMES))
        kept |= set(ITEM_NAMES if self.item is None else (self.item,))
        kept |= set(PRIORITY_NAMES if self.priority is None else (self.priority,))
        if isinstance(self.attributes, bool):
            return list(names) if self.attributes else [n for n in names if n in kept]
        kept |= set(self.attributes or ())
        return [n for n in names if n in kept]


@dataclasses.dataclass(frozen=True)
class ArrowInfo:
    """What a table holds, and so what a builder for it must be told."""

    levels: int  #: codes of the longest SID
    shortest: int  #: codes of the shortest one; less than ``levels``: lengths vary
    codes: tuple[int, ...]  #: [levels] as many as occur
    id_type: IdType
    items: bool  #: there is a column of items
    priorities: bool
    pairs: int


def _text(name: str, argument: str) -> bytes:
    if not isinstance(name, str):
        raise WrongType(f"{argument} is {type(name).__name__}, expected a str")
    if "\0" in name:
        raise InvalidArgument(f"{argument} holds a NUL character")
    try:
        return name.encode() + b"\0"
    except UnicodeEncodeError:
        raise InvalidArgument(f"{argument} is {shown(name)}, which is no text: it has surrogates") from None


def _optional(name: Optional[str], argument: str) -> Optional[bytes]:
    return None if name is None else _text(name, argument)


class ArrowFile:
    """A catalogue in a file: each stream of it reads the file anew, a few record batches at a time.

    ``count``: its rows; 0 where it does not say.
    """

    def __init__(self, open_reader: Callable[[], Any], count: Callable[[], int] = lambda: 0) -> None:
        self._open_reader, self.count = open_reader, count

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._open_reader().__arrow_c_stream__(requested_schema)

    def told(self, listener: Callable[[int], object]) -> ArrowFile:
        """The same, whose streams call the listener with the number of rows that are behind each record batch, and end
        where it raises."""

        def reader() -> Any:
            batches = self._open_reader()
            return type(batches).from_batches(batches.schema, _told(batches, listener))

        return ArrowFile(reader, self.count)


def _told(batches: Any, listener: Callable[[int], object]) -> Iterator[Any]:
    rows = 0
    for batch in batches:
        listener(rows)
        yield batch
        rows += batch.num_rows
    listener(rows)


def speaks(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def is_catalogue(data: Any, columns: Columns) -> bool:
    """Whether this is a table with a column of SIDs, by its name or a usual one, rather than SIDs alone."""
    if not speaks(data):
        return False
    if columns != Columns() or isinstance(data, ArrowFile):
        return True
    return any(name in SID_NAMES for name in _names_of(data))


def _names_of(data: Any) -> list[str]:
    """The columns of a table, as its library lists them."""
    for holder, attribute in ((data, "column_names"), (getattr(data, "schema", None), "names"), (data, "columns")):
        names = getattr(holder, attribute, None)
        if names is not None and not callable(names):
            return [n for n in names if isinstance(n, str)]
    return []


def _capsule(data: Any) -> Any:
    """A new stream of the data; it goes with the capsule, unless it is consumed before."""
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if hasattr(data, "__arrow_c_array__"):
        return _native.stream_of_array(*data.__arrow_c_array__())
    raise WrongType(f"data is {type(data).__name__}, expected an object with __arrow_c_stream__ or __arrow_c_array__")


def add(
    owner: Any, data: Any, columns: Columns, call: Callable[..., Any] = _native.flat_builder_add_arrow
) -> int:
    """Adds the pairs of a table to a builder, or to what the native function is of; returns their number."""
    names, attributes = columns.native(), columns.native_attributes()  # what is wrong with them must not cost a stream
    capsule = _capsule(data)
    return int(call(owner, _native.stream_address(capsule), *names, *attributes))


def inspect_arrow(
    data: Any,
    *,
    sid: Optional[str] = None,
    levels: Union[None, str, Sequence[str]] = None,
    item: Optional[str] = None,
    priority: Optional[str] = None,
) -> ArrowInfo:
    """Reads a table, named as for :meth:`Builder.add_arrow`, and says what is in it."""
    return inspect(data, Columns(sid, levels, item, priority))


def inspect(data: Any, columns: Columns) -> ArrowInfo:
    names = columns.native()
    capsule = _capsule(data)
    numbers, codes = np.zeros(_native.FLAT_ARROW_COUNT, np.int64), np.zeros(MAX_LEVELS, np.int32)
    _native.flat_arrow_inspect(_native.stream_address(capsule), *names, numbers, codes)
    longest, shortest, id_type, items, priorities, pairs = numbers.tolist()
    return ArrowInfo(
        longest, shortest, tuple(codes[:longest].tolist()), IdType(id_type), bool(items), bool(priorities), pairs
    )


def shape_of(
    data: Any, columns: Columns, codes: Any, id_type: Any, *, variable: bool
) -> tuple[Optional[ArrowInfo], Any, Any]:
    """What the table holds, unless the caller has told all that a builder must know; codes per level, and id type."""
    if codes is not None and np.ndim(codes) > 0 and id_type is not None:
        return None, codes, id_type
    info = inspect(data, columns)
    if not variable and info.shortest < info.levels:
        raise InvalidArgument(
            f"sids have from {info.shortest} to {info.levels} codes, expected as many in each, or variable_length=True"
            " for SIDs of different lengths"
        )
    if codes is None:
        codes = np.array(info.codes, np.int32)
    elif np.ndim(codes) == 0:
        codes = np.full(info.levels, codes, np.int32)
    return info, host(codes, np.int32, "codes"), info.id_type if id_type is None else id_type


def check_same(info: Optional[ArrowInfo], pairs: int) -> None:
    """A reader that can be read once gives less when it is read again."""
    if info is not None and info.pairs != pairs:
        raise InvalidArgument(
            f"the table gave {info.pairs} pairs at first and {pairs} when it was read again: give codes per level and"
            " id_type, or a table that can be read twice"
        )
