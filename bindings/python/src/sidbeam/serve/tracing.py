"""W3C's trace context, and spans of OpenTelemetry where that is installed. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import re
from typing import Any, ContextManager, Mapping, NamedTuple, Optional

_HEADER = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")


class TraceParent(NamedTuple):
    trace_id: Optional[str] = None
    parent_id: Optional[str] = None


def trace_parent(header: Optional[str]) -> TraceParent:
    """What the header says; one of another form is not used."""
    match = _HEADER.fullmatch(header or "")
    if match is None or (header or "").startswith("00-") and len(header or "") != 55:
        return TraceParent()
    return TraceParent(match[1], match[2])


class Tracer:
    """Makes a span of each request, a child of the client's. Which exporter gets it, OpenTelemetry's own settings
    decide, say those of ``opentelemetry-instrument``."""

    def __init__(self) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError:
            self._trace: Any = None
            return
        self._trace, self._propagate = trace, propagate
        self._tracer = trace.get_tracer("sidbeam.serve")

    def span(self, method: str, headers: Mapping[str, str]) -> ContextManager[Any]:
        """Of None where OpenTelemetry is not installed."""
        if self._trace is None:
            return contextlib.nullcontext()
        return self._tracer.start_as_current_span(
            method, context=self._propagate.extract(headers), kind=self._trace.SpanKind.SERVER
        )

    def answered(self, span: Any, method: str, route: str, status: int) -> None:
        if span is None:
            return
        span.update_name(f"{method} {route}")
        span.set_attribute("http.request.method", method)
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(self._trace.StatusCode.ERROR)
