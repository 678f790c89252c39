"""Alerts and dashboard: what promtool says, and what it cannot know.

tests/services/test_deployment.py holds their metrics to what services export. SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import subprocess

import deployment
import pytest
import yaml

promtool = pytest.mark.skipif("PROMTOOL" not in os.environ, reason="no promtool (build/deploy/promtool.log says why)")
TESTS = deployment.ALERTS.with_name("alerts_test.yaml")


def run_promtool(*arguments):
    return subprocess.run([os.environ["PROMTOOL"], *map(str, arguments)], capture_output=True, text=True)


@promtool
def test_promtool_finds_no_mistake_in_the_alerts():
    found = run_promtool("check", "rules", "--lint=all", "--lint-fatal", deployment.ALERTS)
    assert found.returncode == 0, found.stdout + found.stderr


@promtool
def test_alerts_fire_when_they_should_and_not_before():
    found = run_promtool("test", "rules", TESTS)
    assert found.returncode == 0, found.stdout + found.stderr


def test_each_alert_is_tested_and_says_whom_it_wakes():
    cases = [case for test in yaml.safe_load(TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == set(deployment.alerts())
    for name, rule in deployment.alerts().items():
        assert rule["labels"]["severity"] in ("page", "ticket") and rule["annotations"]["summary"], name


def test_limits_are_those_of_the_services(x_options):
    (limit,) = re.findall(r"\* (\d+)$", deployment.alerts()["SidbeamConnectionsFull"]["expr"])
    assert int(limit) == x_options["connections"]["default"]


def test_panels_lie_beside_each_other_and_ask_the_chosen_prometheus():
    dashboard = json.loads(deployment.DASHBOARD.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["datasource"] == {"type": "prometheus", "uid": "${source}"}
        for target in panel["targets"]:
            assert 'job=~"$job", instance=~"$instance"' in target["expr"], panel["title"]
    assert [variable["name"] for variable in dashboard["templating"]["list"]] == ["source", "job", "instance"]
