"""Live catalogues: items come and go while the index serves. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
import time
import weakref
from typing import Any, Optional, Protocol, Sequence, Union

import numpy as np

from . import _native, aio, arrow, attributes as columns, catalogue, forks, parquet
from .build import Progress, Watched
from .checks import flag, instance, kind_of, milliseconds, path_bytes
from .enums import AttributeType, Residency, Sync, Verify, member
from .errors import WrongType
from .handle import Handle
from .importing import Import, ImportInfo, Path, add_table, options_of
from .index import Index
from .info import fields_from
from .item_lists import ItemRows, native_list
from .runtime import Runtime, runtime_or_default

Seconds = Union[None, float, datetime.timedelta]

_SLICE_MS = 100  # a wait hears of Ctrl-C, and of close(), so often


@dataclasses.dataclass(frozen=True)
class CatalogInfo:
    """How a live catalogue stands."""

    follows: bool  #: whether another process writes it
    version: int  #: the newest
    generation: int  #: of the newest version
    oldest_version: int  #: that is kept
    published: datetime.datetime  #: when the newest version was, in UTC
    items: int  #: live (SID, item) pairs of the newest version
    sids: int  #: its SIDs, those without items too
    base_items: int  #: pairs of the base of its generation
    added: int  #: pairs added since that base
    removed: int  #: pairs of either that have gone
    changes: int  #: calls that changed something since the last publish
    compact_soon: bool  #: whether 5 % of the base were added, or 20 % are gone
    log_failed: bool  #: whether the log could not be written, so that no publish can succeed
    log_bytes: int  #: of the logs of all kept generations
    unsynced_bytes: int  #: of these
    base_bytes: int  #: files of the bases of all kept generations
    memory_bytes: int  #: what is kept in memory, except bases and versions in use
    cut_bytes: int  #: unfinished end of the log, cut off when it was opened


@dataclasses.dataclass(frozen=True)
class VersionInfo:
    """A version that a live catalogue keeps."""

    version: int
    generation: int
    published: datetime.datetime  #: in UTC
    items: int  #: live pairs
    changed: int  #: pairs that came or went with it
    bytes: int  #: that it takes by itself, if nobody holds it
    back_to: Optional[int]  #: the version whose content it has again
    in_use: bool  #: whether somebody besides the catalogue holds it


class _Watcher(Protocol):
    def take(self, catalog: Catalog) -> None:
        """Looks at the newest version; raises nothing."""


class _Compaction(Watched):
    """What one compaction is cancelled and watched by."""

    __slots__ = ()

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._handle = _native.flat_compaction_create()


class Catalog(Handle):
    """A live catalogue: an index to which items come and from which they go while it serves.

        with sidbeam.Catalog.create(index, "catalogue/") as catalog:     # later Catalog.open("catalogue/")
            catalog.add(sids, ids, attributes={"price": prices})         # nobody sees it yet
            catalog.remove(sold)
            catalog.publish()                                            # all of it at once, or nothing
            session = sidbeam.Session(catalog.snapshot())                # an index like any other

    A version is an immutable :class:`Index`, and a search in it returns what an index of its live items alone would.
    Requests keep the version that they began with. Item rows and ordinals keep their numbers from version to version,
    until a compaction (a new ``generation``) numbers all anew.

    Made by :meth:`create`, :meth:`open` (one process writes a folder at a time) and :meth:`follow` (any number read
    it). Any thread may call; calls that change the catalogue wait for each other. Every call releases the GIL: in
    asyncio, ``await sidbeam.to_thread(catalog.compact)``, which ends with its task. ``close()`` drops what was not
    published.

    - ``sync``: when a publish is forced to the disk: "publish", before it returns; "interval", by the first publish,
      sync or close that comes ``sync_interval`` after the last time; "host", by :meth:`sync`. What is not may be lost
      if the machine stops, never anything before it; a process that stops loses nothing that was published.
    - ``keep_versions``, ``keep_age``: how many versions can be had and gone back to, and not older than what; the
      newest always. 0: 16; None: whatever their age. The age is the time from the publish that replaced a version to
      the newest publish: while none comes, old versions stay. Ages and waits are seconds, or a timedelta.
    - ``residency``, ``verify``: of the base, as of :meth:`Index.open`.
    """

    __slots__ = ("_runtime", "_folder", "_shape", "_codes", "_attributes", "_watchers")
    _runtime: Runtime
    _folder: Optional[str]
    _shape: catalogue.Shape
    _codes: tuple[int, ...]
    _attributes: dict[str, AttributeType]
    _watchers: weakref.WeakSet[_Watcher]  # told of versions that this object brings

    def __init__(self) -> None:
        raise TypeError("use Catalog.create, Catalog.open or Catalog.follow")

    @classmethod
    def _wrap(cls, handle: Any, runtime: Runtime, path: Optional[bytes]) -> Catalog:
        made = cls.__new__(cls)
        made._handle, made._runtime, made._watchers = handle, runtime, weakref.WeakSet()
        made._folder = None if path is None else os.path.abspath(os.fsdecode(path))
        with made.snapshot() as newest:
            info = newest.info
            made._attributes = {name: attribute.type for name, attribute in newest.attributes.items()}
        made._shape, made._codes = catalogue.Shape(info.levels, info.variable_length, info.id_type), info.codes
        return made

    @classmethod
    def create(
        cls,
        base: Index,
        folder: Optional[Path] = None,
        *,
        sync: Union[Sync, str] = Sync.PUBLISH,
        sync_interval: Seconds = None,
        keep_versions: int = 0,
        keep_age: Seconds = None,
        residency: Union[Residency, str] = Residency.MAP,
        verify: Union[Verify, str] = Verify.HEADER,
    ) -> Catalog:
        """Makes a catalogue whose version 1 is the base, an index with a trie.

        In a folder, which is made or holds no catalogue yet, the base is copied; None: in memory, and the catalogue
        holds the base. Raises :class:`InvalidArgument`, :class:`MissingSection`, :class:`IOFailure`,
        :class:`BadState` (another writer).
        """
        runtime = instance(base, Index, "base")._runtime
        settings = _settings(sync, sync_interval, keep_versions, keep_age, residency, verify)
        path = None if folder is None else path_bytes(folder, "folder")
        try:
            return cls._wrap(_native.flat_catalog_create(base._handle, folder is None, path, *settings), runtime, path)
        finally:
            runtime._hand_over_log()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        sync: Union[Sync, str] = Sync.PUBLISH,
        sync_interval: Seconds = None,
        keep_versions: int = 0,
        keep_age: Seconds = None,
        residency: Union[Residency, str] = Residency.MAP,
        verify: Union[Verify, str] = Verify.HEADER,
        accept_loss: bool = False,
        runtime: Optional[Runtime] = None,
    ) -> Catalog:
        """Opens a folder to write it.

        ``accept_loss``: where a log is damaged, what was published before the damage is opened, and what came after it
        is given up; otherwise that is :class:`Corrupt`. (The end of a record that was never written whole is no
        damage: it is cut off, and ``info.cut_bytes`` says so.) Raises :class:`BadState` with process, host and time of
        another writer, :class:`IOFailure`, :class:`Corrupt`, :class:`Unsupported`.
        """
        settings = _settings(sync, sync_interval, keep_versions, keep_age, residency, verify)
        return cls._open(folder, False, (*settings, flag(accept_loss, "accept_loss")), runtime)

    @classmethod
    def follow(
        cls,
        folder: Path,
        *,
        keep_versions: int = 0,
        keep_age: Seconds = None,
        residency: Union[Residency, str] = Residency.MAP,
        verify: Union[Verify, str] = Verify.HEADER,
        runtime: Optional[Runtime] = None,
    ) -> Catalog:
        """Opens a folder to read it, whoever writes it; nothing in it is changed, not even a lock.

        What is published later is seen after :meth:`refresh`. Raises as :meth:`open` does.
        """
        settings = _settings(Sync.PUBLISH, None, keep_versions, keep_age, residency, verify)
        return cls._open(folder, True, (*settings, False), runtime)

    @classmethod
    def _open(cls, folder: Path, follows: bool, settings: tuple[int, ...], runtime: Optional[Runtime]) -> Catalog:
        runtime = runtime_or_default(runtime)
        path = path_bytes(folder, "folder")
        try:
            return cls._wrap(_native.flat_catalog_open(runtime._handle, path, follows, *settings), runtime, path)
        finally:
            runtime._hand_over_log()

    def refresh(self, wait: Seconds = None) -> int:
        """Takes over what has been published since, each version whole, and returns the newest.

        Where nothing is new it waits for that up to so many seconds; Ctrl-C, :meth:`close` and the end of the task of
        :func:`sidbeam.to_thread` end the wait. On an error its newest version stays. Raises :class:`BadState` of a
        catalogue that does not follow.
        """
        left = milliseconds(wait, "wait")
        before = self.info.version if left else 0
        end = time.monotonic() + left / 1000
        while True:
            version = int(_native.flat_catalog_refresh(self._handle, min(left, _SLICE_MS)))
            left = math.ceil((end - time.monotonic()) * 1000)
            if version != before or left <= 0:
                return self._tell(version)
            aio.check()

    def add(
        self,
        sids: Any,
        ids: Any,
        *,
        lengths: Any = None,
        priorities: Any = None,
        attributes: Optional[dict[str, Any]] = None,
    ) -> None:
        """Adds pairs, to be published. ``sids``, ``ids`` and the rest are those of :meth:`Builder.add`.

        A pair that is live already is updated: it takes the priority and the attributes that are given, and keeps those
        that are not. One that was removed is new again. ``ids`` are of the base's type, and ``attributes`` those of the
        base. Raises :class:`InvalidArgument` with pair, level and value; then nothing of this call has been added.
        """
        pairs = catalogue.pairs_of(self._shape, sids, ids, lengths, priorities)
        given = columns.columns_of(attributes, pairs.count, self._attributes)
        values = _native.flat_columns_create() if given else None
        for column in given:
            column.put(_native.flat_columns_put, values, pairs.count)
        first = (self._handle, pairs.codes, self._shape.levels, pairs.lengths, pairs.count, pairs.ids)
        _native.flat_catalog_add(*first, *(pairs.names or (None, None)), pairs.priorities, values)

    def add_arrow(
        self,
        data: Any,
        *,
        sid: Optional[str] = None,
        levels: Union[None, str, Sequence[str]] = None,
        item: Optional[str] = None,
        priority: Optional[str] = None,
        attributes: Union[None, bool, Sequence[str]] = None,
    ) -> int:
        """Adds the pairs of a table, to be published, and returns their number.

        The arguments are those of :meth:`Builder.add_arrow`; columns that are attributes must be those of the base.
        """
        named = arrow.Columns(sid, levels, item, priority, attributes)
        return arrow.add(self._handle, data, named, _native.flat_catalog_add_arrow)

    def add_file(self, path: Path, *, progress: Optional[Progress] = None, **options: Any) -> ImportInfo:
        """Adds all pairs of a catalogue file, to be published, of any kind of :meth:`Index.from_file`; returns what was
        seen in it.

        ``options`` are those of :class:`ImportOptions`. Codes, lengths and the type of ids are the catalogue's, and so
        are the types of attributes; where its base was built of tokens, the file's must be of the same families. Where
        no record has a priority, pairs that are live keep theirs. Raises :class:`Corrupt` with file, line and item
        where the file is no catalogue, or does not fit this one. After an error, Ctrl-C, or an exception from
        ``progress(phase, done, total)``, some of its pairs may have been added: see :meth:`discard`. Of what PyArrow
        reads, done and total are rows, told at each record batch; total is 0 where a file does not say.
        """
        reading = options_of(options)[0]
        table = parquet.arrow_stream_of(path, reading.columns())
        if table is not None:
            call = _native.flat_catalog_add_arrow
            return add_table(self, table, reading, self._shape, self._codes, call, progress)
        with Import(path, reading, catalog=self, progress=progress, runtime=self._runtime) as file:
            file.add_to_catalog(self, progress)
            return file.info

    def remove(self, ids: Any) -> int:
        """Removes all pairs of items, to be published; returns how many of the ids have none."""
        if ids is None or isinstance(ids, ItemRows):
            raise WrongType(f"ids is {kind_of(ids)}, expected a list of ids: items are removed by id")
        return int(_native.flat_catalog_remove(self._handle, *native_list(ids, self._shape.id_type, "ids")))

    def discard(self) -> None:
        """Drops all changes since the last publish."""
        _native.flat_catalog_discard(self._handle)

    def publish(self) -> int:
        """Makes the changes visible as a new version, and returns its number; without changes that of the newest.

        On an error nothing has been published, and the changes wait for the next publish. Raises :class:`IOFailure`:
        once it is uncertain what the log holds, no publish succeeds until the catalogue is opened again.
        """
        return self._tell(int(_native.flat_catalog_publish(self._handle)))

    def rollback(self, version: int) -> int:
        """Publishes the content of a version that is kept as a new one, and returns its number.

        The changes since the last publish are dropped.
        """
        return self._tell(int(_native.flat_catalog_rollback(self._handle, version)))

    def compact(
        self,
        threads: int = 0,
        memory_limit: Optional[int] = None,
        bytes_per_second: Optional[int] = None,
        progress: Optional[Progress] = None,
    ) -> int:
        """Builds a base of all live pairs, publishes the newest content on it, and returns the version.

        ``info.compact_soon`` says when that is worth its time. It takes as much memory as a build; other threads go on
        to add, publish and read, and what they publish meanwhile is carried over. Ctrl-C, an exception from
        ``progress(phase, done, total)``, and the end of the task of :func:`sidbeam.to_thread`, end it; then, and after
        any error, all is as it was.

        - ``threads``: 0: the runtime's. ``memory_limit``: bytes, as of :class:`Builder`.
        - ``bytes_per_second``: most of what is read of the catalogue and written to its folder.
        """
        limits = (threads, 0 if memory_limit is None else memory_limit)
        rate = 0 if bytes_per_second is None else bytes_per_second
        with _Compaction(self._runtime) as running:
            version: int = running._run(
                lambda: _native.flat_catalog_compact(self._handle, running._handle, *limits, rate), progress
            )
        return self._tell(version)

    def _watch(self, watcher: _Watcher) -> None:
        """Has the watcher, as long as it lives, take every version that a call of this object brings, before that call
        returns."""
        with forks.lock:
            self._watchers.add(watcher)

    def _tell(self, version: int) -> int:
        with forks.lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.take(self)
        return version

    def sync(self) -> None:
        """Forces what was published to the disk."""
        _native.flat_catalog_sync(self._handle)

    def snapshot(self, version: Optional[int] = None) -> Index:
        """A version that is kept, None: the newest, as an index that may outlive the catalogue."""
        number = 0 if version is None else version
        return Index._wrap(_native.flat_catalog_snapshot(self._handle, number), self._runtime)

    @property
    def info(self) -> CatalogInfo:
        numbers = np.zeros(_native.FLAT_CATALOG_COUNT, np.int64)
        _native.flat_catalog_get_info(self._handle, numbers)
        values = _values(CatalogInfo, "FLAT_CATALOG", numbers)
        flags = {name: bool(values[name]) for name in ("follows", "compact_soon", "log_failed")}
        return CatalogInfo(**values | flags)

    def versions(self) -> list[VersionInfo]:
        """Those that are kept, the oldest first."""
        numbers = np.zeros((0, _native.FLAT_VERSION_COUNT), np.int64)
        while (count := _native.flat_catalog_versions(self._handle, numbers)) > len(numbers):
            numbers = np.zeros((count, _native.FLAT_VERSION_COUNT), np.int64)
        return [_version(row) for row in numbers[:count]]

    def _describe(self) -> str:
        info = self.info
        return f"version {info.version}, {info.items} items{', follows' if info.follows else ''}"


def _settings(
    sync: Union[Sync, str],
    sync_interval: Seconds,
    keep_versions: int,
    keep_age: Seconds,
    residency: Union[Residency, str],
    verify: Union[Verify, str],
) -> tuple[int, ...]:
    return (
        member(Sync, sync),
        milliseconds(sync_interval, "sync_interval"),
        keep_versions,
        milliseconds(keep_age, "keep_age"),
        member(Residency, residency),
        member(Verify, verify),
    )


def _values(cls: Any, prefix: str, numbers: np.ndarray) -> dict[str, Any]:
    microseconds = int(numbers[getattr(_native, f"{prefix}_PUBLISHED_NS")]) // 1000
    since = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return fields_from(cls, prefix, numbers, 0) | {"published": since + datetime.timedelta(microseconds=microseconds)}


def _version(numbers: np.ndarray) -> VersionInfo:
    values = _values(VersionInfo, "FLAT_VERSION", numbers)
    return VersionInfo(**values | {"in_use": bool(values["in_use"]), "back_to": values["back_to"] or None})
