"""What an index says of itself, and what a build will need. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Union

import numpy as np

from . import _native
from .arrays import host
from .enums import IdType, Kind, KindLike, Verify, kinds_of, member


@dataclasses.dataclass(frozen=True)
class IndexInfo:
    """The header of an index, and how far the rest was checked. Tuples are by level."""

    format_major: int
    format_minor: int
    levels: int
    variable_length: bool
    shortest: int
    longest: int
    id_type: IdType
    kinds: Kind
    section_count: int
    metadata_count: int
    sids: int
    items: int
    merged_pairs: int
    collisions: int
    max_items_per_sid: int
    file_bytes: int
    codes: tuple[int, ...]
    max_children: tuple[int, ...]
    nodes: tuple[int, ...]
    verified: Verify  #: depth to which it was found sound; FULL where a builder finished it, HEADER of a file's peek
    fingerprint: str


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of an index file; ``level`` is -1 where it belongs to none."""

    kind: str
    encoding: str
    level: int
    offset: int
    bytes: int
    checksum: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes of an index, in bytes, before it is built. Tuples are by level.

    ``exact`` False: expected for SIDs drawn uniformly.
    """

    exact: bool
    sids: int
    items: int
    file_bytes: int
    peak_bytes: int
    hash_bytes: int
    item_bytes: int
    nodes: tuple[int, ...]
    row_pointer_bytes: tuple[int, ...]
    token_bytes: tuple[int, ...]
    dense_bytes: tuple[int, ...]
    ordinal_bytes: tuple[int, ...]
    end_bytes: tuple[int, ...]
    sorted_bytes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Upload:
    """What of an index is on a device."""

    kinds: Kind
    bytes: int


def _fields(cls: Any, prefix: str, numbers: np.ndarray, levels: int) -> dict[str, Any]:
    """Fields by the native layer's places for them: FLAT_INFO_SIDS is where `sids` stands."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        place = getattr(_native, f"{prefix}_{field.name.upper()}", None)
        if place is None:
            continue
        if str(field.type).startswith("tuple"):
            values[field.name] = tuple(numbers[place : place + levels].tolist())
        else:
            values[field.name] = int(numbers[place])
    return values


def info_from(numbers: np.ndarray, fingerprint: bytearray) -> IndexInfo:
    levels = int(numbers[_native.FLAT_INFO_LEVELS])
    values = _fields(IndexInfo, "FLAT_INFO", numbers, levels)
    values["variable_length"] = bool(values["variable_length"])
    values["id_type"] = IdType(values["id_type"])
    values["kinds"] = Kind(values["kinds"])
    values["verified"] = Verify(values["verified"])
    return IndexInfo(fingerprint=fingerprint.decode("ascii").rstrip("\0"), **values)


def info_arrays() -> tuple[np.ndarray, bytearray]:
    return np.zeros(_native.FLAT_INFO_COUNT, np.int64), bytearray(32)


def plan_from(numbers: np.ndarray, levels: int) -> Plan:
    values = _fields(Plan, "FLAT_PLAN", numbers, levels)
    values["exact"] = bool(values["exact"])
    return Plan(**values)


def plan_estimate(
    codes: Any,
    sids: int,
    *,
    variable_length: bool = False,
    id_type: Union[IdType, str] = IdType.I64,
    kinds: KindLike = Kind.TRIE,
) -> Plan:
    """Sizes expected for `sids` distinct SIDs drawn uniformly, one item each, without building anything.

    ``codes``: codes of each level. Raises :class:`InvalidArgument` where there are more SIDs than the codes allow.
    """
    levels = host(codes, np.int32, "codes")
    numbers = np.zeros(_native.FLAT_PLAN_COUNT, np.int64)
    _native.flat_plan_estimate(
        levels, bool(variable_length), member(IdType, id_type), int(kinds_of(kinds)), sids, numbers
    )
    return plan_from(numbers, len(levels))
