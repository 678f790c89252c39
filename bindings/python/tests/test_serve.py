"""The parts of ``sidbeam serve``; as a whole, with those in Go and Java, tests/services holds it to its contract.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidbeam
from live_catalogs import BASE, CODES, drawn, index_of, writes
from sidbeam.serve import logs
from sidbeam.serve.item_table import ItemTable
from sidbeam.serve.options import Address, Options, parse
from sidbeam.serve.prompts import Prompts
from sidbeam.serve.refusals import Refusal
from sidbeam.serve.served import read_texts
from sidbeam.serve.sources import open_source
from sidbeam.serve.tokens import VARIABLE, Token
from sidbeam.serve.tracing import Tracer, trace_parent

# Options


def test_options() -> None:
    made = parse("--model m --index i --lanes 3".split())
    assert made == Options("m", "i", lanes=3) and (made.listen, made.beams, made.idle_time) == (
        ("127.0.0.1", 8080),
        50,
        75,
    )
    text = "--model m --index=i --offsets 3,259 --start-tokens=-1,7 --normalize level --listen [::1]:0"
    made = parse([*text.split(), "--follow", "--keep-age", "24h", "--drain", "500ms"])
    assert (made.offsets, made.start_tokens, made.normalize, made.follow) == ([3, 259], [-1, 7], "level", True)
    assert (made.keep_age, made.drain, made.listen, str(made.listen)) == (86400, 0.5, Address("::1", 0), "[::1]:0")
    assert not parse("--model m --index i --follow false".split()).follow


@pytest.mark.parametrize(
    "given, said",
    [
        ("--index i", "--model"),
        ("--model m --index i more", "unrecognized arguments: more"),
        ("--model m --index i --beam 5", "unrecognized arguments: --beam"),
        ("--model m --index i --beams 0", "--beams: '0', expected 1 .. 4096"),
        ("--model m --index i --beams 1_0", "--beams: '1_0', expected 1 .. 4096"),
        ("--model m --index i --offsets 1,,2", "--offsets: '1,,2', expected tokens of at least 0, separated by commas"),
        ("--model m --index i --timeout 5", "--timeout: '5', expected a time such as 500ms, 30s or 24h"),
        ("--model m --index i --timeout 1.5s", "--timeout: '1.5s', expected a time such as 500ms, 30s or 24h"),
        ("--model m --index i --keep-age 87601h", "--keep-age: '87601h', expected a time such as 500ms, 30s or 24h"),
        ("--model m --index i --timeout 0s", "--timeout: '0s', expected a time above 0"),
        ("--model= --index i", "--model: '', expected a path"),
        ("--model m --index i --listen 8080", "--listen: '8080', expected HOST:PORT"),
        ("--model m --index i --listen a:65536", "--listen: 'a:65536', expected HOST:PORT"),
        ("--model m --index i --follow yes", "--follow: 'yes', expected true or false"),
        ("--model m --index i --log xml", "--log: invalid choice: 'xml'"),
        ("--model m --index i --residency disk", "--residency: invalid choice: 'disk'"),
    ],
)
def test_wrong_options(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(given.split())
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_help_says_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    for default in [
        "(default: 127.0.0.1:8080)",
        "(default: 50)",
        "(default: 10s)",
        "(default: full)",
        "(default: text)",
    ]:
        assert default in said
    assert "(default: None)" not in said and "(default: -1)" not in said


# Without what it needs


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_it_says_what_is_not_installed(module: str) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; import sidbeam.serve; sys.exit(sidbeam.serve.main())"
    arguments = [sys.executable, "-c", program, "--model", "m", "--index", "i"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    said = f"sidbeam serve: {module} is not installed: pip install 'sidbeam[serve]'\n"
    if not all(map(_is_there, ("starlette", "uvicorn"))):
        said = done.stderr  # whichever is missed first
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said) and "pip install 'sidbeam[serve]'" in said


def _is_there(module: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


# Items by id


def least_sids(pairs: Any) -> dict[Any, list[int]]:
    least: dict[Any, list[int]] = {}
    for sid, id in pairs:
        least[id] = min(list(sid), least.get(id, list(sid)))
    return least


def check_table(table: ItemTable, pairs: Any, wanted: list[Any]) -> None:
    least, found = least_sids(pairs), table.sids(wanted)
    assert found == {place: least[id] for place, id in enumerate(wanted) if id in least}


@pytest.mark.parametrize("kind", ["i64", "u64", "names", "names of one hash"])
def test_items_by_id(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make: Any = {"i64": lambda n: n - 30, "u64": lambda n: 2**64 - 1 - n}.get(kind, lambda n: f"item {n}")
    if kind == "names of one hash":
        monkeypatch.setattr("sidbeam.serve.item_table.hash", lambda name: 7, raising=False)
    pairs = [(sid, make(id)) for sid, id in drawn(200, 3)]
    ids: Any = [id for _, id in pairs]
    index = sidbeam.Index.build(
        [sid for sid, _ in pairs], np.array(ids, np.uint64) if kind == "u64" else ids, codes=CODES
    )
    wanted = [make(n) for n in [5, 59, 5, 0, 60, 77, *range(40)]]
    check_table(ItemTable(index), pairs, wanted)
    assert ItemTable(index).sids([]) == {}


def test_a_sid_that_ends_comes_after_those_that_go_on() -> None:
    index = sidbeam.Index.build([[0], [0, 1], [0, 1, 2], [1]], [7, 7, 7, 8], codes=4, variable_length=True)
    assert ItemTable(index).sids([8, 7]) == {0: [1], 1: [0, 1, 2]}


def test_items_of_a_live_catalogue(tmp_path: Path) -> None:
    """The table of each version is made of the one before it, or of a later one; what has gone is not found."""
    pairs, rng = set(BASE), np.random.default_rng(2)
    with writes(tmp_path / "live") as catalog:
        kept = {1: pairs}
        table = ItemTable(catalog.snapshot())
        for turn in range(24):
            more = list(drawn(int(rng.integers(1, 40)), turn + 10))
            gone = [int(id) for id in rng.integers(0, 60, 5)]
            catalog.add([sid for sid, _ in more], [id for _, id in more], attributes={"price": [0] * len(more)})
            catalog.remove(gone)
            pairs = {pair for pair in pairs | set(more) if pair[1] not in gone}
            version = catalog.publish()
            kept[version] = pairs
            if turn % 8 == 5:
                pairs, version = kept[version - 2], catalog.rollback(version - 2)
            if turn % 8 == 7:
                version = catalog.compact()
            kept[version] = pairs
            table = ItemTable(catalog.snapshot(), table)
            check_table(table, pairs, list(range(65)))
        older = ItemTable(catalog.snapshot(version - 1), table)
        check_table(older, kept[version - 1], list(range(65)))


# Prompts


def prompt(history: list[list[int]], **options: Any) -> Any:
    made = Prompts(Options("m", "i", **options), sidbeam.Vocabulary([10, 20, 30]), [4, 4, 4]).of(history)
    return None if made is None else made.tolist()


def test_prompts_hold_whole_sids_the_latest() -> None:
    history = [[0, 1, 2], [3, 2, 1], [1, 1, 1]]
    assert prompt(history, prompt=6) == [[13], [22], [31], [11], [21], [31]] == prompt(history, prompt=8)
    assert prompt(history, prompt=3, start_tokens=[5, 6]) == [[5], [6], [11], [21], [31]]
    assert prompt(history, prompt=2) is prompt([]) is None
    assert prompt([[3], [1, 2]]) == [[13], [11], [22]]


def test_positions_of_several_tokens() -> None:
    assert prompt([[0, 1, 2], [3]], group=2, start_tokens=[5]) == [[5, -1], [10, 21], [32, -1], [13, -1]]
    assert prompt([[0, 1, 2], [3]], group=3, prompt=1) == [[13, -1, -1]]


# Settings


@pytest.mark.parametrize(
    "text, why",
    [
        ("{", "the body is no JSON"),
        ("[]", "body is []"),
        ('{"a b": "true"}', 'a name is "a b", expected 1 .. 64 letters'),
        ('{"a": 5}', "a is 5, expected a string"),
        ('{"a": "true", "a": "false"}', "a is given twice"),
    ],
)
def test_settings_that_are_no_filters(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "filters.json"
    path.write_text(text)
    with pytest.raises(sidbeam.InvalidArgument) as caught:
        read_texts(str(path))
    assert str(path) in caught.value.message and why in caught.value.message


def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(Refusal, match="no token is configured"):
        Token(None).check("Bearer x")
    monkeypatch.setenv(VARIABLE, " secret\n")
    Token(None).check("bearer  secret")
    for header in [None, "", "Bearer", "Bearer secre", "Bearer secret2", "Basic secret", "secret", "Bearer s\udcff"]:
        with pytest.raises(Refusal) as caught:
            Token(None).check(header)
        assert (caught.value.status, caught.value.headers) == (401, {"www-authenticate": "Bearer"})
    (tmp_path / "token").write_text("two words")
    with pytest.raises(sidbeam.InvalidArgument, match=f"the token in {tmp_path}/token is empty, or has other"):
        Token(str(tmp_path / "token"))


def test_trace_contexts() -> None:
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    assert trace_parent(f"00-{trace}-{parent}-01") == (trace, parent) == trace_parent(f"01-{trace}-{parent}-01-more")
    for other in [None, "", f"00-{trace}-{parent}-01-more", f"ff-{trace}-{parent}-01", f"00-{'0' * 32}-{parent}-01"]:
        assert trace_parent(other) == (None, None)


def test_lines_of_the_log() -> None:
    record = logging.LogRecord("sidbeam.serve", logging.INFO, "", 0, "request", (), None)
    record.members, record.created = {"status": 404, "message": 'no "such"\nroute'}, 0.5
    line = '{"time": "1970-01-01T00:00:00.500Z", "level": "info", "event": "request", "status": 404, '
    assert logs._Lines(True).format(record) == line + '"message": "no \\"such\\"\\nroute"}'
    text = '1970-01-01T00:00:00.500Z info request status=404 message="no \\"such\\"\\nroute"'
    assert logs._Lines(False).format(record) == text


# What is served


def test_a_source_keeps_what_it_has_where_a_reload_fails(tmp_path: Path) -> None:
    filters, path = tmp_path / "filters.json", tmp_path / "a.sidx"
    filters.write_text('{"cheap": "price<5"}')
    index_of(BASE).save(path)
    source = open_source(Options("m", str(path), filters=str(filters)))
    first = source.current
    filters.write_text('{"cheap": "cost<5"}')
    with pytest.raises(sidbeam.InvalidArgument, match=f"filter 'cheap': .*cost.*of {filters}"):
        source.reload()
    filters.write_text("{}")
    sidbeam.Index.build([[0, 0]], codes=CODES[:2]).save(path)
    with pytest.raises(sidbeam.InvalidArgument, match=r"a.sidx has \[6, 5\] codes per level, expected \[6, 5, 4\]"):
        source.reload()
    assert source.current is first and list(first.filters.named) == ["cheap"]
    index_of(drawn(9, 2)).save(path)
    source.reload()
    assert source.current.version != first.version and source.current.filters.named == {}


def test_a_live_source_takes_versions_and_other_filters(tmp_path: Path) -> None:
    filters = tmp_path / "filters.json"
    filters.write_text('{"cheap": "price<5"}')
    writes(tmp_path / "live").close()
    source = open_source(Options("m", str(tmp_path / "live"), filters=str(filters)))
    assert source.catalog is not None
    first = source.current
    filters.write_text('{"cheap": "cost<5"}')
    with pytest.raises(sidbeam.InvalidArgument, match="cost"):
        source.reload()
    assert source.current is first
    source.catalog.remove([next(iter(BASE))[1]])
    assert source.catalog.publish() == source.current.version == 2  # under the filters that there were
    assert list(source.current.filters.named) == ["cheap"] and source.in_use() == 2
    del first
    filters.write_text('{"dear": "price>=5"}')
    source.reload()
    assert list(source.current.filters.named) == ["dear"] and source.current.version == 2 and source.in_use() == 1
    source.close()


def test_what_cannot_be_followed(tmp_path: Path) -> None:
    index_of(BASE).save(tmp_path / "a.sidx")
    with pytest.raises(sidbeam.InvalidArgument, match="a.sidx is no folder, expected that of a catalogue to follow"):
        open_source(Options("m", str(tmp_path / "a.sidx"), follow=True))


def test_a_request_is_a_span() -> None:
    """From the application on: of a service that is being opened, 503."""
    for module in ("opentelemetry.sdk.trace", "starlette", "uvicorn"):
        pytest.importorskip(module)
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from sidbeam.serve.front import Front
    from sidbeam.serve.service import Service

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    scope = {"type": "http", "method": "POST", "path": "/recommend", "raw_path": b"/recommend", "query_string": b""}
    headers = [(b"traceparent", f"00-{trace}-{parent}-01".encode())]

    async def ask() -> int:
        front = Front(Service(parse("--model m --index i".split())))
        front._tracer._tracer = provider.get_tracer("sidbeam.serve")
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await front({**scope, "http_version": "1.1", "headers": headers}, None, send)  # type: ignore[arg-type]
        return int(sent[0]["status"])

    assert asyncio.run(ask()) == 503
    (span,) = exporter.get_finished_spans()
    assert (span.name, f"{span.parent.span_id:016x}") == ("POST /recommend", parent)
    assert f"{span.context.trace_id:032x}" == trace and not span.status.is_ok
    assert span.attributes["http.response.status_code"] == 503 and span.attributes["http.route"] == "/recommend"


def test_spans() -> None:
    """Of OpenTelemetry, children of the client's."""
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    tracer, exporter, provider = Tracer(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer._tracer = provider.get_tracer("sidbeam.serve")
    header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    for headers, status in [({"traceparent": header}, 200), ({}, 500)]:
        with tracer.span("POST", headers) as span:
            tracer.answered(span, "POST", "/recommend", status)
    first, second = exporter.get_finished_spans()
    assert (first.name, first.kind.name, first.parent.span_id) == ("POST /recommend", "SERVER", 0x00F067AA0BA902B7)
    assert first.context.trace_id == 0x4BF92F3577B34DA6A3CE929D0E0E4736 and first.status.is_ok
    assert first.attributes["http.response.status_code"] == 200 and first.attributes["http.route"] == "/recommend"
    assert second.parent is None and not second.status.is_ok
