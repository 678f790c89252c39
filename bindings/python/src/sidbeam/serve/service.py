"""What the requests of a service share: its model and index, its counts, and whether it is about to end.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from typing import Any, Callable, Iterator, Optional, TypeVar

from ..live import Catalog
from . import logs
from .metrics import Metrics
from .options import Options
from .recommender import Recommender
from .refusals import Refusal, reason_of
from .served import Served
from .sources import LiveSource, Source, open_source
from .tokens import Token

T = TypeVar("T")

_CHANGES = 8  # calls that change what is served at a time; a compaction takes one for long


class Service:
    """Lives on one event loop, which no call of the library holds up: what may take long runs on threads, those of
    requests' rules beside those of changes."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.token = Token(options.token_file)
        self.metrics = Metrics()
        self.draining = asyncio.Event()
        self.accepted = 0  # connections, since the start
        self.connections: Callable[[], int] = lambda: 0  # that are open
        self.source: Optional[Source] = None
        self.recommender: Optional[Recommender] = None
        self._aside = concurrent.futures.ThreadPoolExecutor(options.lanes, "sidbeam-rules")
        self._looks = concurrent.futures.ThreadPoolExecutor(1, "sidbeam-looks")
        changes = concurrent.futures.ThreadPoolExecutor(_CHANGES, "sidbeam-changes")
        asyncio.get_running_loop().set_default_executor(changes)  # where sidbeam.to_thread has it

    async def open(self) -> None:
        """Opens the index and the model; until then all that needs them is refused."""
        source = await asyncio.to_thread(open_source, self.options)
        try:
            recommender = await asyncio.to_thread(Recommender, self.options, source.current)
        except BaseException:
            source.close()
            raise
        self.source, self.recommender = source, recommender

    @property
    def ready(self) -> bool:
        return self.recommender is not None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While a request runs, of which there may be so many."""
        if self.metrics.running >= self.options.requests:
            raise Refusal("overloaded", f"{self.metrics.running} requests run, as many as may")
        self.metrics.running += 1
        try:
            yield
        finally:
            self.metrics.running -= 1

    def check_ready(self) -> None:
        if not self.ready:
            raise Refusal("starting", "the model or the index is not there yet")

    def check_goes_on(self) -> None:
        if self.draining.is_set():
            raise Refusal("draining", "the service is about to end")

    @property
    def served(self) -> Served:
        assert self.source is not None
        return self.source.current

    def live(self) -> LiveSource:
        if not isinstance(self.source, LiveSource):
            raise Refusal("conflict", f"{self.options.index} is an index file, expected the folder of a live catalogue")
        return self.source

    def written(self) -> Catalog:
        """The live catalogue, which this process writes."""
        if self.options.follow:
            expected = "expected changes by the process that writes it"
            raise Refusal("conflict", f"{self.options.index} is followed: {expected}")
        return self.live().catalog

    async def aside(self, call: Callable[..., T], *arguments: Any) -> T:
        """A call for a request that would hold up the others."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, call, *arguments)

    async def look(self, call: Callable[..., T], *arguments: Any) -> T:
        """A call that tells what there is; no change holds it up, unless the library itself does."""
        return await asyncio.get_running_loop().run_in_executor(self._looks, call, *arguments)

    async def reload(self) -> None:
        assert self.source is not None
        try:
            await asyncio.to_thread(self.source.reload)
        except Exception as error:
            self.metrics.reload_failures += 1
            logs.event("reload_failed", logging.WARNING, message=reason_of(error))
            raise
        self.metrics.reloads += 1
        logs.event("reloaded", version=self.served.version)

    async def close(self) -> None:
        """After the last request; returns when no thread runs any more."""
        if self.recommender is not None:
            await asyncio.to_thread(self.recommender.close)
        if self.source is not None:
            await asyncio.to_thread(self.source.close)
        for executor in (self._aside, self._looks):
            await asyncio.to_thread(executor.shutdown)
        await asyncio.get_running_loop().shutdown_default_executor()
