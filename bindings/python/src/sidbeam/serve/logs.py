"""Lines of the log: x-log of samples/service.yaml. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import datetime
import json
import logging
import sys
from typing import Any, Optional

_log = logging.getLogger("sidbeam.serve")
_EVENTS_OF = {"sidbeam.following": "refresh_failed"}  # what other parts of the package log


def event(name: str, level: int = logging.INFO, cause: Optional[BaseException] = None, **members: Any) -> None:
    """Writes a line; members that are None are left out. ``cause``: an exception that nobody expected."""
    there = {key: value for key, value in members.items() if value is not None}
    _log.log(level, name, exc_info=cause, extra={"members": there})


class _Lines(logging.Formatter):
    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc)
        line = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": "",
            **self._members(record),
        }
        warns = line["event"] == "refresh_failed"  # an error where it was logged
        line["level"] = "warning" if warns else record.levelname.lower()
        if self._as_json:
            return json.dumps(line)
        values = [
            value if key in ("time", "level", "event") else f"{key}={_shown(value)}" for key, value in line.items()
        ]
        return " ".join(map(str, values))

    def _members(self, record: logging.LogRecord) -> dict[str, Any]:
        members: dict[str, Any] = {"event": record.getMessage(), **getattr(record, "members", {})}
        if record.name != _log.name:
            members = {"event": _EVENTS_OF.get(record.name, "failed"), "message": record.getMessage()}
        if record.exc_info:
            members["message"] = f"{members.get('message')}\n{self.formatException(record.exc_info)}"
        return members


def _shown(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and text and not set(text) & set(' "=') else json.dumps(text)


def begin(form: str) -> None:
    """Has all events, and what else goes wrong in this process, come as lines on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(form == "json"))
    logging.basicConfig(handlers=[handler], level=logging.ERROR, force=True)
    _log.setLevel(logging.INFO)
    # Where a line was written, by which thread and process, none of them says: logging need not find out.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.raiseExceptions = False  # a reader of the log that has gone is no reason to write more of it
