"""What /metrics says: exactly what the contract names.

SPDX-License-Identifier: Apache-2.0
"""

import re


def families(service):
    answer = service.ask("GET", "/metrics")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4"), answer
    text = answer.body.decode()
    assert text.endswith("\n")
    types = dict(re.findall(r"^# TYPE sidbeam_(\S+) (\S+)$", text, re.M))
    helps = dict(re.findall(r"^# HELP sidbeam_(\S+) (.+)$", text, re.M))
    samples = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = re.fullmatch(r'sidbeam_([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)*)\})? (-?[0-9.e+-]+|\+Inf|NaN)', line)
            assert match, line
            samples.setdefault(match[1], []).append(dict(re.findall(r'([a-z]+)="([^"]*)"', match[2] or "")))
    return types, helps, samples


def expect(service, contract, live):
    """Checks names, types, helps and labels."""
    types, helps, samples = families(service)
    wanted = {name: metric for name, metric in contract["x-metrics"].items() if live or metric.get("when") != "live"}
    assert types == {name: metric["type"] for name, metric in wanted.items()}
    assert helps == {name: metric["help"] for name, metric in wanted.items()}
    for name, sets in samples.items():
        family = next(each for each in (name, re.sub("_(bucket|sum|count)$", "", name)) if each in wanted)
        for labels in sets:
            extra = ["le"] if name.endswith("_bucket") else []
            summed = wanted[family]["type"] == "summary" and name != family
            assert list(labels) == ([] if summed else wanted[family].get("labels", [])) + extra, (name, labels)
    values = [name for name, metric in wanted.items() if not metric.get("labels")]
    assert set(values) <= set(samples), "expected a value of each metric without labels"


def test_names_types_and_labels(shared, contract):
    shared.ask("POST", "/recommend", {"histories": [[1000]]})
    expect(shared, contract, live=False)


def test_those_of_a_live_catalogue(shared_live, contract):
    shared_live.ask("POST", "/recommend", {"histories": [[1000]]})
    expect(shared_live, contract, live=True)


def test_requests_are_counted_by_route_and_status(start, contract):
    service = start()
    for _ in range(3):
        service.ask("POST", "/recommend", {"histories": [[1000], [1001]]})
    service.ask("POST", "/recommend", {"histories": [[1000]], "exclude": [1]})
    service.ask("POST", "/recommend", {"histories": [[1000]], "where": "price<9", "allow": []})
    service.ask("POST", "/recommend", {})
    service.ask("GET", "/nothing")
    service.ask("DELETE", "/items/a/b")
    service.change("DELETE", "/items/1000")
    service.ask("GET", "/healthz")
    metrics = service.metrics()
    counted = {name: value for name, value in metrics.items() if name.startswith("requests_total")}
    assert counted == {
        'requests_total{route="/recommend",code="200"}': 5, 'requests_total{route="/recommend",code="400"}': 1,
        'requests_total{route="other",code="404"}': 1, 'requests_total{route="/items/{id}",code="401"}': 1,
        'requests_total{route="/items/{id}",code="409"}': 1, 'requests_total{route="/healthz",code="200"}': 1}
    assert metrics["requests_running"] == 0 and metrics["draining"] == 0 and metrics["connections"] >= 1
    assert metrics["list_requests_total"] == 2 and metrics["where_requests_total"] == 1
    assert metrics["runner_finished_total"] == 8 and metrics["runner_lanes"] == 2  # an empty list runs as well
    assert metrics["runner_batch_rows_total"] > 0 and metrics["runner_lane_use"] > 0

    buckets = [metrics[f'request_seconds_bucket{{route="/recommend",le="{bound}"}}']
               for bound in [*contract["x-metrics"]["request_seconds"]["buckets"], "+Inf"]]
    assert buckets == sorted(buckets)
    assert buckets[-1] == metrics['request_seconds_count{route="/recommend"}'] == 6
    assert 0 < metrics['request_seconds_sum{route="/recommend"}']


def test_reloads_are_counted(start, tmp_path, numbers):
    path = tmp_path / "numbers.sidx"
    path.write_bytes(numbers.read_bytes())
    service = start(index=path)
    assert service.change("POST", "/reload").status == 200
    path.with_suffix(".new").write_bytes(b"no index")
    path.with_suffix(".new").rename(path)
    assert service.change("POST", "/reload").status == 500
    metrics = service.metrics()
    assert (metrics["reloads_total"], metrics["reload_failures_total"], metrics["index_items"]) == (1, 1, 500)
    (version,) = [name for name in metrics if name.startswith("index_info")]
    assert version == f'index_info{{version="{service.ask("GET", "/readyz").json["version"]}"}}'


def test_a_live_catalogue_in_numbers(start, catalogue):
    service = start(index=catalogue)
    before = service.metrics()
    assert (before["catalog_version"], before["catalog_changes"], before["catalog_pinned_versions"],
            before["catalog_log_failed"], before["index_items"]) == (1, 0, 1, 0, 500)
    items = [{"id": id, "sid": [9, 9, id % 16], "attributes": {"price": 5}} for id in range(5000, 5040)]
    assert service.change("POST", "/items", {"items": items}).json == {"added": 40}
    assert service.change("DELETE", "/items/1000").json == {"removed": 1000}
    waiting = service.metrics()
    assert waiting["catalog_version"] == 1 and waiting["catalog_changes"] > 0
    assert service.change("POST", "/publish").json == {"version": 2}
    after = service.metrics()
    assert (after["catalog_version"], after["catalog_changes"], after["catalog_compact_soon"],
            after['index_info{version="2"}'], after["index_items"]) == (2, 0, 1, 1, 539)
    assert after["catalog_log_bytes"] > before["catalog_log_bytes"] and after["catalog_age_seconds"] >= 0
