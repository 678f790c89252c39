"""Live catalogues in what serves: requests that begin get the newest version, made ready before they see it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from . import forks
from .checks import path_bytes
from .errors import Collision, InvalidArgument, MissingSection, Unsupported
from .index import Index
from .live import Catalog, Path
from .watched import WatchedFile

V = TypeVar("V")
Made = Callable[[Index, Optional[V]], V]

_WAIT = 1.0  # seconds that a follower waits for a version before it looks whether anybody still wants one
_PAUSE = 1.0  # and between tries after an error
_LONGEST_PAUSE = 60.0  # between tries to prepare a version: they take the time of requests
_LASTING = (InvalidArgument, Unsupported, MissingSection, Collision)  # errors that another try would meet again
_log = logging.getLogger(__name__)


def is_live(given: Any) -> bool:
    """Whether it is a live catalogue, or the path of its folder."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return os.path.isdir(os.fsdecode(path_bytes(given)))
    return isinstance(given, Catalog)


class _Snapshot(NamedTuple):
    """The newest version of what is followed."""

    index: Index
    key: tuple[Any, ...]  #: version, generation, fingerprint; also which file: no fingerprint has attributes


class _Refused(NamedTuple):
    """A version that could not be prepared."""

    key: tuple[Any, ...]
    pause: float  #: seconds before the next try
    again: float  #: when that is due, by the monotonic clock


class Newest(Generic[V]):
    """What requests that begin follow of a live catalogue: its newest version, as ``make`` prepares it.

    - ``catalog``: a :class:`Catalog`, which is held, the path of its folder, which is then followed, or a file that is
      watched.
    - ``make``: from a version's index, and what was made of the version before (None: the first), to what requests
      get. It raises where they could not go on with it.
    - ``name``: by which the log knows the catalogue; None: by its folder.

    Nobody waits for :attr:`value`. A version is prepared on the thread that brings it: that which publishes, or, of a
    catalogue that follows, one of its own. Where that fails, or the folder is damaged or gone, the last version stays,
    and the logger ``sidbeam.following`` says so, of an error that comes again and again once. A version that failed is
    tried again only where the error may pass (memory, say), after pauses that grow to a minute. In a child of fork()
    the folder is followed anew; what is in memory alone stays as it was.
    """

    def __init__(
        self, catalog: Union[Catalog, WatchedFile, Path], make: Made[V], name: Optional[str] = None
    ) -> None:
        followed = catalog if isinstance(catalog, (Catalog, WatchedFile)) else Catalog.follow(catalog)
        self._make, self._folder = make, followed._folder
        self._name = name or f"catalogue {self._folder or 'in memory'}"
        self._catalog: Union[None, Catalog, WatchedFile] = followed
        self._kind = type(followed)
        self._own = followed is not catalog
        self._process = os.getpid()
        self._opening, self._lock = threading.Lock(), threading.Lock()  # taken in this order
        self._refused: Optional[_Refused] = None
        self._said: Optional[str] = None  # the last error that was logged since all was well
        first = _snapshot_of(followed)
        self._shape, self._key = _shape_of(first.index), first.key
        self._value = make(first.index, None)
        followed._watch(self)
        self.take(followed)  # what was published meanwhile
        if followed.info.follows:
            self._follow()

    @property
    def value(self) -> V:
        self._own_process()
        return self._value

    def take(self, catalog: Union[Catalog, WatchedFile]) -> None:
        """Takes over the newest version, if it is another one. Raises nothing: who publishes has done so."""
        with self._lock:
            try:
                newest = _snapshot_of(catalog)
                if self._skips(newest):
                    return
                if newest.key != self._key:
                    self._prepare(newest)
                self._refused = self._said = None
            except Exception as error:
                self.report(error)

    def _skips(self, newest: _Snapshot) -> bool:
        refused = self._refused
        return refused is not None and refused.key == newest.key and time.monotonic() < refused.again

    def _prepare(self, newest: _Snapshot) -> None:
        refused = self._refused
        try:
            if _shape_of(newest.index) != self._shape:
                raise InvalidArgument("its SIDs or ids are of another form: it is another catalogue")
            self._value = self._make(newest.index, self._value)
        except Exception as error:
            again = refused is not None and refused.key == newest.key
            pause = min(2 * refused.pause, _LONGEST_PAUSE) if refused is not None and again else _PAUSE
            pause = math.inf if isinstance(error, _LASTING) else pause
            self._refused = _Refused(newest.key, pause, time.monotonic() + pause)
            raise
        self._key = newest.key
        _log.info("%s: requests that begin follow version %d, fingerprint %s", self._name, newest.key[0], newest.key[2])

    def renew(self, make: Made[V]) -> None:
        """Has another ``make`` prepare the newest version anew, and the next ones. Raises what it does; then all is as
        it was."""
        catalog = self.catalog()
        with self._lock:
            before = self._make, self._refused
            self._make = make
            try:
                self._prepare(_snapshot_of(catalog))
            except BaseException:
                self._make, self._refused = before
                raise
            self._refused = self._said = None

    def report(self, error: Exception) -> None:
        if str(error) != self._said:
            self._said = str(error)
            _log.error("%s: requests go on with version %d: %s", self._name, self._key[0], error)

    def lost(self, error: Exception) -> bool:
        """After an error of what is followed; returns whether that is over."""
        self.report(error)
        if self._own and self._kind is Catalog:
            self._catalog = None  # to be opened anew: other files may have taken the place of those that were open
        return self._catalog is not None and self._catalog.closed

    def _follow(self) -> None:
        name = f"sidbeam follows {self._name}"
        threading.Thread(target=_go_along, args=(weakref.ref(self),), name=name, daemon=True).start()

    def _own_process(self) -> None:
        """Begins again in a child of fork(), which has neither the thread nor a use for its parent's catalogue."""
        if self._process == os.getpid():
            return
        with forks.lock:
            if self._process == os.getpid():
                return
            self._opening, self._lock = threading.Lock(), threading.Lock()
            self._catalog, self._own = None, True
            self._process = os.getpid()  # the last, as others look at it without the lock
        if self._folder is None:
            _log.error("%s: it is in the memory of the parent process: version %d stays", self._name, self._key[0])
        else:
            self._follow()

    def refresh(self) -> None:
        """Takes over now what another process has published, which otherwise comes by itself, within moments. Raises
        what is wrong with that, though it was tried before."""
        catalog = self.look()
        with self._lock:
            if catalog is not None and self._refused is not None:
                self._prepare(_snapshot_of(catalog))
                self._refused = self._said = None

    def look(self) -> Union[None, Catalog, WatchedFile]:
        """The same without what :attr:`value` could not be made of. Returns what is followed, or None: a child's, whose
        parent has it in memory."""
        self._own_process()
        if self._catalog is None and self._folder is None:
            return None
        catalog = self.catalog()
        if catalog.info.follows:
            catalog.refresh()
        return catalog

    def catalog(self) -> Union[Catalog, WatchedFile]:
        """What is followed, opened if need be."""
        self._own_process()
        with self._opening:
            opened = self._catalog
            if opened is None:
                assert self._folder is not None
                opened = self._kind.follow(self._folder)
                opened._watch(self)
                self.take(opened)
                self._catalog = opened
            return opened  # whatever lost() makes of the other


def _go_along(wanted: weakref.ref[Newest[Any]]) -> None:
    """Follows until nobody has what is followed any more, or its catalogue is closed."""
    while (newest := wanted()) is not None:
        try:
            catalog = newest.catalog()
            del newest  # which may go while this waits
            catalog.refresh(_WAIT)
        except Exception as error:  # of whatever kind: without this thread nothing would come any more
            newest = wanted()
            if newest is None or newest.lost(error):
                return
            del newest
            time.sleep(_PAUSE)


def _snapshot_of(followed: Union[Catalog, WatchedFile]) -> _Snapshot:
    index, file = followed.opened() if isinstance(followed, WatchedFile) else (followed.snapshot(), ())
    return _Snapshot(index, (index.info.version, index.info.generation, index.info.fingerprint, *file))


def _shape_of(index: Index) -> tuple[Any, ...]:
    """What no version of a catalogue changes, and vocabularies, filters and lists go by."""
    return (index.info.codes, index.info.variable_length, index.info.id_type)
