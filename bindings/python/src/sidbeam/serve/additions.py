"""The body of POST /items. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ..enums import AttributeType
from ..info import IndexInfo
from . import bodies
from .ids import Id, read_id
from .questions import read_sid
from .refusals import Refusal, mistake

_LARGEST = float(np.finfo(np.float32).max)


def _integer(value: Any, path: str) -> int:
    return bodies.integer(value, path, -(2**63), 2**63 - 1, "an integer of 64 bits")


def _number(value: Any, path: str) -> float:
    if type(value) not in (int, float) or not abs(value) <= _LARGEST:  # also where it is not finite
        raise mistake(path, value, "a number of 32 bits")
    return float(value)


def _bool(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise mistake(path, value, "true or false")
    return value


def _strings(value: Any, path: str) -> list[str]:
    return [bodies.text(one, f"{path}[{i}]") for i, one in enumerate(bodies.array(value, path, "an array of strings"))]


_READERS: dict[AttributeType, Callable[[Any, str], Any]] = {
    AttributeType.I64: _integer,
    AttributeType.F32: _number,
    AttributeType.BOOL: _bool,
    AttributeType.STRING: bodies.text,
    AttributeType.STRING_LIST: _strings,
}


class Additions:
    """Pairs of a live catalogue, as :meth:`Catalog.add` takes them. All of them give the same attributes, or none: in a
    live pair, what is not given stays."""

    def __init__(self, value: Any, info: IndexInfo, attributes: dict[str, AttributeType]) -> None:
        self._info, self._types = info, attributes
        self.ids: list[Id] = []
        self.sids: list[list[int]] = []
        self.priorities: list[int] = []
        self.attributes: dict[str, list[Any]] = {}
        self._given: Optional[list[str]] = None  # by each item, besides its id and SID
        items = bodies.given(bodies.members(value, "", ["items"]), "items", "", "an array of items")
        for i, item in enumerate(bodies.array(items, "items", "an array of items", 1)):
            self._add(item, f"items[{i}]")

    def _add(self, value: Any, path: str) -> None:
        item = bodies.members(value, path, ["id", "sid", "priority", "attributes"])
        attributes: dict[str, Any] = {}
        if "attributes" in item:
            attributes = bodies.members(item["attributes"], bodies.of(path, "attributes"), sorted(self._types))
        self._check_given(sorted([*(f"attributes.{name}" for name in attributes), *item.keys() & {"priority"}]), path)
        id = bodies.given(item, "id", path, "the id of an item")
        self.ids.append(read_id(id, f"{path}.id", self._info.id_type))
        sid = bodies.given(item, "sid", path, "an array of codes")
        self.sids.append(read_sid(sid, f"{path}.sid", self._info))
        if "priority" in item:
            self.priorities.append(_integer(item["priority"], f"{path}.priority"))
        for name, value in attributes.items():
            read = _READERS[self._types[name]]
            given = None if value is None else read(value, f"{path}.attributes.{name}")
            self.attributes.setdefault(name, []).append(given)

    def _check_given(self, given: list[str], path: str) -> None:
        self._given = given if self._given is None else self._given
        if given != self._given:
            raise Refusal(
                "invalid_argument",
                f"{path} gives [{', '.join(given)}], expected [{', '.join(self._given)}] as items[0] does; an attribute"
                " may be null",
                path,
            )
