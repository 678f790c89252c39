"""Errors as the contract has them (samples/service.yaml). SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
from typing import Any, Optional

from ..errors import BadState, Cancelled, DeadlineExceeded, InvalidArgument, QueueFull, SidbeamError

STATUSES = {
    "invalid_argument": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "headers_too_large": 431,
    "internal": 500,
    "queue_full": 503,
    "overloaded": 503,
    "starting": 503,
    "draining": 503,
    "deadline_exceeded": 504,
}

_LONGEST_SHOWN = 40


class Refusal(Exception):
    """A request that is answered by an error: its code, a text for people, and of a mistake its path."""

    def __init__(
        self, code: str, message: str, path: Optional[str] = None, headers: Optional[dict[str, str]] = None
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.message, self.path = code, STATUSES[code], message, path
        self.headers = dict(headers or {})
        if self.status == 503:
            self.headers["retry-after"] = "1"

    def body(self, request_id: str) -> bytes:
        error = {"code": self.code, "message": self.message}
        if self.path is not None:
            error["path"] = self.path
        return encoded({"error": {**error, "request_id": request_id}})


def encoded(answer: Any) -> bytes:
    """An answer's JSON."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def shown(value: Any) -> str:
    """A value of a client's within a message, as JSON; long ones are cut."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def mistake(path: str, value: Any, expected: str) -> Refusal:
    return Refusal("invalid_argument", f"{path} is {shown(value)}, expected {expected}", path)


def reason_of(error: BaseException) -> str:
    """What an error says; the library's own without the name of its status."""
    return error.message if isinstance(error, SidbeamError) else str(error)


def of_library(error: SidbeamError) -> Refusal:
    """An error of the library in what a client has asked for; what is left is not his."""
    if isinstance(error, QueueFull):
        return Refusal("queue_full", error.message)
    if isinstance(error, DeadlineExceeded):
        return Refusal("deadline_exceeded", error.message)
    if isinstance(error, Cancelled):
        return Refusal("draining", error.message)
    return Refusal("internal", error.message)


def of_change(error: SidbeamError, path: str) -> Refusal:
    """The same of a change: what a catalogue does not take is the client's mistake."""
    if isinstance(error, InvalidArgument):
        return Refusal("invalid_argument", error.message, path)
    if isinstance(error, BadState):
        return Refusal("conflict", error.message)
    return of_library(error)
