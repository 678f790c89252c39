"""HTTP/1.1 over a connection: uvicorn's own, with the errors, limits and the way to close of the contract.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Optional

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from . import logs
from .calls import BROKEN, MAX_HEADERS, new_request_id
from .refusals import Refusal
from .service import Service

_LINGER = 5.0  # seconds that a closed connection waits for more of what its client was sending
_LINGER_MOST = 30.0  # and in all: a client that never stops shall not keep it


class Lingering:
    """A transport that first closes its own half, and then waits for the client to close the other: what would still
    come on a closed connection resets it, and a client may lose an answer that it has not read yet."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        self._transport, self._loop, self._patience = transport, loop, patience
        self._pending: list[bytes] = []
        self._latest = 0.0  # when the last byte came, of those since the end
        self.ends = False

    def write(self, data: bytes) -> None:
        """With what else is written in this turn of the loop: an answer's headers and body are one packet."""
        if self.is_closing():
            return
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending.append(data)

    def _flush(self) -> None:
        data, self._pending = b"".join(self._pending), []
        if data:
            self._transport.write(data)

    def close(self) -> None:
        if self.is_closing():
            return
        self._flush()
        self.ends = True
        try:
            self._transport.write_eof()
        except OSError:  # the client has reset it
            self._transport.abort()
        self._transport.resume_reading()
        self.received()
        self._linger(self._loop.time() + _LINGER_MOST)

    def received(self) -> None:
        """Something came on a closed connection."""
        self._latest = self._loop.time()

    def _linger(self, end: float) -> None:
        then = min(self._latest + _LINGER, end)
        if self._loop.time() < then:
            self._loop.call_at(then, self._linger, end)
        else:
            self._close()

    def cut(self) -> None:
        """Closes both halves."""
        self._flush()
        self.ends = True
        self._transport.close()

    def _close(self) -> None:
        self._transport.close()
        self._loop.call_later(self._patience, self._transport.abort)  # of a client that does not read

    def is_closing(self) -> bool:
        return self.ends or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(H11Protocol):
    """Of a connection. The limits are those of the application, which is a :class:`Front`."""

    transport: Lingering  # type: ignore[assignment]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._service: Service = self.app.service
        self._limits = self._service.options
        self._headers_late: Optional[asyncio.TimerHandle] = None
        self._client_slow: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Lingering(transport, self.loop, self._limits.body_time))  # type: ignore[arg-type]
        self._service.accepted += 1
        if len(self.connections) > self._limits.connections:
            self._refuse(Refusal("overloaded", f"{self._limits.connections} connections are open, as many as may"))
        else:
            late = self.loop.call_later(self._limits.idle_time, self.timeout_keep_alive_handler)
            self.timeout_keep_alive_task = late

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._headers_late, self._client_slow = _stopped(self._headers_late), _stopped(self._client_slow)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.ends:
            self.transport.received()
            return
        super().data_received(data)
        if self.transport.ends or not self._owes():
            self._headers_late = _stopped(self._headers_late)
        elif self._headers_late is None:
            self._headers_late = self.loop.call_later(self._limits.header_time, self._end_of_patience)

    def _owes(self) -> bool:
        """Whether the client has begun headers, or is not done with a body that nobody waits for."""
        answered = self.cycle is not None and self.cycle.response_complete
        return self.conn.their_state is h11.IDLE or (answered and self.conn.their_state is h11.SEND_BODY)

    def _end_of_patience(self) -> None:
        self._refuse(Refusal("timeout", f"the headers did not come within {self._limits.header_time:g} s"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._client_slow = self.loop.call_later(self._limits.body_time, self.transport.abort)

    def resume_writing(self) -> None:
        self._client_slow = _stopped(self._client_slow)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Called where the client's bytes are no HTTP, or where its headers do not end."""
        error = sys.exc_info()[1]
        if self.cycle is not None and not self.cycle.response_complete:  # in the body of a request, which tells so
            self.cycle.scope[BROKEN] = True  # type: ignore[typeddict-unknown-key]
            self.cycle.keep_alive = False
            self.cycle.message_event.set()
        elif getattr(error, "error_status_hint", 400) == 431:
            self._refuse(Refusal("headers_too_large", f"the headers have more than {MAX_HEADERS} bytes"))
        else:
            self._refuse(Refusal("invalid_argument", f"this is no HTTP/1.1: {error}"))

    def _refuse(self, refusal: Refusal) -> None:
        """Answers what is no request, which is counted and logged like one, and closes the connection."""
        body = refusal.body(request_id := new_request_id())
        headers = {
            **refusal.headers,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            "x-request-id": request_id,
        }
        response = h11.Response(
            status_code=refusal.status, headers=list(headers.items()), reason=STATUS_PHRASES[refusal.status]
        )
        try:
            answer = [self.conn.send(event) or b"" for event in (response, h11.Data(data=body), h11.EndOfMessage())]
        except h11.LocalProtocolError:  # an answer is under way, or over
            pass
        else:
            self._service.metrics.answered("other", refusal.status, 0.0)
            told = {"route": "other", "status": refusal.status, "code": refusal.code, "message": refusal.message}
            logs.event("request", request_id=request_id, **told)
            self.transport.write(b"".join(answer))
        self.transport.close()

    def shutdown(self) -> None:
        """Of uvicorn's end, which comes when the time of draining is over: nobody waits any more."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.cut()
        else:
            self.cycle.keep_alive = False


def _stopped(timer: Optional[asyncio.TimerHandle]) -> Optional[asyncio.TimerHandle]:
    if timer is not None:
        timer.cancel()
    return None
