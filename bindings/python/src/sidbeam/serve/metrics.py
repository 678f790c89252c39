"""What /metrics has, in Prometheus' text format (x-metrics of samples/service.yaml).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import bisect
import collections
import datetime
from typing import Any, Iterable, Optional

from ..live import Catalog
from ..runner_results import RunnerStats
from .questions import Question
from .served import Served
from .sources import LiveSource

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds
_QUANTILES = ("0.5", "0.9", "0.99", "0.999")
HUNG_UP = 499  # the code of a request whose client has gone


class Histogram:
    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(BUCKETS) + 1), 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect.bisect_left(BUCKETS, value)] += 1
        self.sum += value


class Metrics:
    """Counts requests and reloads, on the event loop alone."""

    def __init__(self) -> None:
        self.requests: collections.Counter[tuple[str, int]] = collections.Counter()  # by route and status
        self.seconds: dict[str, Histogram] = collections.defaultdict(Histogram)  # by route
        self.running = 0
        self.reloads = self.reload_failures = 0
        self.lists = self.texts = 0
        self.filters: collections.Counter[str] = collections.Counter()

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds[route].observe(seconds)

    def asked(self, question: Question) -> None:
        """Counts a request whose rules were understood. Filters are counted by their names, which the settings bound;
        texts are the clients', without bound."""
        self.lists += question.lists
        self.texts += question.where is not None
        if question.filter is not None:
            self.filters[question.filter] += 1

    def write(self, page: Page, connections: int, draining: bool) -> None:
        about = "Requests by route of the contract and HTTP status."
        each = sorted(self.requests.items())
        labelled = [({"route": route, "code": code}, count) for (route, code), count in each]
        page.add("requests_total", "counter", about, *labelled)
        about = "Time from the arrival of a request to its answer."
        page.add_histograms("request_seconds", about, "route", sorted(self.seconds.items()))
        about = "Requests that run, without those for health, readiness and metrics."
        page.add("requests_running", "gauge", about, self.running)
        page.add("connections", "gauge", "Connections that are open.", connections)
        page.add("draining", "gauge", "1: the service is about to end.", int(draining))

    def write_served(self, page: Page, served: Served) -> None:
        page.add("index_info", "gauge", "1, of the version that is served.", ({"version": served.version}, 1))
        page.add("index_items", "gauge", "Items of the index that is served.", served.info.live_items)
        page.add("reloads_total", "counter", "Reloads of the index.", self.reloads)
        about = "Reloads that failed; the index before them stayed."
        page.add("reload_failures_total", "counter", about, self.reload_failures)
        about = "Requests with excluded or allowed items."
        page.add("list_requests_total", "counter", about, self.lists)
        page.add("where_requests_total", "counter", "Requests with a filter's text.", self.texts)
        about = "Requests with a filter of the settings."
        labelled = [({"filter": name}, self.filters[name]) for name in sorted(served.filters.named)]
        page.add("filter_requests_total", "counter", about, *labelled)


class Page:
    """The text of /metrics."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, about: str, *values: Any) -> None:
        """A metric of one value, or of pairs of labels and a value."""
        self._lines += [f"# HELP sidbeam_{name} {about}", f"# TYPE sidbeam_{name} {kind}"]
        for value in values:
            labels, number = value if isinstance(value, tuple) else ({}, value)
            self._line(name, labels, number)

    def _line(self, name: str, labels: dict[str, Any], value: float) -> None:
        text = ",".join(f'{key}="{label}"' for key, label in labels.items())
        self._lines.append(f"sidbeam_{name}{{{text}}} {value}" if text else f"sidbeam_{name} {value}")

    def add_histograms(self, name: str, about: str, label: str, each: Iterable[tuple[str, Histogram]]) -> None:
        self.add(name, "histogram", about)
        for of, histogram in each:
            below = 0
            for bound, count in zip((*BUCKETS, "+Inf"), histogram.counts):
                below += count
                self._line(f"{name}_bucket", {label: of, "le": bound}, below)
            self._line(f"{name}_sum", {label: of}, histogram.sum)
            self._line(f"{name}_count", {label: of}, below)

    def add_times(self, name: str, about: str, microseconds: Iterable[int], count: int) -> None:
        self.add(name, "summary", about)
        for quantile, time in zip(_QUANTILES, microseconds):
            self._line(name, {"quantile": quantile}, time / 1e6)
        self._line(f"{name}_count", {}, count)

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


def write_runner(page: Page, stats: RunnerStats) -> None:
    """What the runner counts: its queue, its batches, how busy its lanes are."""
    use = stats.busy_us / max(stats.up_us * stats.lanes, 1)
    for name, kind, about, value in (
        ("lanes", "gauge", "Batches that may run at the same time.", stats.lanes),
        ("queued", "gauge", "Histories that wait.", stats.queued),
        ("running", "gauge", "Histories that run.", stats.running),
        ("lane_use", "gauge", "Share of the lanes' time that they were busy, since the start.", use),
        ("memory_bytes", "gauge", "Memory of the runner, without the model.", stats.memory_bytes),
        ("finished_total", "counter", "Histories that were answered.", stats.finished),
        ("failed_total", "counter", "Histories that failed.", stats.failed),
        ("cancelled_total", "counter", "Histories that were cancelled.", stats.cancelled),
        ("refused_total", "counter", "Histories for which the queue had no room.", stats.refused),
        ("batches_total", "counter", "Batches.", stats.batches),
        ("batch_requests_total", "counter", "Histories of all batches.", stats.batch_requests),
        ("batch_rows_total", "counter", "Rows of all batches.", stats.batch_rows),
        ("rounds_total", "counter", "Passes of the model, where there is a draft.", stats.rounds),
        ("round_levels_total", "counter", "Levels that these passes decided.", stats.round_levels),
        ("drafted_levels_total", "counter", "Levels that the draft wrote.", stats.drafted_levels),
        ("accepted_levels_total", "counter", "Of these, passes saved.", stats.accepted_levels),
        ("nodes_total", "counter", "Rows of logits that the passes had.", stats.nodes),
        ("draft_seconds_total", "counter", "Time of the draft.", stats.draft_us / 1e6),
    ):
        page.add(f"runner_{name}", kind, about, value)
    page.add_times("runner_queue_seconds", "Time that a history waits.", stats.queued_us, stats.finished)
    page.add_times("runner_run_seconds", "Time that it runs.", stats.run_us, stats.finished)
    page.add_times("runner_seconds", "Both.", stats.total_us, stats.finished)


def write_live(page: Page, source: LiveSource, served: Served) -> None:
    """How a live catalogue stands. Waits for a publish that runs."""
    info, age = source.catalog.info, _age_of(source.catalog, served.info.version)
    add = page.add
    add("catalog_version", "gauge", "Version that is served.", served.info.version)
    add("catalog_age_seconds", "gauge", "Time since it was published.", *([] if age is None else [age]))
    about = "Versions in use, kept or not, of which one is served."
    add("catalog_pinned_versions", "gauge", about, source.in_use())
    add("catalog_log_bytes", "gauge", "Bytes of the logs.", info.log_bytes)
    add("catalog_unsynced_bytes", "gauge", "Of these, not yet forced to the disk.", info.unsynced_bytes)
    add("catalog_changes", "gauge", "Changes that wait to be published.", info.changes)
    add("catalog_compact_soon", "gauge", "1: it is time to compact.", int(info.compact_soon))
    add("catalog_log_failed", "gauge", "1: nothing can be published before a restart.", int(info.log_failed))
    about = "Times that a followed catalogue could not be read."
    add("catalog_refresh_errors_total", "counter", about, source.errors)


def _age_of(catalog: Catalog, number: int) -> Optional[float]:
    """None: the version is not kept any more."""
    now = datetime.datetime.now(datetime.timezone.utc)
    ages = (now - version.published for version in catalog.versions() if version.version == number)
    return next((age.total_seconds() for age in ages), None)
