"""Searches over HTTP, in vLLM's own server; :mod:`sidbeam.vllm` hands this on. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, MutableMapping, Optional

import starlette.requests
from starlette.responses import JSONResponse, Response

from . import _vllm_check as check
from . import _vllm_bodies as bodies
from . import aio
from ._vllm_search import AsyncBeamSearch, Found
from .errors import InvalidArgument, SidbeamError, Unsupported
from .serve.refusals import Refusal
from .serving import find

Body = dict[str, Any]
Handler = Callable[[starlette.requests.Request], Awaitable[Response]]


class Routes:
    """``--middleware sidbeam.vllm.Routes``, beside ``--worker-extension-cls sidbeam.vllm.Worker``: vLLM's server
    answers

        POST /v1/sidbeam/recommend    {"catalogue": "shop", "prompts": [[5, 17, ..]], "beams": 50, "exclude": [4, 9]}
                                      {"results": [{"items": [..], "scores": [..], "sids": [..], "version": 3, ..}]}
        GET  /v1/sidbeam/catalogues   {"catalogues": {"shop": {"version": 3, "fingerprint": ".."}}}
        POST /v1/sidbeam/refresh      {"catalogue": "shop"}, and the same answer of that one

    behind its ``--api-key``. A request for items says what :class:`AsyncBeamSearch` and its ``search`` take, with at
    most 256 beams and 64 prompts of token ids. ``refresh`` takes over now, in this process and in the engine's workers,
    what has been published or has taken a followed file's place. Errors have vLLM's form, with the wrong member as
    ``param``. The middleware does nothing but to add these routes when the server starts.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            _add_routes(scope["app"])
        await self._app(scope, receive, send)


def _add_routes(app: Any) -> None:
    searches = _Searches(app)
    app.add_route("/v1/sidbeam/recommend", _answering(searches.recommend), methods=["POST"])
    app.add_route("/v1/sidbeam/catalogues", _answering(searches.catalogues), methods=["GET"])
    app.add_route("/v1/sidbeam/refresh", _answering(searches.refresh), methods=["POST"])


class _Searches:
    """Of one server, made as requests ask for them."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._made: dict[tuple[Any, ...], AsyncBeamSearch] = {}

    @property
    def _engine(self) -> Any:
        return self._app.state.engine_client

    async def recommend(self, request: starlette.requests.Request) -> Body:
        asked = bodies.question(await request.body())
        found = await self._search(asked).search(asked.prompts, **asked.more)
        return {"results": [_shown(one) for one in found]}

    def _search(self, asked: bodies.Question) -> AsyncBeamSearch:
        find(asked.catalogue)  # of one that is unknown nothing is kept
        key = (asked.catalogue, asked.beams, asked.normalization)
        if key not in self._made:
            beams, normalization = asked.beams, asked.normalization
            self._made[key] = AsyncBeamSearch(self._engine, asked.catalogue, beams=beams, normalization=normalization)
        return self._made[key]

    async def catalogues(self, request: starlette.requests.Request) -> Body:
        return _answer_of(await self._engine.collective_rpc("sidbeam_catalogues"))

    async def refresh(self, request: starlette.requests.Request) -> Body:
        name = bodies.catalogue(await request.body())
        await aio.to_thread(find(name).refresh)  # this process looks at requests before the engine has them
        return _answer_of(await self._engine.collective_rpc("sidbeam_refresh", args=(name,)))


def _answer_of(workers: list[Any]) -> Body:
    """Of the first worker; raises what any of them does."""
    return [check.answered(worker) for worker in workers][0]


def _shown(found: Found) -> Body:
    return {
        "items": found.items,
        "scores": found.scores.tolist(),
        "sids": [list(sid) for sid in found.sids],
        "version": found.version,
        "fingerprint": found.fingerprint,
    }


def _answering(call: Callable[[starlette.requests.Request], Awaitable[Body]]) -> Handler:
    async def answered(request: starlette.requests.Request) -> Response:
        try:
            return JSONResponse(await call(request))
        except Refusal as error:
            return _failed(400, "BadRequestError", str(error), error.path)
        except InvalidArgument as error:
            return _failed(400, "BadRequestError", error.message)
        except Unsupported as error:
            return _failed(501, "NotImplementedError", error.message)
        except SidbeamError as error:
            return _failed(500, "InternalServerError", error.message)

    return answered


def _failed(status: int, kind: str, message: str, member: Optional[str] = None) -> Response:
    said = {"message": message, "type": kind, "param": member, "code": status}
    return JSONResponse({"error": said}, status)
