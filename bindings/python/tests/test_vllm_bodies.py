"""Bodies of searches over HTTP in vLLM's server, which it need not have; more in tests/stacks/test_vllm_server.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest

from sidbeam import _vllm_bodies as bodies
from sidbeam.serve.refusals import Refusal


def question(**more: Any) -> bodies.Question:
    return bodies.question(json.dumps({"catalogue": "shop", "prompts": [[1, 2], [3]], **more}).encode())


def test_what_is_given_goes_on() -> None:
    assert question() == ("shop", [[1, 2], [3]], 50, "full", {})
    asked = question(beams=7, normalization="valid", limit=3, limit_per_sid=1, distinct=True, cap=2, cap_by="brand")
    assert asked.beams == 7 and asked.normalization == "valid"
    assert asked.more == {"limit": 3, "limit_per_sid": 1, "distinct": True, "cap": 2, "cap_by": "brand"}


@pytest.mark.parametrize(
    "rules",
    [
        {"filter": "cheap", "where": "price<3", "exclude": [1, 2], "allow": ["a"]},
        {"filter": ["cheap", None], "where": [None, "price<3"], "exclude": [[1], None], "allow": [[], ["a", "b"]]},
        {"filter": None, "where": None, "exclude": None, "allow": []},
    ],
)
def test_rules_for_all_prompts_or_for_each(rules: dict[str, Any]) -> None:
    assert question(**rules).more == rules


@pytest.mark.parametrize(
    "more, param, message",
    [
        ({"prompts": [[1.5]]}, "prompts[0][0]", "prompts[0][0] is 1.5, expected a token, 0 or more"),
        ({"prompts": [[1, [2]]]}, "prompts[0][1]", "prompts[0][1] is [2], expected a token, 0 or more"),
        ({"prompts": [[1], [True]]}, "prompts[1][0]", "prompts[1][0] is true, expected a token, 0 or more"),
        ({"prompts": [["5"]]}, "prompts[0][0]", 'prompts[0][0] is "5", expected a token, 0 or more'),
        ({"prompts": [[-1]]}, "prompts[0][0]", "prompts[0][0] is -1, expected a token, 0 or more"),
        ({"prompts": [[2**31]]}, "prompts[0][0]", "prompts[0][0] is 2147483648, expected a token, 0 or more"),
        ({"prompts": [None]}, "prompts[0]", "prompts[0] is null, expected an array of tokens"),
        ({"prompts": ["text"]}, "prompts[0]", 'prompts[0] is "text", expected an array of tokens'),
        ({"prompts": [{"prompt_token_ids": [1]}]}, "prompts[0]", 'prompts[0] is {"prompt_token_ids": [1]}, expect'),
        ({"prompts": [[1], []]}, "prompts[1]", "prompts[1] has 0 elements, expected 1 or more"),
        ({"prompts": []}, "prompts", "prompts has 0 elements, expected 1 .. 64"),
        ({"prompts": [[1]] * 65}, "prompts", "prompts has 65 elements, expected 1 .. 64"),
        ({"prompts": 3}, "prompts", "prompts is 3, expected an array of prompts"),
        ({"beams": True}, "beams", "beams is true, expected 1 .. 256"),
        ({"beams": 0}, "beams", "beams is 0, expected 1 .. 256"),
        ({"beams": 257}, "beams", "beams is 257, expected 1 .. 256"),
        ({"beams": 5.0}, "beams", "beams is 5.0, expected 1 .. 256"),
        ({"beams": None}, "beams", "beams is null, expected 1 .. 256"),
        ({"catalogue": 3}, "catalogue", "catalogue is 3, expected a string"),
        ({"normalization": "some"}, "normalization", 'normalization is "some", expected one of full, level, valid'),
        ({"normalization": [1]}, "normalization", "normalization is [1], expected one of full, level, valid, none"),
        ({"filter": True}, "filter", "filter is true, expected a string, or an array of one for each prompt"),
        ({"where": ["a", 1]}, "where[1]", "where[1] is 1, expected a string or null"),
        ({"filter": ["a"]}, "filter", "filter has 1 elements, expected one for each prompt"),
        ({"exclude": 5}, "exclude", "exclude is 5, expected an array of ids, or of one for each prompt"),
        ({"exclude": [1, False]}, "exclude[1]", "exclude[1] is false, expected an id"),
        ({"exclude": [[1], 2]}, "exclude[1]", "exclude[1] is 2, expected an array of ids or null"),
        ({"allow": [[1], [2.5]]}, "allow[1][0]", "allow[1][0] is 2.5, expected an id"),
        ({"allow": [[1]]}, "allow", "allow has 1 elements, expected one for each prompt"),
        ({"limit": True}, "limit", "limit is true, expected 0 .. 2147483647"),
        ({"limit_per_sid": "5"}, "limit_per_sid", 'limit_per_sid is "5", expected 0 .. 2147483647'),
        ({"distinct": 1}, "distinct", "distinct is 1, expected true or false"),
        ({"cap": None}, "cap", "cap is null, expected 0 .. 2147483647"),
        ({"cap_by": 1}, "cap_by", "cap_by is 1, expected a string"),
        ({"width": 5}, "width", "there is no member width, expected some of [catalogue, prompts, beams, "),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_json(more: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(Refusal) as error:
        question(**more)
    assert str(error.value).startswith(message) and error.value.path == param


@pytest.mark.parametrize(
    "body, param, message",
    [
        ("[]", "body", "body is [], expected an object with some of [catalogue, prompts, "),
        ('{"catalogue": "shop"}', "prompts", "prompts is missing, expected an array of prompts"),
        ('{"prompts": [[1]]}', "catalogue", "catalogue is missing, expected the name of one"),
        ('{"prompts": [[NaN]]}', "body", "the body is no JSON: NaN is no number of JSON"),
        ('{"prompts": [[1]], "prompts": [[2]]}', "prompts", "prompts is given twice"),
        ("{", "body", "the body is no JSON: "),
    ],
)
def test_a_body_that_is_none(body: str, param: Optional[str], message: str) -> None:
    with pytest.raises(Refusal) as error:
        bodies.question(body.encode())
    assert str(error.value).startswith(message) and error.value.path == param


def test_the_name_of_a_catalogue() -> None:
    assert bodies.catalogue(b'{"catalogue": "shop"}') == "shop"
    for body, message in (
        (b"{}", "catalogue is missing, expected the name of one"),
        (b'{"catalogue": null}', "catalogue is null, expected a string"),
        (b'{"catalogue": "shop", "prompts": []}', "there is no member prompts, expected some of [catalogue]"),
    ):
        with pytest.raises(Refusal) as error:
            bodies.catalogue(body)
        assert str(error.value) == message
