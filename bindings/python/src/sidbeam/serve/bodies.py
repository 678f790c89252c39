"""JSON of requests, strictly: what is not as expected is refused with its path. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import json
from typing import Any, NoReturn, Optional, Sequence

from .refusals import Refusal, mistake


class _Missing:
    """What a member is that is not there."""


MISSING = _Missing()
BODY = "body"  # the path of all of it


class _Object(dict[str, Any]):
    """An object, with the first of its names that is given twice, of whose values it has the last."""

    twice: Optional[str] = None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made = _Object(pairs)
    if len(made) < len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        made.twice = next(name for name, count in counts.items() if count > 1)
    return made


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_LONGEST_PATH = 200

_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)


def parse(body: bytes) -> Any:
    """The value of a body. What is within it is refused where it is looked at: there its path is known."""
    try:
        text = body.decode()
        value = _decoder.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeDecodeError as error:
        raise _no_json(f"byte {error.start} is not UTF-8") from None
    except UnicodeEncodeError:
        raise _no_json("it has half of a surrogate pair") from None
    except RecursionError:
        raise _no_json("it is nested too deeply") from None
    except ValueError as error:  # also of an integer of thousands of digits
        raise _no_json(str(error)) from None


def _no_json(why: str) -> Refusal:
    return Refusal("invalid_argument", f"the body is no JSON: {why}", BODY)


def members(value: Any, path: str, known: Sequence[str]) -> dict[str, Any]:
    """The members of an object, which has no others than those that are known; path is "" of the body itself."""
    expected = f"some of [{', '.join(known)}]"
    if not isinstance(value, _Object):
        raise mistake(path or BODY, value, f"an object with {expected}")
    if value.twice is not None:
        where = of(path, value.twice)
        raise Refusal("invalid_argument", f"{where} is given twice", where)
    for name in value:
        if name not in known:
            where = of(path, name)
            raise Refusal("invalid_argument", f"there is no member {where}, expected {expected}", where)
    return value


def of(path: str, name: str) -> str:
    """The path of a member; long ones are cut."""
    return (f"{path}.{name}" if path else name)[:_LONGEST_PATH]


def given(object: dict[str, Any], name: str, path: str, expected: str) -> Any:
    """A member that must be there."""
    value = object.get(name, MISSING)
    if value is MISSING:
        where = of(path, name)
        raise Refusal("invalid_argument", f"{where} is missing, expected {expected}", where)
    return value


def array(value: Any, path: str, expected: str, least: int = 0, most: Optional[int] = None) -> list[Any]:
    if not isinstance(value, list):
        raise mistake(path, value, expected)
    if len(value) < least or (most is not None and len(value) > most):
        bounds = f"{least} or more" if most is None else f"{least} .. {most}"
        raise Refusal("invalid_argument", f"{path} has {len(value)} elements, expected {bounds}", path)
    return value


def integer(value: Any, path: str, least: int, most: int, expected: Optional[str] = None) -> int:
    if type(value) is not int or not least <= value <= most:  # a bool is an int
        raise mistake(path, value, expected or f"{least} .. {most}")
    return value


def text(value: Any, path: str) -> str:
    if type(value) is not str:
        raise mistake(path, value, "a string")
    return value
