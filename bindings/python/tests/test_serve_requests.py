"""Requests to ``sidbeam serve``, from the application to the runner. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import json
import types
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Awaitable, Callable

import pytest

import sidbeam
from live_catalogs import BASE, index_of
from sidbeam.serve.options import parse

pytest.importorskip("starlette")

from sidbeam.serve.front import Front  # noqa: E402
from sidbeam.serve.service import Service  # noqa: E402


class LateRunner:
    """For which the time of every request is over."""

    def __init__(self) -> None:
        self.deadlines: list[int] = []

    def submit(self, prompt: Any, constraint: Any, deadline_us: int) -> Future[Any]:
        self.deadlines.append(deadline_us)
        late: Future[Any] = Future()
        late.set_exception(sidbeam.DeadlineExceeded("as a test"))
        return late

    def close(self) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The runner of a service, and a function that makes one and runs what it is given on it."""
    runner = LateRunner()
    monkeypatch.setattr("sidbeam.serve.recommender.Runner", lambda *_, **__: runner)
    monkeypatch.setattr("sidbeam.serve.recommender.Model", types.SimpleNamespace(open=lambda path: None))
    path = tmp_path / "a.sidx"
    index_of(BASE).save(path)

    async def run(work: Callable[[Service], Awaitable[Any]], options: str) -> Any:
        service = Service(parse(f"--model m --index {path} {options}".split()))
        await service.open()
        try:
            return await work(service)
        finally:
            await service.close()

    return runner, lambda work, options="": asyncio.run(run(work, options))


async def ask(service: Service, **headers: str) -> tuple[int, dict[str, Any]]:
    """A request for recommendations: its status, and its error."""
    given = {"content-type": "application/json", **headers}
    body = b'{"histories": [[%d]]}' % next(iter(BASE))[1]
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "query_string": b""}
    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
    lines.append((b"content-length", b"%d" % len(body)))
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop() if messages else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await Front(service)({**scope, "path": "/recommend", "raw_path": b"/recommend", "headers": lines}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])["error"]


def test_the_time_of_a_request_is_the_runners_deadline(served: Any) -> None:
    """The client's, where the service's is not shorter; what has passed is off."""
    runner, run = served

    async def ask_thrice(service: Service) -> None:
        for headers in [{"x_request_timeout_ms": "60000"}, {}, {"x_request_timeout_ms": "86400000"}]:
            status, error = await ask(service, **headers)
            assert (status, error["code"]) == (504, "deadline_exceeded")

    run(ask_thrice, "--timeout 10m")
    clients, none, longer = runner.deadlines
    assert 0 < clients < 60_000_000 < none < 600_000_000 and 60_000_000 < longer < 600_000_000


def test_an_error_that_nobody_expects(
    served: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Is an answer like any other, and the log has more, under the request's id."""

    def fails(self: Service) -> None:
        raise RuntimeError("as a test")

    async def ask_once(service: Service) -> Any:
        monkeypatch.setattr(Service, "check_ready", fails)
        return await ask(service, x_request_id="an-error")

    _, run = served
    status, error = run(ask_once)
    assert (status, error["code"], error["request_id"]) == (500, "internal", "an-error")
    assert "as a test" not in error["message"]
    (line,) = [record for record in caplog.records if record.getMessage() == "failed"]
    assert line.members == {"request_id": "an-error", "message": "as a test"} and line.exc_info
