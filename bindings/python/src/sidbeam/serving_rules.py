"""Rules of requests to serving engines: which of a catalogue's items may come, as the arguments of a request say it and
as the operator allows.

    sidbeam_filter    name of one of the catalogue's filters
    sidbeam_where     a filter's text, in the grammar of sidbeam/filter.h; beside a name, items must pass both
    sidbeam_exclude   ids of items that must not come
    sidbeam_allow     ids of the items that alone may come; [] lets none come

Ids that no item has are ignored; how many those were is logged at debug. Named filters are prepared when the engine
starts; a text that is new costs it a derivation (sidbeam/filter.h), and the last 32 of a catalogue are kept. All are
asked of the version that the request follows: an id that is listed there and gone, or not yet there, is no item's. For
a new version of a live catalogue its filters, and texts that requests brought under the last one, are prepared before
requests see it.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import weakref
from typing import Any, Mapping, NamedTuple, Optional, Union

from .checks import kind_of, shown
from .constraint import Constraint
from .enums import IdType
from .errors import InvalidArgument
from .filters import Filter
from .index import Index
from .item_lists import native_list
from .kept_filters import KeptFilters, mistake

FILTER, WHERE, EXCLUDE, ALLOW = KEYS = ("sidbeam_filter", "sidbeam_where", "sidbeam_exclude", "sidbeam_allow")
MAX_LISTED, MAX_WHERE = 10_000, 4096

_KEPT = 32  # filters of texts that a catalogue keeps
_log = logging.getLogger(__name__)

Ids = tuple[Union[int, str], ...]


class RequestRules(NamedTuple):
    """What a request asks for, checked. Equal ones share a constraint."""

    filter: Optional[str]
    where: Optional[str]
    exclude: Optional[Ids]
    allow: Optional[Ids]


def given_keys(arguments: Optional[Mapping[str, Any]]) -> list[str]:
    return [key for key in KEYS if (arguments or {}).get(key) is not None]


class CatalogueRules:
    """The filters that a catalogue has by name, the limits of what requests say, and what they share. Any number of
    threads may use it."""

    def __init__(
        self,
        name: str,
        index: Index,
        filters: Optional[Mapping[str, Union[str, Filter]]],
        max_listed: int,
        max_where: int,
    ) -> None:
        for setting, value in (("max_listed", max_listed), ("max_where", max_where)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidArgument(f"catalogue {name!r}: {setting} is {shown(value)}, expected an integer from 0 on")
        self._name, self._index, self._max_listed, self._max_where = name, index, max_listed, max_where
        self._filters = self._kept(index, filters)
        self._alive: weakref.WeakValueDictionary[RequestRules, Constraint] = weakref.WeakValueDictionary()

    def _kept(self, index: Index, filters: Optional[Mapping[str, Union[str, Filter]]]) -> KeptFilters:
        if filters is not None and not isinstance(filters, Mapping):
            raise self._wrong(f"filters is {kind_of(filters)}, expected texts by name")
        for key, given in (filters or {}).items():
            if not isinstance(given, (str, Filter)):
                raise self._wrong(f"filter {key!r} is {kind_of(given)}, expected a text")
        try:
            return KeptFilters(index, filters or {}, _KEPT)
        except InvalidArgument as error:
            raise self._wrong(error.message) from error

    def on(self, index: Index) -> CatalogueRules:
        """The same on another version of the catalogue, with what is known to be asked for prepared."""
        moved = CatalogueRules(self._name, index, None, self._max_listed, self._max_where)
        moved._filters = self._filters.on(index)
        return moved

    def check_live(self) -> None:
        """Refuses filters that a compaction would leave without items."""
        for name, kept in self._filters.named.items():
            if kept.text is None:
                raise self._wrong(f"filter {name!r} is a set of rows, expected a text: a live catalogue renumbers rows")

    def prepare(self) -> None:
        """Derives what searches read of the named filters, so that no request waits for it."""
        self._filters.prepare()

    def read(self, arguments: Mapping[str, Any]) -> Optional[RequestRules]:
        """Checks what a request says, a text by parsing it, and makes nothing else; None: no rules."""
        given = given_keys(arguments)
        name, where = arguments.get(FILTER), arguments.get(WHERE)
        if FILTER in given and (not isinstance(name, str) or name not in self._filters.named):
            raise self._wrong(f"{FILTER} is {shown(name)}, expected one of {sorted(self._filters.named)}")
        if WHERE in given:
            self._check_text(where)
            self._filter(name, where)
        exclude, allow = (self._ids(key, arguments[key]) if key in given else None for key in (EXCLUDE, ALLOW))
        rules = RequestRules(name, where, exclude or None, allow)
        return None if rules == (None, None, None, None) else rules

    def constraint(self, rules: RequestRules) -> Constraint:
        """Requests with the same rules share it while one of them holds it."""
        made = self._alive.get(rules)
        if made is None:
            kept = self._filter(rules.filter, rules.where)
            made = Constraint(self._index, filter=kept, exclude=rules.exclude, allow=rules.allow)
            self._alive[rules] = made
            self._report(made, rules)
        return made

    def _report(self, made: Constraint, rules: RequestRules) -> None:
        unknown = (made.info.unknown_excluded, made.info.unknown_allowed)
        for key, ids, count in zip((EXCLUDE, ALLOW), (rules.exclude, rules.allow), unknown):
            if count > 0:
                _log.debug("catalogue %r: %d of %d ids of %s name no item", self._name, count, len(ids or ()), key)

    def _filter(self, name: Optional[str], where: Optional[str]) -> Optional[Filter]:
        try:
            return self._filters.get(name, where)
        except InvalidArgument as error:
            raise self._wrong(f"{WHERE}: {mistake(error)}") from error

    def _check_text(self, where: Any) -> None:
        if not isinstance(where, str):
            raise self._wrong(f"{WHERE} is {kind_of(where)}, expected a text")
        size = len(where.encode("utf-8", "surrogatepass"))
        if size > self._max_where:
            raise self._wrong(f"{WHERE} has {size} bytes, expected at most {self._max_where} (max_where)")

    def _ids(self, key: str, ids: Any) -> Ids:
        if not isinstance(ids, (list, tuple)):
            raise self._wrong(f"{key} is {kind_of(ids)}, expected a list of ids")
        if len(ids) > self._max_listed:
            raise self._wrong(f"{key} has {len(ids)} ids, expected at most {self._max_listed} (max_listed)")
        text = self._index.info.id_type == IdType.STRING
        possible = {int, str} if text else {int}
        if not set(map(type, ids)) <= possible:
            odd = next(i for i, one in enumerate(ids) if type(one) not in possible)
            expected = "a text" if text else "an integer"
            raise self._wrong(f"{key}[{odd}] is {shown(ids[odd])}, expected {expected}, as the ids of its items are")
        try:
            native_list(list(ids), self._index.info.id_type, key)
        except InvalidArgument as error:  # numbers that an id cannot be, texts that are none
            raise self._wrong(error.message) from error
        return tuple(ids)

    def _wrong(self, message: str) -> InvalidArgument:
        return InvalidArgument(f"catalogue {self._name!r}: {message}")
