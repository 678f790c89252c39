"""The routes of a live catalogue. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import re
import urllib.parse
from typing import Any

from ..aio import to_thread
from ..enums import IdType
from ..errors import SidbeamError
from ..live import VersionInfo
from . import bodies
from .additions import Additions
from .calls import Call
from .ids import Id, read_id
from .refusals import Refusal, of_change, shown
from .service import Service

_MOST = 2**63 - 1


class Changes:
    """Each call of the catalogue has a thread of its own. What it brings is made ready by that thread before the answer
    (:class:`sidbeam.following.Newest`), so that a client who has it finds what it says."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def _body(self, call: Call) -> bytes:
        return await call.body(self._service.options.body_time)

    async def add(self, call: Call) -> Any:
        live = self._service.live()
        body = await self._body(call)

        def add() -> int:
            types = {name: attribute.type for name, attribute in live.current.index.attributes.items()}
            given = Additions(bodies.parse(body), live.current.info, types)
            priorities = given.priorities or None
            live.catalog.add(given.sids, given.ids, priorities=priorities, attributes=given.attributes or None)
            return len(given.ids)

        return {"added": await _changed(asyncio.to_thread(add), "items")}

    async def remove(self, call: Call) -> Any:
        await call.no_body(self._service.options.body_time)
        id = _id_of(call.raw_path, self._service.served.info.id_type)
        if await _changed(asyncio.to_thread(self._service.written().remove, [id]), "id"):
            raise Refusal("not_found", f"there is no item {shown(id)}")
        return {"removed": id}

    async def publish(self, call: Call) -> Any:
        await call.no_body(self._service.options.body_time)
        return await self._serves(asyncio.to_thread(self._service.written().publish))

    async def roll_back(self, call: Call) -> Any:
        given = bodies.members(bodies.parse(await self._body(call)), "", ["version"])
        expected = "the number of a version"
        version = bodies.integer(bodies.given(given, "version", "", expected), "version", 1, _MOST, expected)
        return await self._serves(asyncio.to_thread(self._service.written().rollback, version), "version")

    async def compact(self, call: Call) -> Any:
        await call.no_body(self._service.options.body_time)
        self._service.check_goes_on()
        work = to_thread(self._service.written().compact)
        return await self._serves(call.answered(work, until=self._service.draining))

    async def _serves(self, change: Any, path: str = bodies.BODY) -> Any:
        """The version that a change has made, which later requests get."""
        version = await _changed(change, path)
        if self._service.live().current.info.version < version:
            raise Refusal("internal", f"version {version} is published, but cannot be served: the log says why")
        return {"version": version}

    async def versions(self, call: Call) -> Any:
        live = self._service.live()
        kept = await self._service.look(live.catalog.versions)
        return {"version": live.current.version, "versions": [_kept(version) for version in kept]}


async def _changed(change: Any, path: str) -> Any:
    """What a call of the catalogue returns; ``path`` is where a mistake is that it tells."""
    try:
        return await change
    except SidbeamError as error:
        raise of_change(error, path) from error


def _id_of(raw_path: bytes, id_type: IdType) -> Id:
    """The id that is the rest of the path, as text."""
    given = urllib.parse.unquote_to_bytes(raw_path.partition(b"/items/")[2])
    try:
        text = given.decode()
    except UnicodeDecodeError:
        raise Refusal("invalid_argument", "id is not UTF-8", "id") from None
    if id_type == IdType.STRING:
        return text
    number = re.fullmatch(r"0|-?[1-9][0-9]{0,19}", text)
    return read_id(text if number is None else int(text), "id", id_type)


def _kept(version: VersionInfo) -> dict[str, Any]:
    return {
        "version": version.version,
        "generation": version.generation,
        "published": version.published.isoformat().replace("+00:00", "Z"),
        "items": version.items,
        "changed": version.changed,
        "bytes": version.bytes,
        "back_to": version.back_to or 0,
        "in_use": version.in_use,
    }
