"""What a body of :class:`sidbeam.vllm.Routes` must hold: checked as JSON, before anything is made of it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from .enums import Normalization
from .serve import bodies
from .serve.refusals import Refusal, mistake

_MOST_BEAMS, _MOST_PROMPTS = 256, 64  # of a request
_MOST = 2**31 - 1
_NORMALIZATIONS = [one.name.lower() for one in Normalization]


class Question(NamedTuple):
    """A request for items."""

    catalogue: str
    prompts: list[list[int]]
    beams: int
    normalization: str
    more: dict[str, Any]  #: of ``search()``, those that are given


def question(body: bytes) -> Question:
    """Raises :class:`Refusal`, which names the member."""
    known = ("catalogue", "prompts", "beams", "normalization", *_RULES, *_LIMITS)
    given = bodies.members(bodies.parse(body), "", known)
    prompts = _prompts(bodies.given(given, "prompts", "", "an array of prompts"))
    more = {name: check(given[name], name) for name, check in _LIMITS.items() if name in given}
    for name, check_rule in _RULES.items():
        if name in given:
            more[name] = check_rule(given[name], name, len(prompts))
    normalization = given.get("normalization", "full")
    if normalization not in _NORMALIZATIONS:
        raise mistake("normalization", normalization, f"one of {', '.join(_NORMALIZATIONS)}")
    beams = bodies.integer(given.get("beams", 50), "beams", 1, _MOST_BEAMS)
    return Question(_catalogue(given), prompts, beams, normalization, more)


def catalogue(body: bytes) -> str:
    """The one that a body names, which holds nothing else."""
    return _catalogue(bodies.members(bodies.parse(body), "", ("catalogue",)))


def _catalogue(given: dict[str, Any]) -> str:
    return bodies.text(bodies.given(given, "catalogue", "", "the name of one"), "catalogue")


def _prompts(value: Any) -> list[list[int]]:
    prompts = bodies.array(value, "prompts", "an array of prompts", 1, _MOST_PROMPTS)
    for i, prompt in enumerate(prompts):
        for j, token in enumerate(bodies.array(prompt, f"prompts[{i}]", "an array of tokens", 1)):
            if type(token) is not int or not 0 <= token <= _MOST:  # a bool is an int
                raise mistake(f"prompts[{i}][{j}]", token, "a token, 0 or more")
    return prompts


def _per_prompt(value: Any, path: str, prompts: int) -> list[Any]:
    if len(value) != prompts:
        raise Refusal("invalid_argument", f"{path} has {len(value)} elements, expected one for each prompt", path)
    each: list[Any] = value
    return each


def _texts(value: Any, path: str, prompts: int) -> Any:
    """One for all prompts, or an array of one or null for each."""
    if isinstance(value, list):
        for i, one in enumerate(_per_prompt(value, path, prompts)):
            if one is not None and type(one) is not str:
                raise mistake(f"{path}[{i}]", one, "a string or null")
    elif value is not None and type(value) is not str:
        raise mistake(path, value, "a string, or an array of one for each prompt")
    return value


def _ids(value: Any, path: str, prompts: int) -> Any:
    """One array for all prompts, or an array of one or null for each."""
    if value is None:
        return None
    lists = bodies.array(value, path, "an array of ids, or of one for each prompt")
    if any(one is None or isinstance(one, list) for one in lists):
        for i, one in enumerate(_per_prompt(lists, path, prompts)):
            if one is not None:
                _of_ids(bodies.array(one, f"{path}[{i}]", "an array of ids or null"), f"{path}[{i}]")
    else:
        _of_ids(lists, path)
    return lists


def _of_ids(ids: list[Any], path: str) -> None:
    for i, id in enumerate(ids):
        if type(id) not in (int, str):
            raise mistake(f"{path}[{i}]", id, "an id")


def _count(value: Any, path: str) -> int:
    return bodies.integer(value, path, 0, _MOST)


def _flag(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise mistake(path, value, "true or false")
    return value


def _name(value: Any, path: str) -> Any:
    return None if value is None else bodies.text(value, path)


_RULES: dict[str, Callable[[Any, str, int], Any]] = {"filter": _texts, "where": _texts, "exclude": _ids, "allow": _ids}
_LIMITS: dict[str, Callable[[Any, str], Any]] = {
    "limit": _count,
    "limit_per_sid": _count,
    "distinct": _flag,
    "cap": _count,
    "cap_by": _name,
}
