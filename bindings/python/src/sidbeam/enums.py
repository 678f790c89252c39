"""Constants of the C ABI. Wherever one is expected, its name will do: ``"trie"``.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import enum
import operator
from typing import Any, Iterable, TypeVar, Union

from . import _native
from .checks import shown
from .errors import InvalidArgument, WrongType

E = TypeVar("E", bound=enum.Enum)


class Strategy(enum.IntEnum):
    """How a session finds valid codes; see ``session.h``."""

    TRIE = _native.SIDBEAM_STRATEGY_TRIE
    SORTED = _native.SIDBEAM_STRATEGY_SORTED
    SORTED_TOPK = _native.SIDBEAM_STRATEGY_SORTED_TOPK
    HASH_FINAL = _native.SIDBEAM_STRATEGY_HASH_FINAL
    NONE = _native.SIDBEAM_STRATEGY_NONE


class Normalization(enum.IntEnum):
    """What logits are turned into: log-softmax over the full logits row, the level or the valid codes, or nothing."""

    FULL = _native.SIDBEAM_NORMALIZE_FULL
    LEVEL = _native.SIDBEAM_NORMALIZE_LEVEL
    VALID = _native.SIDBEAM_NORMALIZE_VALID
    NONE = _native.SIDBEAM_NORMALIZE_NONE


class Mode(enum.IntEnum):
    """What a session's beams are: the best SIDs, independent draws, or draws without replacement."""

    SEARCH = _native.SIDBEAM_MODE_SEARCH
    SAMPLE = _native.SIDBEAM_MODE_SAMPLE
    STOCHASTIC = _native.SIDBEAM_MODE_STOCHASTIC


class Kind(enum.IntFlag):
    """What an index holds; each serves the strategies that it is named after."""

    TRIE = _native.SIDBEAM_KIND_TRIE
    SORTED = _native.SIDBEAM_KIND_SORTED
    HASH = _native.SIDBEAM_KIND_HASH
    COMPACT_TRIE = _native.SIDBEAM_KIND_COMPACT_TRIE


class IdType(enum.IntEnum):
    """What identifies items."""

    I64 = _native.SIDBEAM_ID_I64
    U64 = _native.SIDBEAM_ID_U64
    STRING = _native.SIDBEAM_ID_STRING


class AttributeType(enum.IntEnum):
    """What an attribute of the items holds: int, float, bool, str, or lists of str."""

    I64 = _native.SIDBEAM_ATTRIBUTE_I64
    F32 = _native.SIDBEAM_ATTRIBUTE_F32
    BOOL = _native.SIDBEAM_ATTRIBUTE_BOOL
    STRING = _native.SIDBEAM_ATTRIBUTE_STRING
    STRING_LIST = _native.SIDBEAM_ATTRIBUTE_STRING_LIST


class Collisions(enum.IntEnum):
    """Items that share a SID: keep all, fail, or keep the first by priority falling, then id."""

    KEEP = _native.SIDBEAM_COLLISIONS_KEEP
    ERROR = _native.SIDBEAM_COLLISIONS_ERROR
    FIRST = _native.SIDBEAM_COLLISIONS_FIRST


class Phase(enum.IntEnum):
    """Phases of a build, of reading a catalogue file before it, and of a compaction, which begins with gathering pairs
    and ends with writing."""

    SORT = _native.SIDBEAM_PHASE_SORT
    SCAN = _native.SIDBEAM_PHASE_SCAN
    EMIT = _native.SIDBEAM_PHASE_EMIT
    CHECKSUM = _native.SIDBEAM_PHASE_CHECKSUM
    SYNC = _native.SIDBEAM_PHASE_SYNC
    SURVEY = _native.SIDBEAM_PHASE_SURVEY
    READ = _native.SIDBEAM_PHASE_READ
    GATHER = _native.SIDBEAM_PHASE_GATHER
    WRITE = _native.SIDBEAM_PHASE_WRITE


class Quotes(enum.IntEnum):
    """Quotes in CSV: told by the file, those of RFC 4180, or text like any other."""

    AUTO = _native.SIDBEAM_QUOTES_AUTO
    RFC4180 = _native.SIDBEAM_QUOTES_RFC4180
    TEXT = _native.SIDBEAM_QUOTES_TEXT


class Residency(enum.IntEnum):
    """How an index file comes into memory."""

    MAP = _native.SIDBEAM_RESIDENCY_MAP
    PREFAULT = _native.SIDBEAM_RESIDENCY_PREFAULT
    LOCK = _native.SIDBEAM_RESIDENCY_LOCK
    COPY = _native.SIDBEAM_RESIDENCY_COPY


class Verify(enum.IntEnum):
    """How much of an index is checked."""

    HEADER = _native.SIDBEAM_VERIFY_HEADER
    CHECKSUMS = _native.SIDBEAM_VERIFY_CHECKSUMS
    FULL = _native.SIDBEAM_VERIFY_FULL


class Sync(enum.IntEnum):
    """When a live catalogue forces to the disk what was published: before publish returns, by the first publish after
    an interval, or when the host says so."""

    PUBLISH = _native.SIDBEAM_SYNC_PUBLISH
    INTERVAL = _native.SIDBEAM_SYNC_INTERVAL
    HOST = _native.SIDBEAM_SYNC_HOST


class DType(enum.IntEnum):
    """Elements of logits."""

    F32 = _native.SIDBEAM_DTYPE_F32
    F16 = _native.SIDBEAM_DTYPE_F16
    BF16 = _native.SIDBEAM_DTYPE_BF16


class SlotError(enum.IntFlag):
    """What is wrong with a slot, or'ed in ``Beams.errors``; 0 is nothing."""

    BAD_ROW = _native.SIDBEAM_SLOT_BAD_ROW
    BAD_LSE = _native.SIDBEAM_SLOT_BAD_LSE
    BAD_MAP = _native.SIDBEAM_SLOT_BAD_MAP


class Weights(enum.IntEnum):
    """How a model's weights are held: as in the file, in one of three floats, or as 8-bit integers, approximately."""

    STORED = _native.SIDBEAM_WEIGHTS_STORED
    F32 = _native.SIDBEAM_WEIGHTS_F32
    F16 = _native.SIDBEAM_WEIGHTS_F16
    BF16 = _native.SIDBEAM_WEIGHTS_BF16
    INT8 = _native.SIDBEAM_WEIGHTS_INT8


class Speculate(enum.IntEnum):
    """How a runner's draft is verified: results stay the model's own, or are draws by its distribution."""

    STRICT = _native.SIDBEAM_SPECULATE_STRICT
    RELAXED = _native.SIDBEAM_SPECULATE_RELAXED


class LogLevel(enum.IntEnum):
    """Levels of the library's log."""

    ERROR = _native.SIDBEAM_LOG_ERROR
    WARNING = _native.SIDBEAM_LOG_WARNING
    INFO = _native.SIDBEAM_LOG_INFO


MAX_LEVELS: int = _native.SIDBEAM_MAX_LEVELS
MAX_CODES: int = _native.SIDBEAM_MAX_CODES
MAX_BEAMS: int = _native.SIDBEAM_MAX_BEAMS

KindLike = Union[Kind, int, str, Iterable[Union[Kind, int, str]]]


def member(cls: type[E], value: Any) -> E:
    """The member that a member, its number or its name means."""
    try:
        return cls[value.upper()] if isinstance(value, str) else cls(operator.index(value))
    except Exception:  # whatever its __index__ raises
        names = ", ".join(repr(m.name.lower()) for m in cls)
        raise InvalidArgument(f"{cls.__name__} is {shown(value)}, expected one of {names}") from None


def kinds_of(value: KindLike) -> Kind:
    """Kinds, from one or several: ``"trie"``, ``"trie|hash"``, ``Kind.TRIE | Kind.HASH``, ``["trie", "hash"]``."""
    if isinstance(value, int):
        return member(Kind, value)
    kinds = Kind(0)
    try:
        several = value.split("|") if isinstance(value, str) else iter(value)
    except TypeError:
        raise WrongType(f"kinds is {type(value).__name__}, expected names or members of sidbeam.Kind") from None
    for one in several:
        kinds |= member(Kind, one)
    return kinds
