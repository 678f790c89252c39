"""The options of ``sidbeam serve``: those of the contract (x-options of samples/service.yaml) and, of what the model
reads, of ``sidbeam run``. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ..checks import shown

_MOST = 2**31 - 1  # of a number that nothing else bounds
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}  # in milliseconds
_MOST_TIME = 87_600 * _UNITS["h"]  # ten years


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclasses.dataclass(frozen=True)
class Options:
    """What the command line says; times are in seconds."""

    model: str
    index: str
    residency: str = "map"
    draft: Optional[str] = None
    listen: Address = Address("127.0.0.1", 8080)
    token_file: Optional[str] = None
    log: str = "text"

    offsets: Optional[list[int]] = None
    start_tokens: Sequence[int] = ()
    begin_tokens: Optional[list[int]] = None
    end_column: int = -1
    group: int = 1
    normalize: str = "full"

    beams: int = 50
    histories: int = 16
    prompt: int = 512
    lanes: int = dataclasses.field(default_factory=lambda: len(os.sched_getaffinity(0)))
    queue: int = 1024

    filters: Optional[str] = None
    listed: int = 10_000
    where_bytes: int = 4096
    where_kept: int = 16

    follow: bool = False
    keep: int = 16
    keep_age: float = 0.0

    requests: int = 256
    connections: int = 4096
    timeout: float = 10.0
    header_time: float = 10.0
    body_time: float = 30.0
    idle_time: float = 75.0
    drain: float = 30.0
    quiet: float = 1.0


def _integer(least: int, most: int = _MOST) -> Callable[[str], int]:
    def integer(text: str) -> int:
        if not re.fullmatch(r"0|-?[1-9][0-9]{0,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{shown(text)}, expected {least} .. {most}")
        return int(text)

    return integer


def _tokens(least: int) -> Callable[[str], list[int]]:
    def tokens(text: str) -> list[int]:
        try:
            return [_integer(least)(part) for part in text.split(",")]
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(
                f"{shown(text)}, expected tokens of at least {least}, separated by commas"
            ) from None

    return tokens


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(0|[1-9][0-9]{0,9})(ms|s|m|h)", text)
    if match is None or (time := int(match[1]) * _UNITS[match[2]]) > _MOST_TIME:
        raise argparse.ArgumentTypeError(f"{shown(text)}, expected a time such as 500ms, 30s or 24h")
    return time / 1000


def _some_seconds(text: str) -> float:
    if not _seconds(text):
        raise argparse.ArgumentTypeError(f"{shown(text)}, expected a time above 0")
    return _seconds(text)


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError(f"{shown(text)}, expected a path")
    return text


def _address(text: str) -> Address:
    host = r"\[([0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)\]|([0-9A-Za-z._-]+)"
    match = re.fullmatch(rf"(?:{host}):(0|[1-9][0-9]{{0,4}})", text)
    if match is None or int(match[3]) > 65535:
        raise argparse.ArgumentTypeError(f"{shown(text)}, expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    return Address(match[1] or match[2], int(match[3]))


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{shown(text)}, expected true or false")
    return text == "true"


def _add_service(add: Any) -> None:
    add("--model", type=_path, required=True, metavar="FOLDER", help="of a checkpoint")
    add("--index", type=_path, required=True, metavar="PATH", help="index file, or folder of a live catalogue")
    residencies = ["map", "prefault", "lock", "copy"]
    add("--residency", choices=residencies, help="of the file, or of the catalogue's base, in memory")
    tells = "of a smaller model that writes levels ahead; answers stay the same"
    add("--draft", type=_path, metavar="FOLDER", help=tells)
    add("--listen", type=_address, metavar="HOST:PORT", help="the log tells the port that was taken for 0")
    tells = "of the token of changes and reloads (default: what SIDBEAM_TOKEN holds)"
    add("--token-file", type=_path, metavar="FILE", help=tells)
    add("--log", choices=["text", "json"], help="what its lines are, on standard error")


def _add_tokens(add: Any) -> None:
    tokens, start = _tokens(0), _tokens(-1)
    add("--offsets", type=tokens, metavar="LIST", help="o0,o1,..: code t of level l is token o_l + t")
    add("--start-tokens", type=start, metavar="LIST", help="t0,t1,..: before every history; -1 fills a position up")
    add("--begin-tokens", type=tokens, metavar="LIST", help="t0,t1,..: after every prompt; of a T5 the decoder's first")
    add("--end-column", type=_integer(0), metavar="N", help="token that ends a SID, where lengths vary")
    tells = "tokens per position, whose embeddings are summed; a SID then is a position"
    add("--group", type=_integer(1, 64), metavar="N", help=tells)
    tells = "log-softmax over all tokens, the level's codes or the valid codes"
    add("--normalize", choices=["full", "level", "valid"], help=tells)


def _add_search(add: Any) -> None:
    add("--beams", type=_integer(1, 4096), metavar="N", help="of a history, and items of it, at most")
    add("--histories", type=_integer(1), metavar="N", help="of a request, at most")
    add("--prompt", type=_integer(1, 2**20), metavar="N", help="positions of a history that are read, the latest")
    add("--lanes", type=_integer(1, 1024), metavar="N", help="histories that run at a time (default: one per core)")
    add("--queue", type=_integer(1, 2**20), metavar="N", help="histories that may wait")


def _add_rules(add: Any) -> None:
    add("--filters", type=_path, metavar="FILE", help='of the filters that requests may name, {"name": "text"}')
    add("--listed", type=_integer(0), metavar="N", help="ids of a request's exclude or allow, at most")
    add("--where-bytes", type=_integer(0), metavar="N", help="of a request's where, at most")
    tells = "filters of such texts that are kept, the latest; 0: none"
    add("--where-kept", type=_integer(0), metavar="N", help=tells)


def _add_live(add: Any) -> None:
    another = "another process writes the catalogue"
    add("--follow", type=_flag, nargs="?", const=True, metavar="true|false", help=another)
    add("--keep", type=_integer(1), metavar="N", help="versions that can be gone back to")
    tells = "how long before the newest came these may have been replaced; 0s: whatever their age"
    add("--keep-age", type=_seconds, metavar="TIME", help=tells)


def _add_limits(add: Any) -> None:
    tells = "that run at a time, at most; health, readiness and metrics do not count"
    add("--requests", type=_integer(1), metavar="N", help=tells)
    add("--connections", type=_integer(1), metavar="N", help="that are open, at most")
    for name, tells in (
        ("timeout", "of a request to /recommend, at most"),
        ("header-time", "in which a request's headers come, at most"),
        ("body-time", "in which headers and body come, at most"),
        ("idle-time", "for which a connection may be open without a request"),
    ):
        add(f"--{name}", type=_some_seconds, metavar="TIME", help=tells)
    add("--drain", type=_seconds, metavar="TIME", help="between SIGTERM and the end, at most")
    add("--quiet", type=_seconds, metavar="TIME", help="without connections before the end")


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        program,
        description="A recommendation service: histories in, the best items of an index out, over HTTP.",
        epilog="TIME is such as 500ms, 30s or 24h. samples/service.yaml of the sources is the contract, in OpenAPI.",
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    for title, add_all in (
        ("the service", _add_service),
        ("what the model reads", _add_tokens),
        ("the search", _add_search),
        ("rules of requests", _add_rules),
        ("a live catalogue", _add_live),
        ("limits", _add_limits),
    ):
        add_all(_with_default(parser.add_argument_group(title).add_argument))
    return parser


def _with_default(add: Any) -> Any:
    """Adds options whose help says their default, where :class:`Options` has one that says something."""
    defaults = {field.name: field.default for field in dataclasses.fields(Options)}

    def add_one(name: str, **how: Any) -> None:
        default = defaults[name[2:].replace("-", "_")]
        if how.get("type") in (_seconds, _some_seconds):
            default = f"{default:g}s"
        if isinstance(default, (int, str, Address)) and not isinstance(default, bool) and default != -1:
            how["help"] += f" (default: {default})"
        add(name, **how)

    return add_one


def parse(arguments: Sequence[str], program: str = "sidbeam serve") -> Options:
    """The options; ends the process with status 2, or 0 after --help."""
    return Options(**vars(_parser(program).parse_args(arguments)))
