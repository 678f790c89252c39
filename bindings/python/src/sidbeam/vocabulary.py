"""Which column of a logits row a code has. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np

from .arrays import host, is_one

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
        self.offsets = offsets
        self.maps = None if maps is None else [None if m is None else host(m, np.int32, "maps") for m in maps]
        self.end_column = end_column

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
        return host(np.full(levels, given) if is_one(given) else given, np.int64, "offsets")

    def columns(self, codes: Sequence[int]) -> int:
        """Columns that a logits row needs for levels of so many codes."""
        return 1 + max(self.end_column, *(int(self.columns_of(codes, level).max()) for level in range(len(codes))))

    def columns_of(self, codes: Sequence[int], level: int) -> np.ndarray:
        """int64 ``[codes[level]]``: the columns of a level's codes, -1 for none, of levels of so many codes."""
        mapped = None if self.maps is None or level >= len(self.maps) else self.maps[level]
        columns: np.ndarray
        if mapped is not None and len(mapped):
            columns = mapped[: codes[level]].astype(np.int64)
        else:
            columns = self._offsets(len(codes))[level] + np.arange(codes[level])
        return columns

    def __repr__(self) -> str:
        maps = None if self.maps is None else [None if m is None else len(m) for m in self.maps]
        return f"Vocabulary(offsets={self.offsets}, maps of {maps} columns, end_column={self.end_column})"


def native_vocabulary(vocabulary: Optional[Vocabulary], levels: int) -> _Native:
    if vocabulary is None:
        return None, None, None, -1
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"vocabulary is {type(vocabulary).__name__}, expected a Vocabulary: Vocabulary(offsets=[..]), the token of"
            " each level's code 0, or Vocabulary(maps=[..]), per level the token of each code"
        )
    return vocabulary._native(levels)
