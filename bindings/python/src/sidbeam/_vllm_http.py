"""Searches over HTTP, in vLLM's own server; :mod:`sidbeam.vllm` hands this on. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, MutableMapping

import starlette.requests
from starlette.responses import JSONResponse, Response

from . import _vllm_check as check
from . import aio
from ._vllm_search import AsyncBeamSearch, Found
from .checks import integer, kind_of, shown
from .errors import InvalidArgument, SidbeamError, Unsupported
from .serving import find

_MOST_BEAMS, _MOST_PROMPTS = 256, 64  # of a request
_OF_SEARCH = ("beams", "normalization")
_OF_CALL = ("filter", "where", "exclude", "allow", "limit", "limit_per_sid", "distinct", "cap", "cap_by")

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
    what has been published or has taken a followed file's place. Errors have vLLM's form. The middleware does nothing
    but to add these routes when the server starts.
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
        body = await _body(request, ("catalogue", "prompts", *_OF_SEARCH, *_OF_CALL))
        prompts, beams = body.get("prompts"), integer(body.get("beams", 50), "beams")
        if not isinstance(prompts, list) or not 1 <= len(prompts) <= _MOST_PROMPTS:
            raise InvalidArgument(f"prompts is {shown(prompts)}, expected a list of 1 to {_MOST_PROMPTS}")
        if not 1 <= beams <= _MOST_BEAMS:
            raise InvalidArgument(f"beams is {beams}, expected 1 to {_MOST_BEAMS}")
        search = self._search(body.get("catalogue"), beams, body.get("normalization", "full"))
        found = await search.search(prompts, **{name: body[name] for name in _OF_CALL if name in body})
        return {"results": [_shown(one) for one in found]}

    def _search(self, catalogue: Any, beams: int, normalization: Any) -> AsyncBeamSearch:
        if not isinstance(catalogue, str) or not isinstance(normalization, str):
            raise InvalidArgument("catalogue and normalization are names, expected a text for each")
        find(catalogue)  # of one that is unknown nothing is kept
        key = (catalogue, beams, normalization)
        if key not in self._made:
            self._made[key] = AsyncBeamSearch(self._engine, catalogue, beams=beams, normalization=normalization)
        return self._made[key]

    async def catalogues(self, request: starlette.requests.Request) -> Body:
        (answer, *_) = await self._engine.collective_rpc("sidbeam_catalogues")
        return check.answered(answer)

    async def refresh(self, request: starlette.requests.Request) -> Body:
        name = (await _body(request, ("catalogue",))).get("catalogue")
        if not isinstance(name, str):
            raise InvalidArgument(f"catalogue is {kind_of(name)}, expected the name of one")
        await aio.to_thread(find(name).refresh)  # this process looks at requests before the engine has them
        (answer, *_) = await self._engine.collective_rpc("sidbeam_refresh", args=(name,))
        return check.answered(answer)


def _shown(found: Found) -> Body:
    return {
        "items": found.items,
        "scores": found.scores.tolist(),
        "sids": [list(sid) for sid in found.sids],
        "version": found.version,
        "fingerprint": found.fingerprint,
    }


async def _body(request: starlette.requests.Request, names: tuple[str, ...]) -> Body:
    try:
        body = await request.json()
    except ValueError as error:
        raise InvalidArgument(f"the body is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidArgument(f"the body is a JSON {kind_of(body)}, expected an object")
    if unknown := sorted(body.keys() - set(names)):
        raise InvalidArgument(f"the body has {unknown}, expected {', '.join(names)}")
    return body


def _answering(call: Callable[[starlette.requests.Request], Awaitable[Body]]) -> Handler:
    async def answered(request: starlette.requests.Request) -> Response:
        try:
            return JSONResponse(await call(request))
        except InvalidArgument as error:
            return _failed(400, "BadRequestError", error)
        except Unsupported as error:
            return _failed(501, "NotImplementedError", error)
        except SidbeamError as error:
            return _failed(500, "InternalServerError", error)

    return answered


def _failed(status: int, kind: str, error: SidbeamError) -> Response:
    said = {"message": error.message, "type": kind, "param": None, "code": status}
    return JSONResponse({"error": said}, status)
