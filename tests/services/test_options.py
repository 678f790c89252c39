"""The options of the contract: their defaults, their bounds, and what they refuse at the start.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import subprocess

import pytest
from http_client import PATIENCE
from launch import command

NO_NUMBERS = ["", "five", "+5", "-5", "05", "5.0", "1_0", "0x5", " 5", "5 ", "٥"]
NO_TIMES = ["", "0", "5", "s", "1.5s", "0.5ms", "1h30m", "1d", "1us", "1S", "+1s", "-1s", "01s", " 1s", "1 s", "٥s"]
NO_LISTS = ["", "1,", "1,,2", "1, 2", "+1", "-0", "٥"]
NO_ADDRESSES = ["", "8080", ":8080", "127.0.0.1:", "127.0.0.1:+80", "127.0.0.1:080", "127.0.0.1:٨٠", " 127.0.0.1:0",
                "*:0", "::1:0", "[]:0", "[localhost]:0"]
NOTHING_ELSE = 2**31 - 1  # where no maximum is said
HOURS = 87600  # nor one of a time


def is_time(option):
    return isinstance(option.get("minimum"), str)


def is_number(option):
    return isinstance(option.get("minimum"), int) and "list" not in option


def words(option):
    return [str(word).lower() if isinstance(word, bool) else word for word in option["enum"]]


def dealt(forms, options):
    """A share of the forms for each of the options: all of one kind are read alike."""
    return [(name, form) for i, name in enumerate(options) for form in forms[i::len(options)]]


def wrong_values(contract):
    """Pairs of an option and what it cannot have: for each of them what its bounds say, or its words."""
    options = contract["x-options"]
    numbers = {name: option for name, option in options.items() if is_number(option)}
    times = [name for name, option in options.items() if is_time(option)]
    lists = {name: option for name, option in options.items() if "list" in option}
    for name, option in numbers.items():
        yield name, str(option["minimum"] - 1)
        yield name, str(option.get("maximum", NOTHING_ELSE) + 1)
    for name in times:
        yield name, "0s" if options[name]["minimum"] == "1ms" else "-1s"
        yield name, f"{HOURS + 1}h"
    for name, option in lists.items():
        yield name, str(option["minimum"] - 1)
        yield name, f"1,{NOTHING_ELSE + 1}"
    yield from dealt(NO_NUMBERS, list(numbers)) + dealt(NO_TIMES, times) + dealt(NO_LISTS, list(lists))
    for name, option in options.items():
        if "enum" in option:
            yield from [(name, words(option)[-1].upper()), (name, "none")]
        if "pattern" in option:
            assert not [value for value in NO_ADDRESSES if re.fullmatch(option["pattern"], value)]
            yield from [(name, value) for value in [*NO_ADDRESSES, "127.0.0.1:65536"]]
        if not option.keys() & {"minimum", "enum", "pattern"}:
            yield name, ""


def test_what_no_option_can_have(request, contract, tiny, numbers):
    """Each ends the service, with a message that names the option and the value."""
    cases, started = list(wrong_values(contract)), []
    service, environment = request.config.getoption("--service"), os.environ | {"LC_ALL": "C.UTF-8"}
    assert {name for name, _ in cases} == contract["x-options"].keys()
    for name, value in cases:
        given = {"model": tiny, "index": numbers, "listen": "127.0.0.1:0"} | {name: value}
        started.append(subprocess.Popen(command(service, given), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment))
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


def most(option):
    return "5256000m" if is_time(option) else option.get("maximum", NOTHING_ELSE)


@pytest.mark.parametrize("which", ["default", "least", "most"])
def test_what_options_can_have(start, contract, tmp_path, which):
    """All at once: it listens, and then finds no model."""
    options = contract["x-options"]
    if which == "default":
        values = {name: option[which] for name, option in options.items() if which in option and name != "lanes"}
        values |= {"listen": "127.0.0.1:0", "follow": "false"}
    else:
        values = {name: option["minimum"] if which == "least" else most(option)
                  for name, option in options.items() if is_number(option) or is_time(option)}
    values = {name.replace("-", "_"): value for name, value in values.items()}
    service = start(ready=False, **values | {"log": "json", "model": tmp_path / "none"})
    assert service.ended() == 1 and "none" in service.wait_for("failed")["message"]


def test_defaults_are_those_of_the_contract(request, contract):
    asked = command(request.config.getoption("--service"), {}) + ["--help"]
    run = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
    options = re.split(r"\n +--?(?=[a-z])", run.stdout + run.stderr)
    helps = {re.match(r"[\w-]+", text)[0]: " ".join(text.split()) for text in options[1:]}
    assert contract["x-options"].keys() <= helps.keys()
    for name, option in contract["x-options"].items():
        told = re.search(r"\(default:? \"?([^()\s\"]+)\"?\)", helps[name]) \
            or re.search(r"\((?!required)([^()\s]+)\)$", helps[name])
        told, expected = told and told[1], option.get("default")
        if name == "lanes" or expected is False:
            assert told in (None, "false") or name == "lanes" and told.isdigit(), helps[name]
        else:
            assert told == (None if expected is None else str(expected)), helps[name]
