"""Ids of items, as an index has them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Callable, Union

from ..enums import IdType
from .bodies import array
from .refusals import mistake

Id = Union[int, str]


def _is_name(value: Any) -> bool:
    return type(value) is str


def _is_signed(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_unsigned(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**64


_CHECKS: dict[IdType, Callable[[Any], bool]] = {
    IdType.STRING: _is_name,
    IdType.I64: _is_signed,
    IdType.U64: _is_unsigned,
}
_EXPECTED = {
    IdType.STRING: "a string",
    IdType.I64: "an integer of 64 bits",
    IdType.U64: "an integer of 64 bits without sign",
}


def expected_of(id_type: IdType) -> str:
    return f"{_EXPECTED[id_type]}, as the ids of this index are"


def read_id(value: Any, path: str, id_type: IdType) -> Id:
    if not _CHECKS[id_type](value):
        raise mistake(path, value, expected_of(id_type))
    id: Id = value
    return id


def read_ids(value: Any, path: str, id_type: IdType, most: int) -> list[Id]:
    """A list of a request's, of ids and nothing else."""
    ids = array(value, path, "an array of ids", 0, most)
    if not all(map(_CHECKS[id_type], ids)):
        for i, id in enumerate(ids):
            read_id(id, f"{path}[{i}]", id_type)
    return ids
