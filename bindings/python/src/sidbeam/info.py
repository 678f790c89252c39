"""Descriptions of an index, a constraint, and what a build will need. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Union

import numpy as np

from . import _native
from .arrays import vector
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
    verified: Verify  #: depth to which it was found sound; FULL after a builder's finish, HEADER after a peek
    version: int  #: of a live catalogue, whose ``sids`` and ``items`` count those that have gone too; otherwise 0
    generation: int
    live_items: int  #: of a version, those that have not gone; otherwise ``items``
    fingerprint: str


@dataclasses.dataclass(frozen=True)
class ConstraintInfo:
    """What a host must know of a constraint to shape its arrays."""

    levels: int
    variable_length: bool
    kinds: Kind
    sids: int
    items: int
    codes: tuple[int, ...]  #: [levels]
    fingerprint: str  #: of the index
    rules: bool  #: whether there are a filter or lists
    allowed_sids: int  #: without rules, as this and the next, those of the index
    allowed_items: int
    unknown_excluded: int  #: entries of the lists that name no item
    unknown_allowed: int


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of an index file; ``level`` is -1 where it belongs to no level."""

    kind: str
    encoding: str
    level: int
    offset: int
    bytes: int
    checksum: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes of an index, in bytes, before it is built. ``exact`` False: expected for SIDs drawn uniformly."""

    exact: bool
    sids: int
    items: int
    file_bytes: int
    peak_bytes: int
    nodes: tuple[int, ...]  #: [levels] distinct prefixes of l + 1 codes
    sections: tuple[Section, ...]  #: of the file, in its order; their checksums are 0


@dataclasses.dataclass(frozen=True)
class Upload:
    """What a device holds of an index."""

    kinds: Kind
    bytes: int


def fields_from(cls: Any, prefix: str, numbers: np.ndarray, levels: int) -> dict[str, Any]:
    """Fields by their places in the native layer: `sids` stands at FLAT_INFO_SIDS."""
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
    values = _values(IndexInfo, "FLAT_INFO", numbers, int(numbers[_native.FLAT_INFO_LEVELS]), fingerprint)
    values["id_type"] = IdType(values["id_type"])
    values["verified"] = Verify(values["verified"])
    return IndexInfo(**values)


def _values(cls: Any, prefix: str, numbers: np.ndarray, levels: int, fingerprint: bytearray) -> dict[str, Any]:
    values = fields_from(cls, prefix, numbers, levels)
    values["variable_length"] = bool(values["variable_length"])
    values["kinds"] = Kind(values["kinds"])
    values["fingerprint"] = fingerprint.decode("ascii").rstrip("\0")
    return values


def constraint_info(handle: Any) -> ConstraintInfo:
    numbers, fingerprint = np.zeros(_native.FLAT_CONSTRAINT_COUNT, np.int64), bytearray(32)
    _native.flat_constraint_get_info(handle, numbers, fingerprint)
    levels = int(numbers[_native.FLAT_CONSTRAINT_LEVELS])
    values = _values(ConstraintInfo, "FLAT_CONSTRAINT", numbers, levels, fingerprint)
    values["rules"] = bool(values["rules"])
    return ConstraintInfo(**values)


def info_arrays() -> tuple[np.ndarray, bytearray]:
    return np.zeros(_native.FLAT_INFO_COUNT, np.int64), bytearray(32)


def sections_from(count: int, get_section: Callable[..., None], handle: Any) -> tuple[Section, ...]:
    """Sections 0 .. count-1 of an index or a plan, by the native function that gives one."""
    sections = []
    numbers = np.zeros(4, np.int64)
    for i in range(count):
        kind, encoding = bytearray(64), bytearray(64)
        get_section(handle, i, numbers, kind, encoding)
        name, form = (text.split(b"\0", 1)[0].decode() for text in (kind, encoding))
        sections.append(Section(name, form, *numbers.tolist()))
    return tuple(sections)


def plan_from(handle: Any, levels: int) -> Plan:
    numbers = np.zeros(_native.FLAT_PLAN_COUNT, np.int64)
    _native.flat_plan_get_info(handle, numbers)
    values = fields_from(Plan, "FLAT_PLAN", numbers, levels)
    values["exact"] = bool(values["exact"])
    count = int(numbers[_native.FLAT_PLAN_SECTION_COUNT])
    return Plan(sections=sections_from(count, _native.flat_plan_get_section, handle), **values)


def plan_estimate(
    codes: Any,
    sids: int,
    *,
    variable_length: bool = False,
    id_type: Union[IdType, str] = IdType.I64,
    kinds: KindLike = Kind.TRIE,
    keep_priorities: bool = False,
) -> Plan:
    """Sizes expected for `sids` distinct SIDs drawn uniformly, one item each, without building anything.

    ``codes``: codes per level. Priorities that are kept count as of 8 bytes. Raises :class:`InvalidArgument` where
    there are more SIDs than the codes allow.
    """
    levels = vector(codes, np.int32, "codes")
    handle = _native.flat_plan_estimate(
        levels, bool(variable_length), member(IdType, id_type), int(kinds_of(kinds)), bool(keep_priorities), sids
    )
    return plan_from(handle, len(levels))
