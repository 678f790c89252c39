"""The measurements of the benchmark's programs in Python: reading, percentiles, text.

A measurement is one JSON object:
    {"table": "static", "case": {"B": 2, "M": 70, "V": 2048, "L": 8, "N": 1000000, "level": "all"}, "name": "trie",
     "unit": "us", "median": 49.1, "p10": 48.0, "p90": 51.2, "p99": 60.3, "runs": 200, "note": ""}
A results file is one JSON document, {"machine": {..}, "measurements": [..]}; programs append measurements to a file of
lines, which document.py turns into one.
SPDX-License-Identifier: Apache-2.0
"""
import json

FIELDS = ("table", "case", "name", "unit", "median", "p10", "p90", "p99", "runs")


def check(measurement, where):
    for field in FIELDS:
        if measurement.get(field) is None:
            raise ValueError(f"{where}: a measurement without '{field}', expected {', '.join(FIELDS)}")
    return measurement


def read_lines(path):
    """Measurements of a file with one JSON object per line; if one was made again, the last."""
    with open(path, encoding="utf-8") as file:
        all_of_them = [check(json.loads(line), f"{path}:{i}") for i, line in enumerate(file, 1) if line.strip()]
    return list({key(m): m for m in all_of_them}.values())


def append_lines(path, found):
    """Adds measurements to a file of such, one a line."""
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(m) + "\n" for m in found)


def read_document(path):
    """The (machine, measurements) of a results file."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict) or not isinstance(document.get("measurements"), list):
        raise ValueError(f"{path}: no results file, expected an object with 'machine' and 'measurements'")
    where = f"{path}: measurement"
    return document.get("machine", {}), [check(m, f"{where} {i}") for i, m in enumerate(document["measurements"])]


def key(measurement):
    """The key by which measurements of two runs are the same one."""
    case = tuple(sorted(measurement["case"].items(), key=str))
    return measurement["table"], case, measurement["name"], measurement["unit"]


def text_of_case(case, without=()):
    return " ".join(f"{name}={short(value)}" for name, value in case.items() if name not in without)


def short(value):
    """1e7 for ten millions, other values as they are."""
    if isinstance(value, (int, float)) and abs(value) >= 10000:
        digits, exponent = f"{value:.6e}".split("e")
        digits = digits.rstrip("0").rstrip(".")
        return f"{digits}e{int(exponent)}" if len(digits) <= 3 else str(value)
    return str(value)


def percentile(ordered, share):
    """Linear between the two nearest of a rising list."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def summary(table, case, name, unit, values, note=""):
    ordered = sorted(values)
    shares = {"median": 0.5, "p10": 0.1, "p90": 0.9, "p99": 0.99}
    return {"table": table, "case": case, "name": name, "unit": unit,
            **{field: percentile(ordered, share) for field, share in shares.items()}, "runs": len(ordered),
            "note": note}


def higher_is_better(unit):
    """Rates rise when things get faster; times and sizes fall."""
    return "/s" in unit or unit.startswith(("%", "share"))
