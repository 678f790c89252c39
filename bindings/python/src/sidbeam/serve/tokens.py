"""The token that changes and reloads must bear. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import hashlib
import hmac
import os
import pathlib
import re
from typing import Optional

from ..errors import InvalidArgument
from .refusals import Refusal

VARIABLE = "SIDBEAM_TOKEN"  # an argument would show it to all users of the machine


class Token:
    """What a file holds, or else the environment; where neither has one, nobody may change anything."""

    def __init__(self, path: Optional[str]) -> None:
        given = os.environ.get(VARIABLE, "") if path is None else pathlib.Path(path).read_text("utf-8", "replace")
        self._token = given.strip()
        if (self._token or path is not None) and not re.fullmatch(r"[\x21-\x7e]+", self._token):
            where = VARIABLE if path is None else path
            raise InvalidArgument(f"the token in {where} is empty, or has other characters than printable ASCII")

    def check(self, authorization: Optional[str]) -> None:
        """Lets a request pass that bears it; takes as long for every token that is none."""
        if not self._token:
            raise Refusal("forbidden", "no token is configured, so that nobody may change anything")
        scheme, _, given = (authorization or "").partition(" ")
        same = hmac.compare_digest(_hash(given.strip(" ")), _hash(self._token))
        if not same or scheme.lower() != "bearer":
            expected = "expected the header Authorization: Bearer TOKEN, with the token of the service"
            raise Refusal("unauthorized", expected, headers={"www-authenticate": "Bearer"})


def _hash(text: str) -> bytes:
    """All of one length, which a comparison would otherwise tell."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
