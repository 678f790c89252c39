"""The routes of the contract that any index has. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

from ..errors import SidbeamError
from . import bodies
from .calls import Call
from .metrics import Page, write_live, write_runner
from .questions import RULES
from .recommender import Asked, answer
from .refusals import Refusal, of_library, reason_of
from .served import Served
from .service import Service
from .sources import LiveSource

_LONG = 32 << 10  # bytes of a body that is read on a thread beside
_MANY = 4096  # items of an answer that is written there


class Routes:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def healthz(self, call: Call) -> Any:
        return {"status": "ok"}

    async def readyz(self, call: Call) -> Any:
        self._service.check_goes_on()
        return {"status": "ready", "version": self._service.served.version}

    async def metrics(self, call: Call) -> Any:
        service, page = self._service, Page()
        served = service.served
        runner = await service.look(self._runner_page, served)
        service.metrics.write(page, service.connections(), service.draining.is_set())
        service.metrics.write_served(page, served)
        return f"{page}{runner}"

    def _runner_page(self, served: Served) -> Page:
        """What the library counts, which may have to wait for a publish that runs."""
        service, page = self._service, Page()
        assert service.recommender is not None
        write_runner(page, service.recommender.runner.stats())
        if isinstance(service.source, LiveSource):
            write_live(page, service.source, served)
        return page

    async def reload(self, call: Call) -> Any:
        await call.no_body(self._service.options.body_time)
        try:
            await self._service.reload()
        except Exception as error:
            raise Refusal("internal", reason_of(error)) from error
        return {"version": self._service.served.version}

    async def recommend(self, call: Call) -> Any:
        service = self._service
        body = await call.body(service.options.body_time)
        limit = call.limit(service.options.timeout)
        try:
            asked = await self._ready(body)
            service.metrics.asked(asked.question)
            return await call.answered(self._answer(asked, limit - call.seconds), limit)
        except SidbeamError as error:
            raise of_library(error) from error

    async def _answer(self, asked: Asked, seconds: float) -> bytes:
        service = self._service
        assert service.recommender is not None
        results = await service.recommender.results(asked, seconds)
        many = len(results) * asked.question.k > _MANY
        return await service.aside(answer, asked, results) if many else answer(asked, results)

    async def _ready(self, body: bytes) -> Asked:
        service = self._service
        assert service.recommender is not None
        served, long = service.served, len(body) > _LONG
        value = await service.aside(bodies.parse, body) if long else bodies.parse(body)
        if long or (isinstance(value, dict) and RULES & value.keys()):
            return await service.aside(service.recommender.ready, value, served)
        return service.recommender.ready(value, served)
