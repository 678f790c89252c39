"""Questions to attributes, by Python's values. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from . import _native
from .arrays import is_one
from .checks import integer, shown
from .errors import InvalidArgument, WrongType

_NONE = (None, None, None, None)  # integers, bits of doubles, bools, strings


def term(index: Any, attribute: str, wanted: Any) -> Any:
    """The native filter of the items whose attribute is one of the values, or, of a list of strings, has one of them;
    None: of those that have no value."""
    if wanted is None:
        return _native.flat_filter_from_term(index, _native.SIDBEAM_TERM_IS_NULL, attribute, *_NONE)
    values = [value.item() if isinstance(value, np.generic) else value for value in _values_of(wanted)]
    return _native.flat_filter_from_term(index, _native.FLAT_TERM_ANY_OF, attribute, *_arrays_of(values, attribute))


def _values_of(wanted: Any) -> list[Any]:
    if isinstance(wanted, str) or is_one(wanted) or not isinstance(wanted, Iterable):
        return [wanted]
    try:
        return sorted(wanted) if isinstance(wanted, Set) else list(wanted)
    except TypeError:  # of a set of several types, which are refused below
        return list(wanted)


def _arrays_of(values: list[Any], name: str) -> tuple[Any, Any, Any, Any]:
    kinds = {type(value) for value in values}
    if kinds <= {str}:
        return None, None, None, b"".join(_terminated(value, name) for value in values)
    if kinds == {bool}:
        return None, None, np.array(values, np.uint8), None
    if kinds == {int}:
        return np.array([integer(value, name) for value in values], np.int64), None, None, None
    if kinds <= {int, float}:
        return None, np.array(values, np.float64).view(np.int64), None, None
    if type(None) in kinds and len(values) > 1:
        raise InvalidArgument(f"{name} has None among its values: {name}=None alone asks for the items without one")
    raise WrongType(f"{name} is {shown(values[0])}, expected a str, int, float or bool, or a list of these of one type")


def _terminated(text: str, name: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} is {shown(text)}, which is no text: it has surrogates") from None
    if b"\0" in data:
        raise InvalidArgument(f"{name} is {shown(text)}, expected a text without NUL characters")
    return data + b"\0"
