"""The options of the contract: their defaults, their least values, and what they refuse at the start.

SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess

import pytest
from http_client import PATIENCE
from launch import command

OF_RUN = {"end-column": "-1", "group": "0", "offsets": "-1", "begin-tokens": "-1", "start-tokens": "-2"}
ANYTHING = {"model", "index", "token-file", "filters"}  # paths, of which the log tells later


def in_seconds(text):
    """Of a time: 75s, or 1m15s."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))


def beneath(least):
    """A value that is less than the least one, in the same form."""
    if isinstance(least, int):
        return str(least - 1)
    return "-1s" if in_seconds(least) == 0 else "0s"


def test_what_no_option_can_have(request, contract, tiny, numbers):
    """Each ends the service, with a message that names the option and the value."""
    wrong = dict(OF_RUN)
    for name, option in contract["x-options"].items():
        if name not in ANYTHING:
            wrong[name] = beneath(option["minimum"]) if "minimum" in option else "nonsense"
    cases = [*wrong.items(), ("listen", ":8080"), ("listen", "127.0.0.1:65536"), ("timeout", "5"), ("beams", "1_0")]
    service, started = request.config.getoption("--service"), []
    for name, value in cases:
        started.append(subprocess.Popen(
            command(service, {"model": tiny, "index": numbers, "listen": "127.0.0.1:0", name: value}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        if len(started) % 4 == 0:
            started[-4].wait(PATIENCE)  # not all of them at a time
    try:
        for (name, value), process in zip(cases, started):
            said, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 2, (name, value, said)
            whole = rf"(?<![\w.-]){re.escape(value)}(?![\w.])"
            assert any(re.search(rf"-{name}\b", line) and re.search(whole, line) for line in said.splitlines()), said
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.mark.parametrize("which", ["default", "minimum"])
def test_what_options_can_have(start, contract, which):
    """All at once: it listens, whatever the model makes of them then."""
    values = {name: option[which] for name, option in contract["x-options"].items()
              if which in option and name not in ("listen", "lanes")}
    if which == "default":
        values["follow"] = "false"
    start(ready=False, **{name.replace("-", "_"): value for name, value in values.items()} | {"log": "json"})


def test_defaults_are_those_of_the_contract(request, contract):
    asked = command(request.config.getoption("--service"), {}) + ["--help"]
    run = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
    options = re.split(r"\n +--?(?=[a-z])", run.stdout + run.stderr)
    helps = {re.match(r"[\w-]+", text)[0]: " ".join(text.split()) for text in options[1:]}
    assert contract["x-options"].keys() | OF_RUN.keys() <= helps.keys()
    for name, option in contract["x-options"].items():
        told = re.search(r"\(default:? \"?([^()\s\"]+)\"?\)", helps[name]) \
            or re.search(r"\((?!required)([^()\s]+)\)$", helps[name])
        told, expected = told and told[1], option.get("default")
        if name == "lanes" or expected is False:
            assert told in (None, "false") or name == "lanes" and told.isdigit(), helps[name]
        elif isinstance(expected, str) and re.fullmatch(r"\d+(ms|s)", expected):
            assert in_seconds(told) == in_seconds(expected), helps[name]
        else:
            assert told == (None if expected is None else str(expected)), helps[name]
