"""Single arguments as they must be, or else :class:`InvalidArgument`; those of arrays are in :mod:`sidbeam.arrays`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import datetime
import math
import operator
import os
from typing import Any, Type, TypeVar

import numpy as np

from .errors import InvalidArgument, WrongType

T = TypeVar("T")


def kind_of(value: Any) -> str:
    """The type of a value, as messages name it."""
    return "None" if value is None else type(value).__name__


def shown(value: Any) -> str:
    """A value of the caller's within a message; long ones are cut."""
    try:
        text = repr(value)
    except Exception:
        text = f"{kind_of(value)} that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def instance(value: Any, cls: Type[T], name: str) -> T:
    if not isinstance(value, cls):
        article = "an" if cls.__name__[0] in "AEIO" else "a"
        raise WrongType(f"{name} is {kind_of(value)}, expected {article} {cls.__name__}")
    return value


def integer(value: Any, name: str) -> int:
    """An integer of 64 bits with sign."""
    try:
        number = int(operator.index(value))
    except Exception:  # whatever its __index__ raises
        raise WrongType(f"{name} is {kind_of(value)}, expected an integer") from None
    if not -(2**63) <= number < 2**63:
        raise InvalidArgument(f"{name} is out of range, expected an integer of 64 bits")
    return number


def flag(value: Any, name: str) -> bool:
    """True or False, or 1 or 0; not what is merely true, such as the text "no"."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise WrongType(f"{name} is {shown(value)}, expected True or False")


def function(value: Any, name: str, of: str) -> Any:
    if not callable(value):
        raise WrongType(f"{name} is {kind_of(value)}, expected a function of {of}")
    return value


def entries(value: Any, name: str, of: str) -> list[Any]:
    """The list of what can be iterated."""
    try:
        return list(value)
    except TypeError:
        raise WrongType(f"{name} is {kind_of(value)}, expected a list of {of}") from None
    except ValueError as error:
        raise InvalidArgument(f"{name} is no list of {of}: {error}") from None


def size_of(value: Any, name: str) -> int:
    """Of an array that is made for a call; what is less than 0 the call refuses."""
    number = integer(value, name)
    if number >= 2**31:
        raise InvalidArgument(f"{name} is {number}, expected less than 2^31")
    return max(number, 0)


def milliseconds(value: Any, name: str) -> int:
    """Of seconds, or of a timedelta; rounded up, since 0 often means something else. None: 0."""
    seconds = value.total_seconds() if isinstance(value, datetime.timedelta) else 0 if value is None else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.integer, np.floating)):
        raise WrongType(f"{name} is {kind_of(value)}, expected seconds or a timedelta")
    if not 0 <= seconds < 2**40:
        raise InvalidArgument(f"{name} is {shown(value)}, expected seconds, 0 or more")
    return math.ceil(seconds * 1000)


def path_bytes(path: Any, name: str = "path") -> bytes:
    """A path as the operating system has it."""
    try:
        return os.fsencode(path)
    except TypeError:
        raise WrongType(f"{name} is {kind_of(path)}, expected a str, bytes or os.PathLike") from None
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} is {shown(path)}, which no file of this system can be called") from None
