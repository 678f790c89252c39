"""Which column of a logits row a code has. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import AbstractSet as Set
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from .arrays import each, is_one, vector
from .checks import integer, kind_of
from .errors import InvalidArgument, WrongType

_Native = tuple[Optional[np.ndarray], Optional[np.ndarray], Optional[np.ndarray], int]


class Vocabulary:
    """Code t of level l is column ``offsets[l] + t``, or ``maps[l][t]`` where that level has a map.

    - ``offsets``: one number for all levels, or one per level; None: 0.
    - ``maps``: per level its columns, int32 ``[codes[l]]``, or None; None: no maps. -1 is a code without a column,
      which no SID of the index may use.
    - ``end_column``: the column that ends a SID, which an index of variable length needs; -1: none.
    """

    __slots__ = ("offsets", "maps", "end_column")

    def __init__(
        self,
        offsets: Union[None, int, Sequence[int]] = None,
        maps: Optional[Sequence[Any]] = None,
        end_column: int = -1,
    ) -> None:
        if offsets is not None:
            vector(offsets, np.int64, "offsets")
        self.offsets = offsets
        self.maps = None if maps is None else _maps_of(maps)
        self.end_column = integer(end_column, "end_column")

    def _native(self, levels: int) -> _Native:
        maps = map_codes = None
        offsets = self._offsets(levels)
        if self.maps is not None:
            given = [np.empty(0, np.int32) if m is None else m for m in self.maps]
            map_codes = np.array([len(m) for m in given], np.int64)
            maps = np.concatenate(given) if given else np.empty(0, np.int32)
        return offsets, maps, map_codes, self.end_column

    def _offsets(self, levels: int) -> np.ndarray:
        given = 0 if self.offsets is None else self.offsets
        return each(given, levels, np.int64, "offsets") if is_one(given) else vector(given, np.int64, "offsets")

    def columns(self, codes: Sequence[int]) -> int:
        """Columns that a logits row needs for levels of so many codes."""
        levels = range(len(vector(codes, np.int32, "codes")))
        return 1 + max([self.end_column, *(int(self.columns_of(codes, level).max(initial=-1)) for level in levels)])

    def columns_of(self, codes: Sequence[int], level: int) -> np.ndarray:
        """int64 ``[codes[level]]``: the columns of a level's codes, -1 for none, of levels of so many codes."""
        counts = vector(codes, np.int32, "codes")
        level = integer(level, "level")
        if not 0 <= level < len(counts):
            raise InvalidArgument(f"level is {level}, expected 0..{len(counts) - 1}, a level of codes")
        mapped = None if self.maps is None or level >= len(self.maps) else self.maps[level]
        columns: np.ndarray
        if mapped is not None and len(mapped):
            columns = mapped[: counts[level]].astype(np.int64)
        else:
            offsets = self._offsets(len(counts))
            if level >= len(offsets):
                raise InvalidArgument(f"offsets has {len(offsets)} entries, expected {len(counts)}, one per level")
            columns = offsets[level] + np.arange(counts[level])
        return columns

    def __repr__(self) -> str:
        maps = None if self.maps is None else [None if m is None else len(m) for m in self.maps]
        return f"Vocabulary(offsets={self.offsets}, maps of {maps} columns, end_column={self.end_column})"


def _maps_of(maps: Any) -> list[Optional[np.ndarray]]:
    if isinstance(maps, (Mapping, str, bytes, Set)) or not isinstance(maps, Iterable) or is_one(maps):
        raise WrongType(
            f"maps is {kind_of(maps)}, expected a list, per level the columns of its codes, or None:"
            " maps=[[7, 9, 8], None]"
        )
    return [None if m is None else vector(m, np.int32, f"maps[{level}]") for level, m in enumerate(maps)]


def native_vocabulary(vocabulary: Optional[Vocabulary], levels: int) -> _Native:
    if vocabulary is None:
        return None, None, None, -1
    if not isinstance(vocabulary, Vocabulary):
        raise WrongType(
            f"vocabulary is {type(vocabulary).__name__}, expected a Vocabulary: Vocabulary(offsets=[..]), the token of"
            " each level's code 0, or Vocabulary(maps=[..]), per level the token of each code"
        )
    return vocabulary._native(levels)
