"""The files of samples/deploy, with the service that they start and watch: its options, its signals, its metrics.

tests/deploy looks at the files alone. SPDX-License-Identifier: Apache-2.0
"""

import re
import shlex
import subprocess

import catalogues
import deployment
import promql_parser
import pytest
from test_metrics import families
from test_residency import locked


@pytest.fixture
def deployed(start, tiny, numbers, tmp_path):
    """Starts a service by options of a file, whose paths, port and vocabulary become the tests'."""
    def start_so(options):
        token = tmp_path / "token"
        token.write_text("a token of a file\n".replace(" ", "-"))
        assert {"model", "index", "listen", "token_file", "offsets"} <= set(options)
        service = start(**(options | {"model": tiny, "index": numbers, "listen": "127.0.0.1:0", "token_file": token,
                                      "offsets": catalogues.OFFSETS}))
        service.token = token.read_text().strip()
        return service

    return start_so


def test_as_systemd_starts_it(deployed, numbers):
    service = deployed(deployment.unit_options())
    waits = shlex.split(deployment.setting("ExecStartPost"))
    waits = [word.replace("${LISTEN}", "127.0.0.1:%d" % service.address[1]).replace(
        "$MAINPID", str(service.process.pid)) for word in waits]
    assert subprocess.run(waits).returncode == 0  # it is ready
    assert locked(service) >= numbers.stat().st_size
    assert service.change("POST", "/reload").status == 200
    reload = deployment.setting("ExecReload").replace("$MAINPID", str(service.process.pid)).split()
    subprocess.run(reload, check=True)
    service.until("two reloads", lambda metrics: metrics["reloads_total"] == 2)
    service.terminate()
    assert service.ended() == 0
    assert subprocess.run(waits, stderr=subprocess.DEVNULL).returncode != 0  # there is nothing to wait for


def test_as_kubernetes_starts_it(deployed):
    container = deployment.container()
    service = deployed(deployment.options(container["args"]))
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"]:
        assert service.ask("GET", container[probe]["httpGet"]["path"]).status == 200
    assert service.change("POST", "/reload").status == 200
    service.terminate()
    assert service.ended() == 0


def test_the_health_of_an_image(start):
    service = start()
    *program, script = deployment.health_command()
    here = script.replace("/8080", f"/{service.address[1]}")
    assert here != script
    assert subprocess.run([*program, here]).returncode == 0
    assert subprocess.run([*program, here.replace("/healthz", "/nothing")]).returncode != 0
    service.stop()
    assert subprocess.run([*program, here], stderr=subprocess.DEVNULL).returncode != 0


def parts(expression):
    """An expression of PromQL and all that it is made of."""
    yield expression
    for name in ["lhs", "rhs", "expr", "vector_selector"]:
        if hasattr(expression, name):
            yield from parts(getattr(expression, name))
    for argument in getattr(expression, "args", []):
        yield from parts(argument)


def test_alerts_and_panels_ask_for_what_there_is(start, contract, catalogue, tmp_path):
    """Every metric that they name is exported, with the labels and the values that they name."""
    filters = tmp_path / "filters.json"
    filters.write_text('{"cheap": "price<20"}')
    service = start(index=catalogue, filters=filters)
    assert service.ask("POST", "/recommend", {"histories": [[1000]], "filter": "cheap"}).status == 200
    _, _, exported = families(service)
    of_prometheus = {"job", "instance"}
    for text in deployment.expressions():
        every = list(parts(promql_parser.parse(text)))
        kept = set(of_prometheus)
        for selector in every:
            if not isinstance(selector, promql_parser.VectorSelector) or selector.name == "up":  # Prometheus' own
                continue
            name = selector.name.removeprefix("sidbeam_")
            assert name in exported and name != selector.name, f"{selector.name} is not exported: {text}"
            assert re.sub("_(bucket|sum|count)$", "", name) in contract["x-metrics"]
            labels = of_prometheus.union(*exported[name])
            kept |= labels
            for matcher in selector.matchers.matchers:
                assert matcher.name in labels, f"{name} has no {matcher.name}: {text}"
                if matcher.op == promql_parser.MatchOp.Equal and matcher.name not in of_prometheus:
                    assert matcher.value in {sample[matcher.name] for sample in exported[name]}, text
        for part in every:
            if isinstance(part, promql_parser.AggregateExpr) and part.modifier:
                assert set(part.modifier.labels) <= kept, text
