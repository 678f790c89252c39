"""Catalogues by name, for the plugins of serving engines (:mod:`sidbeam.vllm`, :mod:`sidbeam.sglang`).

The operator names catalogues once, in the environment of every process of the engine:

    SIDBEAM_CATALOGUES='{"shop": {"path": "shop.sidx", "offsets": [1000, 1256, 1512], "begin": 999, "end": 2}}'

or the path of a file that holds the same, or :func:`register` in the engine's own process. A request chooses:
``{"sidbeam": "shop"}``, or ``{"sidbeam": {"index": "shop", "begin": 998}}`` with settings of its own. It gives names,
never paths: it must not open files of the server.

    path        index file, or folder of a live catalogue, which is followed
    follow      true: an index file, too: another one that is renamed to its path is taken over, as a version would be
    offsets     token of each level's code 0; or one number for all levels
    maps        or, per level, the tokens of its codes in their order, -1 where no SID has the code
    begin       token after which a SID begins, anywhere; without it the first generated token begins the SID
    end         token that ends the output of a request; sidbeam.vllm forces it and needs one
    default     true: for requests that name none
    filters     named filters, {"cheap": "price<20 and in_stock"}; see sidbeam/filter.h for the grammar
    max_listed  most ids of a list of a request (10000); 0: requests list none
    max_where   most bytes of a request's own filter (4096); 0: requests have named ones alone

What may come to one request: :mod:`sidbeam.serving_rules`, ``{"sidbeam": "shop", "sidbeam_filter": "cheap",
"sidbeam_exclude": [17, 4]}``.

Of a live catalogue (:class:`sidbeam.Catalog`) a request follows the version that is the newest when it begins, to its
end, whatever is published, rolled back or compacted meanwhile. Each process of the engine follows the folder by itself,
within moments, on a thread of its own, where a version is made ready before a request sees it. A folder or file that is
damaged or gone, or a version that cannot be served (an item whose code has no token, memory), leaves the last one that
could; the logger ``sidbeam.following`` says so, and at level INFO which version came. Under tensor parallelism, whose
ranks might begin a request with different versions, live catalogues are refused, and so is ``follow``.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from .constraint import Constraint
from .constraint_set import ConstraintSet
from .checks import flag, kind_of
from .errors import InvalidArgument, SidbeamError, WrongType
from .filters import Filter
from .following import Newest, is_live
from .index import Index
from .info import IndexInfo
from .live import Catalog, Path
from .serving_rules import MAX_LISTED, MAX_WHERE, CatalogueRules, RequestRules, given_keys
from .vocabulary import Vocabulary
from .watched import WatchedFile

ENVIRONMENT = "SIDBEAM_CATALOGUES"
KEY = "sidbeam"


@dataclasses.dataclass(frozen=True, eq=False)
class Version:
    """What requests follow of a catalogue: an index, or one version of a live one. It makes its sets once per device
    and holds them."""

    index: Index
    vocabulary: Vocabulary
    rules: CatalogueRules
    _sets: dict[str, ConstraintSet] = dataclasses.field(default_factory=dict, repr=False)

    def constraints(self, device: str) -> ConstraintSet:
        if device not in self._sets:
            self._sets[device] = ConstraintSet(self.index, vocabulary=self.vocabulary, device=device)
        return self._sets[device]

    def next(self, index: Index) -> Version:
        """The one after it, with what it has been used for made ready; fails where an item's code has no token."""
        made = Version(index, self.vocabulary, self.rules.on(index))
        for device in list(self._sets) or ["cpu"]:
            made.constraints(device)
        return made


@dataclasses.dataclass(frozen=True, eq=False)
class Catalogue:
    """A catalogue, and how its SIDs are written in a model's tokens, which no version changes."""

    name: str
    vocabulary: Vocabulary
    shape: IndexInfo  #: of its first version
    followed: Union[Version, Newest[Version]]
    begin: Optional[int] = None
    end: Optional[int] = None

    @property
    def live(self) -> bool:
        return isinstance(self.followed, Newest)

    @property
    def newest(self) -> Version:
        """What requests follow that begin now."""
        return self.followed.value if isinstance(self.followed, Newest) else self.followed

    def check_ranks(self, ranks: int) -> None:
        """Ranks of tensor parallelism make the same choices, each by itself; a version might come to one of them first.
        """
        if self.live and ranks > 1:
            raise InvalidArgument(
                f"catalogue {self.name!r} is live, expected an index under tensor parallelism (of {ranks} ranks)"
            )

    def refresh(self) -> None:
        """Takes over now what another process has published, which otherwise comes by itself, within moments. Raises
        what is wrong with it."""
        if isinstance(self.followed, Newest):
            self.followed.refresh()

    @property
    def index(self) -> Index:
        return self.newest.index

    @property
    def levels(self) -> int:
        return self.shape.levels

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """int32 ``[levels, columns]``: the code that a token stands for at a level, -1 for none."""
        counts = self.shape.codes
        inverse = np.full((self.levels, self.vocabulary.columns(counts)), -1, np.int32)
        for level in range(self.levels):
            tokens = self.tokens(level)
            inverse[level, tokens[tokens >= 0]] = np.flatnonzero(tokens >= 0)
        return inverse

    def tokens(self, level: int) -> np.ndarray:
        """int64 ``[codes]``: the tokens of a level's codes; -1 for none."""
        return self.vocabulary.columns_of(self.shape.codes, level)

    @functools.cached_property
    def padded_tokens(self) -> np.ndarray:
        """int64 ``[levels, codes]``: the token of each code, the end included; any token of the level where none is."""
        counts, end = self.shape.codes, self.vocabulary.end_column
        padded = np.empty((self.levels, max(counts) + 1), np.int64)
        for level, count in enumerate(counts):
            tokens = self.tokens(level)
            padded[level] = next(iter(tokens[tokens >= 0]), 0)
            padded[level, :count] = np.where(tokens >= 0, tokens, padded[level, -1])
            if end >= 0:
                padded[level, count] = end
        return padded

    def check(self) -> None:
        """A history must determine which SID it holds."""
        for level in range(self.levels):
            tokens = self.tokens(level)
            tokens = tokens[tokens >= 0]
            if len(np.unique(tokens)) != len(tokens):
                raise InvalidArgument(f"catalogue {self.name!r}: a token stands for several codes of level {level}")
            for name, token in (("begin", self.begin), ("end", self.end), ("end_column", self.vocabulary.end_column)):
                if token is not None and token in tokens:
                    raise InvalidArgument(
                        f"catalogue {self.name!r}: {name} {token} is the token of a code of level {level}"
                    )


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a request asks for: a catalogue, of which it follows one version, its own begin and end where it gives them,
    and its rules."""

    catalogue: Catalogue
    version: Version
    begin: Optional[int]
    end: Optional[int]
    rules: Optional[RequestRules] = None

    def constraint(self) -> Optional[Constraint]:
        """What the request alone follows: its rules, its version; None: the only version there is, without rules."""
        if self.rules is not None:
            return self.version.rules.constraint(self.rules)
        return self.version.index.constraint if self.catalogue.live else None

    def constraints(self, device: str) -> ConstraintSet:
        """A set of what the request follows."""
        if self.rules is None:
            return self.version.constraints(device)
        return ConstraintSet(self.constraint(), vocabulary=self.catalogue.vocabulary, device=device)

    def renewed(self) -> Choice:
        """The same of the newest version."""
        return dataclasses.replace(self, version=self.catalogue.newest)


_registered: dict[str, Catalogue] = {}
_default: list[str] = []


def register(
    name: str,
    index: Union[Index, Catalog, Path],
    *,
    vocabulary: Optional[Vocabulary] = None,
    begin: Optional[int] = None,
    end: Optional[int] = None,
    default: bool = False,
    follow: bool = False,
    filters: Optional[Mapping[str, Union[str, Filter]]] = None,
    max_listed: int = MAX_LISTED,
    max_where: int = MAX_WHERE,
) -> Catalogue:
    """Names a catalogue in this process; later requests get it in place of an older one of that name.

    ``index``: an index, a live catalogue (whoever publishes with that object makes the version ready before the call
    returns), or the path of a file or a folder of either. ``follow``: a file's path is looked at again and again, as a
    live catalogue's folder always is.
    """
    if not isinstance(index, (Index, Catalog, str, bytes, os.PathLike)):
        raise WrongType(f"index is {kind_of(index)}, expected an Index, a Catalog or the path of one")
    words = vocabulary or Vocabulary()

    def first(index: Index) -> Version:
        return Version(index, words, CatalogueRules(name, index, filters, max_listed, max_where))

    def version(index: Index, before: Optional[Version]) -> Version:
        if before is not None:
            return before.next(index)
        made = first(index)
        made.rules.check_live()
        return made

    followed: Union[Version, Newest[Version]]
    if is_live(index):
        followed = Newest(index, version, f"catalogue {name!r}")
    elif flag(follow, "follow"):
        if isinstance(index, Index):
            raise InvalidArgument(f"catalogue {name!r}: follow is True and index an Index, expected the path of a file")
        followed = Newest(WatchedFile(index), version, f"catalogue {name!r}")
    else:
        followed = first(index if isinstance(index, Index) else Index.open(index))
    newest = followed.value if isinstance(followed, Newest) else followed
    catalogue = Catalogue(name, words, newest.index.info, followed, begin, end)
    catalogue.check()
    _registered[name] = catalogue
    if default:
        _default[:] = [name]
    return catalogue


def named() -> list[Catalogue]:
    """All catalogues that are named now."""
    _read_environment()
    return list(_registered.values())


def asked_for() -> bool:
    """Whether anybody has named a catalogue, here or in the environment, which may be wrong."""
    return bool(_registered or os.environ.get(ENVIRONMENT, "").strip())


def find(name: str) -> Catalogue:
    """The catalogue of this name."""
    _read_environment()
    if name not in _registered:
        raise InvalidArgument(f"catalogue {name!r} is not known, expected one of {sorted(_registered)}")
    return _registered[name]


def choice_of(arguments: Optional[Mapping[str, Any]]) -> Optional[Choice]:
    """What a request's arguments ask for under "sidbeam"; None: no constraint. False there declines the default."""
    wanted = (arguments or {}).get(KEY)
    if wanted is None:
        _read_environment()
        wanted = _default[0] if _default else False
    if wanted is False:
        for key in given_keys(arguments):
            raise InvalidArgument(f"{key} is given, expected a catalogue for it under {KEY}")
        return None
    if isinstance(wanted, str):
        wanted = {"index": wanted}
    if not isinstance(wanted, Mapping) or not isinstance(wanted.get("index"), str):
        raise InvalidArgument(
            f'{KEY} is {wanted!r}, expected a name, {{"index": name, "begin": token, "end": token}} or false'
        )
    unknown = set(wanted) - {"index", "begin", "end"}
    if unknown:
        raise InvalidArgument(f"{KEY} has {sorted(unknown)}, expected index, begin and end")
    catalogue = find(wanted["index"])
    tokens = {name: wanted.get(name, getattr(catalogue, name)) for name in ("begin", "end")}
    for name, token in tokens.items():
        if token is not None and (isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < 2**31):
            raise InvalidArgument(f"{KEY}: {name} is {token!r}, expected a token or null")
    version = catalogue.newest
    chosen = Choice(catalogue, version, **tokens, rules=version.rules.read(arguments or {}))
    if tokens != {"begin": catalogue.begin, "end": catalogue.end}:
        dataclasses.replace(catalogue, **tokens).check()
    return chosen


@functools.lru_cache(maxsize=1)
def _read_environment() -> None:
    """Runs once: what :func:`register` has named already stays."""
    text = os.environ.get(ENVIRONMENT, "").strip()
    if text and text[0] not in '{["':
        try:
            with open(text, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise InvalidArgument(
                f"{ENVIRONMENT} is {text!r}, expected {_SHAPE}, or the path of such a file"
            ) from error
    try:
        entries = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidArgument(f"{ENVIRONMENT} is no JSON ({error}), expected {_SHAPE}") from error
    if not isinstance(entries, dict):
        raise InvalidArgument(f"{ENVIRONMENT} is a JSON {_kind_of(entries)}, expected {_SHAPE}")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise InvalidArgument(f"{ENVIRONMENT}: {name!r} is a JSON {_kind_of(entry)}, expected {_SHAPE}")
        _open(name, dict(entry))


_SHAPE = '{"name": {"path": "shop.sidx", "offsets": [..]}}'
_SETTINGS = "path, offsets, maps, end_column, begin, end, default, follow, filters, max_listed and max_where"


def _kind_of(value: Any) -> str:
    return {str: "string", list: "list", bool: "boolean", type(None): "null", dict: "object"}.get(type(value), "number")


def _open(name: str, entry: dict[str, Any]) -> None:
    path, default = entry.pop("path", None), entry.pop("default", False)
    settings = (entry.pop("offsets", None), entry.pop("maps", None), entry.pop("end_column", -1))
    of_requests = {key: entry.pop(key) for key in ("begin", "end", "follow", *_OF_RULES) if key in entry}
    if not isinstance(path, str):
        raise InvalidArgument(f"{ENVIRONMENT}: {name!r} has path {path!r}, expected that of an index or a folder")
    if entry:
        raise InvalidArgument(f"{ENVIRONMENT}: {name!r} has {sorted(entry)}, expected {_SETTINGS}")
    if name in _registered:
        return
    try:
        default = default and not _default
        register(name, path, vocabulary=Vocabulary(*settings), default=default, **of_requests)
    except SidbeamError as error:  # a file that is not there, or damaged, too
        known = f"catalogue {name!r}"
        message = error.message if error.message.startswith(known) else f"{known}: {error.message}"
        raise type(error)(f"{ENVIRONMENT}: {message}") from error


_OF_RULES = ("filters", "max_listed", "max_where")
