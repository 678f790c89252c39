"""The life of the process: it listens, opens what it serves, and ends without dropping a request.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import time
from typing import Iterator, Optional

import uvicorn

from . import logs
from .calls import MAX_HEADERS
from .front import Front
from .options import Address, Options
from .protocol import Protocol
from .refusals import reason_of
from .service import Service

_LOOK = 0.02  # seconds between looks at what is still open
_LAST = 1  # and that a connection which is cut off may take


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: uvicorn would close connections on which a request may be under way."""
        yield

    def stop_listening(self) -> None:
        """At once: uvicorn itself looks every 0.1 s whether it shall, and cuts off what came meanwhile."""
        for server in self.servers:
            server.close()

    async def shutdown(self, sockets: Optional[list[socket.socket]] = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what it cuts off, "dropped" has told
        await super().shutdown(sockets)


def _server(service: Service) -> _Server:
    config = uvicorn.Config(
        Front(service),
        loop="asyncio",
        http=Protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=service.options.idle_time,  # type: ignore[arg-type]
        timeout_graceful_shutdown=_LAST,
        h11_max_incomplete_event_size=MAX_HEADERS,
    )
    server = _Server(config)
    state = server.server_state
    # A client may have gone whose request is not over yet.
    service.connections = lambda: max(len(state.connections), len(state.tasks))
    return server


def run(options: Options) -> int:
    """Serves until SIGTERM or SIGINT; returns the process's status."""
    logs.begin(options.log)
    _allow_connections()
    try:
        listener = _listener(options.listen)
        return asyncio.run(_serve(options, listener))
    except Exception as error:
        logs.event("failed", logging.ERROR, message=reason_of(error))
        return 1


def _allow_connections() -> None:
    """A process may often open 1024 files, unless it asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _listener(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server(tuple(address), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"cannot listen on {address}: {error.strerror or error}") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # its connections have it too
    return listener


async def _serve(options: Options, listener: socket.socket) -> int:
    service = Service(options)
    server = _server(service)
    serving = asyncio.create_task(server.serve([listener]))
    _heed_signals(service)
    logs.event("listening", address=str(Address(*listener.getsockname()[:2])))
    opening = asyncio.create_task(_opened(service))
    ending = asyncio.create_task(service.draining.wait())
    await asyncio.wait([opening, ending, serving], return_when=asyncio.FIRST_COMPLETED)
    if opening.done():
        opening.result()
    await asyncio.wait([ending, serving], return_when=asyncio.FIRST_COMPLETED)
    begin = time.monotonic()
    await _drained(service, server)
    server.should_exit = True
    await serving
    await _closed(service, opening, max(options.drain - (time.monotonic() - begin), _LAST))
    return 0


async def _opened(service: Service) -> None:
    """Opens what is served, and tells so, also of a service that drains meanwhile."""
    try:
        await service.open()
    except Exception as error:
        if not service.draining.is_set():
            raise
        logs.event("failed", logging.ERROR, message=reason_of(error))
    else:
        logs.event("ready", version=service.served.version)


def _heed_signals(service: Service) -> None:
    loop = asyncio.get_running_loop()

    def end() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        logs.event("draining")
        service.draining.set()

    def reload() -> None:
        if service.ready:
            loop.create_task(_reload(service))

    loop.add_signal_handler(signal.SIGTERM, end)
    loop.add_signal_handler(signal.SIGINT, end)
    loop.add_signal_handler(signal.SIGHUP, reload)


async def _reload(service: Service) -> None:
    with contextlib.suppress(Exception):  # which is logged and counted
        await service.reload()


async def _drained(service: Service, server: _Server) -> None:
    """Until no request runs and for a while no connection was open, or the time is over. What was accepted until then
    is answered, too."""
    limits, metrics = service.options, service.metrics
    begin = quiet_since = time.monotonic()
    accepted, listening = service.accepted, True
    while True:
        now = time.monotonic()
        if service.connections() or metrics.running or accepted != service.accepted:
            quiet_since, accepted = now, service.accepted
        elif not listening:
            return
        elif now - quiet_since >= limits.quiet:
            server.stop_listening()
            listening = False
        if now - begin >= limits.drain:
            logs.event("dropped", logging.WARNING, requests=metrics.running, connections=service.connections())
            return
        await asyncio.sleep(_LOOK)


async def _closed(service: Service, opening: asyncio.Task[None], seconds: float) -> None:
    """Gives back what is open. The process does not wait for longer: what a thread of it does then, ends with it, as
    does a reload, or the opening of a model that nobody needs any more."""
    done = opening.done()
    if done:
        closing = asyncio.create_task(service.close())
        done = bool((await asyncio.wait([closing], timeout=seconds))[0])
    logs.event("ended")
    if not done:
        os._exit(0)
