"""A request under way. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from typing import Any, Awaitable, Callable, Coroutine, MutableMapping, Optional, TypeVar

from starlette.datastructures import Headers

from . import bodies
from .refusals import Refusal, shown
from .tracing import trace_parent

T = TypeVar("T")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY = 1 << 20
MAX_HEADERS = 16 << 10  # bytes, with the request's line
TIMEOUT = "X-Request-Timeout-Ms"
BROKEN = "sidbeam.broken"  # in the scope of a request whose body is no HTTP any more
_SKIPPED = 256 << 10  # bytes of a body that nobody wants, and which the next request may come after
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MOST_MS = 86_400_000


class HungUp(Exception):
    """The client has gone: there is nobody to answer."""


def new_request_id() -> str:
    return uuid.uuid4().hex


class Call:
    """A request, from the arrival of its headers to its answer."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive) -> None:
        self.begin = time.monotonic()
        self.method: str = scope["method"]
        self.raw_path: bytes = scope["raw_path"]
        self.headers = Headers(scope=scope)
        given = self.headers.get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else new_request_id()
        self.trace = trace_parent(self.headers.get("traceparent"))
        self.route = "other"
        self.receive = receive
        self._scope = scope
        declared = self.headers.get("content-length", "0")
        endless = "transfer-encoding" in self.headers
        self.unread = endless or declared != "0"  #: whether some of its body may still come
        self.closes = endless or "expect" in self.headers or not declared.isdigit() or int(declared) > _SKIPPED

    @property
    def must_close(self) -> bool:
        """Whether the connection ends with the answer: the rest of the body may be long."""
        return self.unread and self.closes

    @property
    def seconds(self) -> float:
        """Since it came."""
        return time.monotonic() - self.begin

    def check_json(self) -> None:
        """What a web page of another origin may send unasked is no JSON."""
        kind = self.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            expected = f"Content-Type is {shown(kind)}, expected application/json"
            raise Refusal("unsupported_media_type", expected)

    async def body(self, seconds: float) -> bytes:
        """All of it, which has so long to come, from the arrival of the headers on."""
        if not self.unread:
            return b""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > MAX_BODY:
            raise _too_large()
        try:
            body = await asyncio.wait_for(self._whole(), max(seconds - self.seconds, 0))
        except asyncio.TimeoutError:
            self.closes = True
            raise Refusal("timeout", f"the body did not come within {seconds:g} s") from None
        self.unread = False
        return body

    async def _whole(self) -> bytes:
        body = bytearray()
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            if BROKEN in self._scope:
                raise Refusal("invalid_argument", "the body is not in chunks of HTTP/1.1", bodies.BODY)
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                raise _too_large()
            more = message.get("more_body", False)
        return bytes(body)

    async def no_body(self, seconds: float) -> None:
        """There is none, or an object without members."""
        if body := await self.body(seconds):
            bodies.members(bodies.parse(body), "", [])

    def limit(self, most: float) -> float:
        """Seconds from its arrival to its answer: the service's, or those that the client gives it."""
        for given in self.headers.getlist(TIMEOUT):
            if not re.fullmatch(r"[1-9][0-9]{0,7}", given) or int(given) > _MOST_MS:
                raise Refusal("invalid_argument", f"{TIMEOUT} is {shown(given)}, expected 1 .. {_MOST_MS}", TIMEOUT)
            most = min(int(given) / 1000, most)
        return most

    async def answered(
        self, work: Coroutine[Any, Any, T], limit: Optional[float] = None, until: Optional[asyncio.Event] = None
    ) -> T:
        """What the work returns. It is cancelled, and over, if the client hangs up, so many seconds since the request
        came are over, or the service is about to end, as ``until`` tells."""
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(self._hang_up())
        ends = [] if until is None else [asyncio.ensure_future(until.wait())]
        left = None if limit is None else max(limit - self.seconds, 0)
        try:
            await asyncio.wait([task, gone, *ends], timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise HungUp
            if any(end.done() for end in ends):
                raise Refusal("draining", "the service is about to end")
            raise Refusal("deadline_exceeded", f"there was no answer within {limit:g} s")
        finally:
            for one in (task, gone, *ends):
                one.cancel()
            if not task.done():
                await asyncio.wait([task])
                _seen(task)

    async def _hang_up(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _too_large() -> Refusal:
    return Refusal("too_large", f"the body has more than {MAX_BODY} bytes")


def _seen(task: asyncio.Task[Any]) -> None:
    """Asks for its exception, which the loop would otherwise report as never retrieved."""
    if not task.cancelled():
        task.exception()
