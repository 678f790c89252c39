"""What the files of samples/deploy say: how they start a service, and what they ask its metrics.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import shlex

import yaml
from catalogues import ROOT

FILES = ROOT / "samples/deploy"
UNIT = FILES / "systemd/sidbeam@.service"
DOCKERFILE = FILES / "Dockerfile"
MANIFESTS = FILES / "kubernetes/sidbeam.yaml"
ALERTS = FILES / "monitoring/alerts.yaml"
DASHBOARD = FILES / "monitoring/dashboard.json"


def setting(name):
    """The one value of a setting of the unit."""
    (value,) = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)
    return value


def unit_command():
    """The words of ExecStart, by the rules of systemd, with the variables of sidbeam.conf."""
    lines = (FILES / "systemd/sidbeam.conf").read_text().splitlines()
    variables = {"CREDENTIALS_DIRECTORY": "/credentials"} | dict(
        line.split("=", 1) for line in lines if line and not line.startswith("#"))
    words = []
    for word in shlex.split(setting("ExecStart")):
        if re.fullmatch(r"\$\w+", word):
            words += variables[word[1:]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], word))
    return words


def options(words):
    """The options of a command line by their names in Python; all of them are --NAME=VALUE."""
    pairs = [re.fullmatch(r"--([a-z-]+)=(.+)", word).groups() for word in words]
    return {name.replace("-", "_"): value for name, value in pairs}


def unit_options():
    return options([word for word in unit_command() if word.startswith("--")])


def manifests():
    """The objects of Kubernetes, by their kinds."""
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFESTS.read_text())}


def pod():
    return manifests()["Deployment"]["spec"]["template"]["spec"]


def container():
    (one,) = pod()["containers"]
    return one


def health_command():
    """What the images' HEALTHCHECK runs."""
    (command,) = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", DOCKERFILE.read_text(), re.M)
    return json.loads(command)


def alerts():
    """The rules, by name."""
    return {rule["alert"]: rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}


def expressions():
    """All of PromQL that there is, with what Grafana would fill in."""
    yield from (rule["expr"] for rule in alerts().values())
    dashboard = json.loads(DASHBOARD.read_text())
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for variable in dashboard["templating"]["list"]:
        texts += re.findall(r"^label_values\((.*), \w+\)$", variable["query"])
    for text in texts:
        yield re.sub(r"\$(job|instance)\b", ".*", text.replace("$__rate_interval", "5m"))
