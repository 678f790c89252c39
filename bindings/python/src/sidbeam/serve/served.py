"""What requests are served from. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import pathlib
import re
from typing import Mapping, Optional, Union

from ..errors import InvalidArgument
from ..index import Index
from ..kept_filters import KeptFilters
from . import bodies
from .item_table import ItemTable
from .options import Options
from .refusals import Refusal, mistake

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # metrics have it as a label


class Served:
    """An index, or a version of a live catalogue, with its items by id and its filters, prepared. It goes with the last
    request that uses it.

    ``texts``: those of the settings' filters, by name; ``before``: what it replaces, on the same base or not.
    """

    def __init__(self, index: Index, options: Options, texts: Mapping[str, str], before: Optional[Served]) -> None:
        self.index, self.info, self.constraint = index, index.info, index.constraint
        try:
            self.filters = KeptFilters(index, texts, options.where_kept)
        except InvalidArgument as error:
            raise InvalidArgument(f"{error.message} (of {options.filters})") from error
        self.filters.prepare()
        self.items: ItemTable = ItemTable(index, None if before is None else before.items)

    @property
    def version(self) -> Union[int, str]:
        """The number of a live catalogue's version, or the fingerprint of an index file."""
        return self.info.version or self.info.fingerprint


def read_texts(path: Optional[str]) -> dict[str, str]:
    """The filters of the settings: a JSON object of name to text. Raises :class:`InvalidArgument` and OSError."""
    if path is None:
        return {}
    try:
        given = bodies.parse(pathlib.Path(path).read_bytes())
        texts = bodies.members(given, "", list(given) if isinstance(given, dict) else [])
        for name, text in texts.items():
            if not _NAME.fullmatch(name):
                raise mistake("a name", name, '1 .. 64 letters, digits, "_", "." and "-"')
            bodies.text(text, name)
        return dict(texts)
    except Refusal as error:
        raise InvalidArgument(f'the filters of {path}, expected {{"name": "text"}}: {error.message}') from error
