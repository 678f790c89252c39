"""The bodies of requests to ``sidbeam serve``: what is refused, and where. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Iterator

import numpy as np
import pytest

import sidbeam
from sidbeam import AttributeType
from sidbeam.serve import bodies
from sidbeam.serve.additions import Additions
from sidbeam.serve.options import Options
from sidbeam.serve.questions import read_question
from sidbeam.serve.refusals import Refusal


@contextlib.contextmanager
def refused(path: str, message: str) -> Iterator[None]:
    with pytest.raises(Refusal) as caught:
        yield
    assert (caught.value.code, caught.value.path, caught.value.message) == ("invalid_argument", path, message)


@pytest.mark.parametrize(
    "body, why",
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"{} x", "Extra data: line 1 column 4 (char 3)"),
        (b'{"k": NaN}', "NaN is no number of JSON"),
        (b'{"k": -Infinity}', "-Infinity is no number of JSON"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "Expecting value: line 1 column 1 (char 0)"),
        (rb'{"\ud800": 1}', "it has half of a surrogate pair"),
        (rb'["\udc00\ud800"]', "it has half of a surrogate pair"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_no_json(body: bytes, why: str) -> None:
    with refused("body", f"the body is no JSON: {why}"):
        bodies.parse(body)


def test_numbers_of_any_length() -> None:
    with pytest.raises(Refusal) as caught:
        bodies.integer(bodies.parse(b"1" * 5000), "k", 1, 2)
    assert caught.value.path in ("body", "k")  # Python refuses to read it from 3.10.7 on
    assert bodies.parse(rb'["\ud83d\ude00", "\\ud800"]') == ["\U0001f600", "\\ud800"]


def test_members() -> None:
    value = bodies.parse(b'{"a": {"b": 1, "c": 2, "b": 3}}')
    with refused("a.b", "a.b is given twice"):
        bodies.members(bodies.members(value, "", ["a"])["a"], "a", ["b", "c"])
    with refused("a.b", "a.b is given twice"):  # which counts before one that is not known
        bodies.members(value["a"], "a", ["b"])
    with refused("a.c", "there is no member a.c, expected some of [b]"):
        bodies.members(bodies.parse(b'{"b": 1, "c": 2}'), "a", ["b"])
    with refused("a", "a is 5, expected an object with some of [b]"):
        bodies.members(5, "a", ["b"])
    with refused("a.d", "a.d is missing, expected a string"):
        bodies.given(value["a"], "d", "a", "a string")


def info_of(ids: Any, **options: Any) -> sidbeam.IndexInfo:
    options = {"codes": 4, **options}
    sids = [[0, 1, 2], [0, 1], [3]] if options.get("variable_length") else [[0, 1, 2], [0, 1, 3], [3, 0, 0]]
    return sidbeam.Index.build(sids, ids, **options).info


LARGEST, SMALLEST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    "info, good, bad, expected",
    [
        (info_of([1, 2, 3]), [LARGEST, SMALLEST], [LARGEST + 1, SMALLEST - 1, "1", 1.0, True, None],
         "an integer of 64 bits, as the ids of this index are"),
        (info_of(np.array([1, 2, 3], np.uint64)), [0, 2**64 - 1], [-1, 2**64, "1", 1.0],
         "an integer of 64 bits without sign, as the ids of this index are"),
        (info_of(["a", "b", "c"]), ["", "d"], [1, None, {}], "a string, as the ids of this index are"),
    ],
)  # fmt: skip
def test_ids_are_of_the_type_of_the_index(
    info: sidbeam.IndexInfo, good: list[Any], bad: list[Any], expected: str
) -> None:
    options = Options("m", "i")
    assert read_question(bodies.parse(json.dumps({"histories": [good]}).encode()), info, options).histories == [good]
    for id in bad:
        lists: dict[str, Any] = {"histories": [[]], "exclude": [*good, id]}
        place = f"exclude[{len(good)}]"
        with refused(place, f"{place} is {json.dumps(id)}, expected {expected}"):
            read_question(bodies.parse(json.dumps(lists).encode()), info, options)
        with refused("histories[0][0]", f"histories[0][0] is {json.dumps(id)}, expected a SID, or {expected}"):
            read_question(bodies.parse(json.dumps({"histories": [[id]]}).encode()), info, options)


def test_sids_are_of_the_form_of_the_index() -> None:
    fixed, varies = info_of([1, 2, 3]), info_of([1, 2, 3], variable_length=True)
    options = Options("m", "i")

    def read(sid: list[Any], info: sidbeam.IndexInfo) -> None:
        read_question(bodies.parse(json.dumps({"histories": [[1, sid]]}).encode()), info, options)

    read([3, 3, 3], fixed), read([3], varies), read([3, 3, 3], varies)
    with refused("histories[0][1]", "histories[0][1] has 2 codes, expected 3"):
        read([1, 2], fixed)
    with refused("histories[0][1]", "histories[0][1] has 0 codes, expected 1 .. 3"):
        read([], varies)
    with refused("histories[0][1][1]", "histories[0][1][1] is 4, expected 0 .. 3"):
        read([1, 4], varies)


ATTRIBUTES = {
    "bool": AttributeType.BOOL,
    "f32": AttributeType.F32,
    "i64": AttributeType.I64,
    "string": AttributeType.STRING,
    "strings": AttributeType.STRING_LIST,
}


def test_additions() -> None:
    values = {"bool": True, "f32": 1.5, "i64": LARGEST, "string": "é", "strings": ["a", ""]}
    items = [{"id": 2**64 - 1, "sid": [1, 2], "priority": -1, "attributes": values},
             {"id": 0, "sid": [3], "priority": 5, "attributes": dict.fromkeys(values)}]  # fmt: skip
    info = info_of(np.array([1, 2, 3], np.uint64), variable_length=True)
    made = Additions(bodies.parse(json.dumps({"items": items}).encode()), info, ATTRIBUTES)
    assert (made.ids, made.sids, made.priorities) == ([2**64 - 1, 0], [[1, 2], [3]], [-1, 5])
    assert made.attributes == {name: [value, None] for name, value in values.items()}


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("bool", 1, "true or false"),
        ("f32", 1e39, "a number of 32 bits"),
        ("f32", "1", "a number of 32 bits"),
        ("f32", True, "a number of 32 bits"),
        ("f32", 10**400, "a number of 32 bits"),
        ("i64", LARGEST + 1, "an integer of 64 bits"),
        ("i64", 1.0, "an integer of 64 bits"),
        ("i64", False, "an integer of 64 bits"),
        ("string", 5, "a string"),
        ("strings", "a", "an array of strings"),
    ],
)
def test_attributes_of_another_type(name: str, value: Any, expected: str) -> None:
    body = {"items": [{"id": 1, "sid": [1, 2, 3], "attributes": {name: value}}]}
    path, shown = f"items[0].attributes.{name}", json.dumps(value)
    shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
    with refused(path, f"{path} is {shown}, expected {expected}"):
        Additions(bodies.parse(json.dumps(body).encode()), info_of([1, 2, 3]), ATTRIBUTES)
