"""The application: from a request to the route that answers it, its errors, its counts and its line of the log.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from typing import Any, Awaitable, Callable, MutableMapping, Optional

from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response
from starlette.routing import Route, Router

from . import logs
from .calls import MAX_HEADERS, Call, HungUp, Receive
from .changes import Changes
from .metrics import HUNG_UP
from .refusals import Refusal, encoded, shown
from .routes import Routes
from .service import Service
from .tracing import Tracer

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


# A path, a URI with its scheme, or the server as such; as far as the query.
_TARGET = re.compile(rb"(?:/|[A-Za-z][A-Za-z0-9+.-]*:)[^%]*(?:%[0-9A-Fa-f]{2}[^%]*)*|\*")


class _Rest(Convertor[str]):
    """The rest of a path: ids are any text."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("sidbeam_rest", _Rest())


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """What a route answers, and what it asks of a request before that."""

    service: Service
    route: str
    method: str
    answer: Callable[[Call], Awaitable[Any]]
    opened: bool = True  #: it needs the model and the index
    counted: bool = True  #: among the requests that run
    token: bool = False
    live: Optional[str] = None  #: "read" or "written": of a live catalogue that this service may read, or writes
    json: bool = False  #: it has a body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call: Call = scope["call"]
        call.route = self.route
        if call.method != self.method:
            message = f"{self.route} is for {self.method}"
            raise Refusal("method_not_allowed", message, headers={"allow": self.method})
        if self.opened:
            self.service.check_ready()
        if self.token:
            self.service.token.check(call.headers.get("authorization"))
        if not self.counted:
            await self._answer(call, scope, receive, send)
            return
        with self.service.running():
            await self._answer(call, scope, receive, send)

    async def _answer(self, call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        if self.live == "read":
            self.service.live()
        elif self.live == "written":
            self.service.written()
        if self.json:
            call.check_json()
        answer = await self.answer(call)
        if isinstance(answer, str):
            response = Response(answer, media_type="text/plain; version=0.0.4; charset=utf-8")
        else:
            body = answer if isinstance(answer, bytes) else encoded(answer)
            response = Response(body, media_type="application/json")
        await response(scope, receive, send)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["method"] == "OPTIONS" and scope["path"] == "*":  # of the server as such
        await Response()(scope, receive, send)
        return
    raise Refusal("not_found", "there is no such route")


def _router(service: Service) -> Router:
    routes, changes = Routes(service), Changes(service)

    def change(route: str, method: str, answer: Callable[[Call], Awaitable[Any]], json: bool = False) -> Endpoint:
        return Endpoint(service, route, method, answer, token=True, live="written", json=json)

    endpoints = [
        Endpoint(service, "/recommend", "POST", routes.recommend, json=True),
        Endpoint(service, "/healthz", "GET", routes.healthz, opened=False, counted=False),
        Endpoint(service, "/readyz", "GET", routes.readyz, counted=False),
        Endpoint(service, "/metrics", "GET", routes.metrics, counted=False),
        Endpoint(service, "/reload", "POST", routes.reload, token=True),
        change("/items", "POST", changes.add, json=True),
        change("/items/{id}", "DELETE", changes.remove),
        change("/publish", "POST", changes.publish),
        change("/rollback", "POST", changes.roll_back, json=True),
        change("/compact", "POST", changes.compact),
        Endpoint(service, "/versions", "GET", changes.versions, live="read"),
    ]
    paths = [endpoint.route.replace("{id}", "{id:sidbeam_rest}") for endpoint in endpoints]
    made = [Route(path, endpoint) for path, endpoint in zip(paths, endpoints)]
    return Router(made, redirect_slashes=False, default=_nowhere)


class Front:
    """The ASGI application."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._router, self._tracer = _router(service), Tracer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        beyond = _beyond(scope)
        if scope["raw_path"][:1] not in (b"/", b"*"):
            _without_authority(scope)
        call = scope["call"] = Call(scope, receive)
        if beyond is not None:
            call.unread = call.closes = True
        status, refusal = HUNG_UP, None

        async def send_ours(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers(call)]
            await send(message)

        with self._tracer.span(call.method, call.headers) as span:
            try:
                refusal = beyond or await self._refusal(call, scope, receive, send_ours)
                if refusal is not None and status == HUNG_UP:  # nothing was sent
                    await self._refuse(call, refusal, scope, receive, send_ours)
            except HungUp:
                pass
            self._tracer.answered(span, call.method, call.route, status)
        self.service.metrics.answered(call.route, status, call.seconds)
        self._log(call, status, refusal)

    def _headers(self, call: Call) -> list[tuple[bytes, bytes]]:
        headers = [(b"x-request-id", call.request_id.encode())]
        if call.must_close or self.service.draining.is_set():
            headers.append((b"connection", b"close"))
        return headers

    async def _refusal(self, call: Call, scope: Scope, receive: Receive, send: Send) -> Optional[Refusal]:
        """Answers a request, or says why not."""
        try:
            await self._router(scope, receive, send)
            return None
        except Refusal as refusal:
            return refusal
        except HungUp:
            raise
        except asyncio.CancelledError:  # the time of draining is over
            return Refusal("draining", "the service ends")
        except Exception as error:
            logs.event("failed", logging.ERROR, message=str(error), request_id=call.request_id, cause=error)
            return Refusal("internal", "this is not your mistake: the service's log has more")

    async def _refuse(self, call: Call, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        body = refusal.body(call.request_id)
        await Response(body, refusal.status, refusal.headers, "application/json")(scope, receive, send)

    def _log(self, call: Call, status: int, refusal: Optional[Refusal]) -> None:
        logs.event(
            "request",
            request_id=call.request_id,
            trace_id=call.trace.trace_id,
            parent_id=call.trace.parent_id,
            method=call.method,
            route=call.route,
            status=status,
            seconds=round(call.seconds, 6),
            code=None if refusal is None else refusal.code,
            message=None if refusal is None else refusal.message,
        )


def _without_authority(scope: Scope) -> None:
    """Of a request's target in its absolute form, the path."""
    for name, slash in (("path", "/"), ("raw_path", b"/")):
        scope[name] = slash + slash.join(scope[name].split(slash, 3)[3:])


def _beyond(scope: Scope) -> Optional[Refusal]:
    """Why a request is not looked at."""
    if scope["http_version"] not in ("1.0", "1.1"):
        return Refusal("invalid_argument", f"this is HTTP/{scope['http_version']}, expected HTTP/1.1")
    if not _TARGET.fullmatch(scope["raw_path"]) and scope["method"] != "CONNECT":
        return Refusal("invalid_argument", f"this is no HTTP/1.1: the target is {shown(scope['raw_path'].decode())}")
    line = len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"]) + len("  HTTP/1.1\r\n\r\n")
    if line + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"]) > MAX_HEADERS:
        return Refusal("headers_too_large", f"the headers have more than {MAX_HEADERS} bytes")
    return None
