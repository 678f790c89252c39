"""The body of POST /recommend. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from ..enums import IdType
from ..info import IndexInfo
from . import bodies
from .ids import Id, expected_of, read_id, read_ids
from .options import Options
from .refusals import Refusal, mistake

RULES = {"exclude", "allow", "where", "filter"}
_MEMBERS = ("histories", "k", *sorted(RULES))
_K = 10


@dataclasses.dataclass(frozen=True)
class Question:
    """What a request asks for, checked against the index that it is asked of; the rules are None where not given."""

    histories: list[list[Any]]  #: of ids and of SIDs, which are lists
    k: int
    exclude: Optional[list[Id]]
    allow: Optional[list[Id]]
    where: Optional[str]
    filter: Optional[str]

    @property
    def lists(self) -> bool:
        return self.exclude is not None or self.allow is not None

    @property
    def rules(self) -> bool:
        return self.lists or self.where is not None or self.filter is not None


def read_question(value: Any, info: IndexInfo, options: Options) -> Question:
    given = bodies.members(value, "", _MEMBERS)
    histories = bodies.given(given, "histories", "", "an array of histories")
    lists = {
        name: read_ids(given[name], name, info.id_type, options.listed) if name in given else None
        for name in ("exclude", "allow")
    }
    where = bodies.text(given["where"], "where") if "where" in given else None
    if where is not None and (size := len(where.encode())) > options.where_bytes:
        raise Refusal("invalid_argument", f"where has {size} bytes, expected at most {options.where_bytes}", "where")
    return Question(
        histories=_histories(histories, info, options.histories),
        k=bodies.integer(given.get("k", min(_K, options.beams)), "k", 1, options.beams),
        where=where,
        filter=bodies.text(given["filter"], "filter") if "filter" in given else None,
        **lists,
    )


def _histories(value: Any, info: IndexInfo, most: int) -> list[list[Any]]:
    histories = bodies.array(value, "histories", "an array of histories", 1, most)
    for i, history in enumerate(histories):
        path = f"histories[{i}]"
        for j, item in enumerate(bodies.array(history, path, "an array of items")):
            if isinstance(item, list):
                read_sid(item, f"{path}[{j}]", info)
            else:
                _read_item(item, f"{path}[{j}]", info.id_type)
    return histories


def _read_item(value: Any, path: str, id_type: IdType) -> None:
    try:
        read_id(value, path, id_type)
    except Refusal:
        raise mistake(path, value, f"a SID, or {expected_of(id_type)}") from None


def read_sid(value: Any, path: str, info: IndexInfo) -> list[int]:
    """The codes of a SID of the index's form, whether it has that SID or not."""
    codes = bodies.array(value, path, "an array of codes")
    least = 1 if info.variable_length else info.levels
    if not least <= len(codes) <= info.levels:
        expected = f"{least} .. {info.levels}" if info.variable_length else str(info.levels)
        raise Refusal("invalid_argument", f"{path} has {len(codes)} codes, expected {expected}", path)
    for level, code in enumerate(codes):
        bodies.integer(code, f"{path}[{level}]", 0, info.codes[level] - 1)
    return codes
