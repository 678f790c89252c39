"""sidbeam: beam search over Semantic IDs that returns only items that exist.

    index = sidbeam.Index.build(sids, ids)             # or Index.open(path)
    session = sidbeam.Session(index, beams=50)
    session.start()
    beams = session.beams()
    while beams.active[0] > 0:                         # per level
        session.step(model(beams.codes, beams.parents))
    items = session.items()

Arrays go in and out without a copy: NumPy, the buffer protocol, DLPack. The GIL is released in every native call.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from . import _native, errors  # errors first: the imports below need what it sets up

_native.flat_check_abi()

from .arrays import DeviceArray
from .beams import Beams, Items, Stats
from .builder import Builder
from .constraint_set import ConstraintSet, TopK
from .enums import (
    MAX_BEAMS,
    MAX_CODES,
    MAX_LEVELS,
    Collisions,
    DType,
    IdType,
    Kind,
    LogLevel,
    Normalization,
    Phase,
    Residency,
    SlotError,
    Strategy,
    Verify,
)
from .errors import (
    BadState,
    Cancelled,
    Collision,
    Corrupt,
    DeviceError,
    InternalError,
    InvalidArgument,
    IOFailure,
    MissingSection,
    NoDevice,
    OutOfMemory,
    SidbeamError,
    Unsupported,
)
from .index import Constraint, Index
from .info import ConstraintInfo, IndexInfo, Plan, Section, Upload, plan_estimate
from .runtime import Runtime
from .session import Session
from .static import StaticArrays
from .vocabulary import Vocabulary

__version__: str = _native.sidbeam_version()


def cpu_target() -> str:
    """The instruction set that kernels use by default on this machine: "baseline", "avx2", "avx512" or "neon"."""
    return str(_native.sidbeam_cpu_target())


# Spelled out for type checkers, which read it and treat a name that is missing as private.
__all__ = [
    "BadState",
    "Beams",
    "Builder",
    "Cancelled",
    "Collision",
    "Collisions",
    "Constraint",
    "ConstraintInfo",
    "ConstraintSet",
    "Corrupt",
    "DType",
    "DeviceArray",
    "DeviceError",
    "IOFailure",
    "IdType",
    "Index",
    "IndexInfo",
    "InternalError",
    "InvalidArgument",
    "Items",
    "Kind",
    "LogLevel",
    "MAX_BEAMS",
    "MAX_CODES",
    "MAX_LEVELS",
    "MissingSection",
    "NoDevice",
    "Normalization",
    "OutOfMemory",
    "Phase",
    "Plan",
    "Residency",
    "Runtime",
    "Section",
    "Session",
    "SidbeamError",
    "SlotError",
    "StaticArrays",
    "Stats",
    "Strategy",
    "TopK",
    "Unsupported",
    "Upload",
    "Verify",
    "Vocabulary",
    "cpu_target",
    "plan_estimate",
]
