"""The filters of a catalogue that requests ask for: those of the operator by name, and those of texts that requests
bring, of which the latest are kept. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Mapping, Optional, Union

from .errors import InvalidArgument
from .filters import Filter
from .index import Index

_Asked = tuple[Optional[str], str]  # a name and a text: items must pass both


class KeptFilters:
    """Of one index. Any number of threads may use it.

    ``named``: texts, or filters of the index; ``most``: filters of texts that are kept, each up to 0.8 bytes per SID.
    Raises :class:`InvalidArgument` with the name of one that is wrong.
    """

    def __init__(self, index: Index, named: Mapping[str, Union[str, Filter]], most: int) -> None:
        self._index, self._most = index, most
        self.named = {name: self._of(name, given) for name, given in named.items()}
        self._texts: dict[_Asked, Filter] = {}  # the last one asked for stands last
        self._taken: dict[_Asked, Filter] = {}  # those of the version before, until asked for

    def _of(self, name: str, given: Union[str, Filter]) -> Filter:
        try:
            made = self._index.filter(given) if isinstance(given, str) else given
            made & self._index.filter("true")  # fails for one of another index
            return made
        except InvalidArgument as error:
            raise InvalidArgument(f"filter {name!r}: {mistake(error)}") from error

    def on(self, index: Index) -> KeptFilters:
        """The same on another version of the catalogue, with what is known to be asked for prepared."""
        moved = KeptFilters(index, {}, self._most)
        moved.named = {name: _moved(kept, index) for name, kept in self.named.items()}
        moved._taken = {asked: _moved(kept, index) for asked, kept in list(self._texts.items())}
        return moved

    def prepare(self) -> None:
        """Derives what searches read of the named filters, so that no request waits for it."""
        for kept in self.named.values():
            kept.prepare()

    def get(self, name: Optional[str], text: Optional[str]) -> Optional[Filter]:
        """The filter of a name that there is, of a text, or of both; None: of neither."""
        if text is None:
            return None if name is None else self.named[name]
        asked = (name, text)
        kept = self._texts.pop(asked, None) or self._taken.pop(asked, None) or self._parse(name, text)
        self._texts[asked] = kept
        for oldest in list(self._texts)[: max(len(self._texts) - self._most, 0)]:
            self._texts.pop(oldest, None)
        return kept

    def _parse(self, name: Optional[str], text: str) -> Filter:
        made = self._index.filter(text)
        return made if name is None else self.named[name] & made


def _moved(kept: Filter, index: Index) -> Filter:
    moved = kept.on(index)
    if kept.info.prepared:
        moved.prepare()
    return moved


def mistake(error: InvalidArgument) -> str:
    """The place and the reason: who tells it says which filter it is."""
    return error.message.removeprefix("filter: ")
