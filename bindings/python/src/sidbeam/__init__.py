"""sidbeam: beam search over Semantic IDs that returns only items that exist.

    index = sidbeam.Index.build(sids, ids)             # or Index.open(path)
    session = sidbeam.Session(index, beams=50)
    session.start()
    beams = session.beams()
    while beams.active[0] > 0:                         # per level
        session.step(model(beams.codes, beams.parents))
    items = session.items()

Where items come and go while it serves, the index is that of a live catalogue:

    catalog = sidbeam.Catalog.create(index, "catalogue/")
    catalog.add(sids, ids), catalog.remove(sold), catalog.publish()
    session = sidbeam.Session(catalog.snapshot(), beams=50)

Where the library runs the model too, history tokens go in and items come out:

    runner = sidbeam.Runner(sidbeam.Model.open("model"), index, beams=50, vocabulary=sidbeam.Vocabulary([0, 256, 512]))
    print(runner.run(history).items)

Arrays go in and out without a copy: NumPy, the buffer protocol, DLPack. The GIL is released in every native call.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from . import _native, errors  # errors first: the imports below need what it sets up

_native.flat_check_abi()

from .aio import to_thread
from .arrays import DeviceArray
from .arrow import ArrowInfo, inspect_arrow
from .attributes import Attribute
from .beams import Beams, Items, Samples, Stats
from .builder import Builder
from .constraint import Constraint
from .constraint_set import ConstraintSet, Sampled, TopK
from .draft import DraftHead, DraftInfo
from .draft_decoder import DraftDecoder, Drafts
from .enums import (
    MAX_BEAMS,
    MAX_CODES,
    MAX_LEVELS,
    AttributeType,
    Collisions,
    DType,
    IdType,
    Kind,
    LogLevel,
    Mode,
    Normalization,
    Phase,
    Quotes,
    Residency,
    SlotError,
    Speculate,
    Strategy,
    Sync,
    Verify,
    Weights,
)
from .errors import (
    BadState,
    Cancelled,
    Collision,
    Corrupt,
    DeadlineExceeded,
    DeviceError,
    InternalError,
    InvalidArgument,
    IOFailure,
    MissingSection,
    NoDevice,
    OutOfMemory,
    QueueFull,
    SidbeamError,
    Unsupported,
    WrongType,
)
from .filters import Filter, FilterInfo
from .hidden import HiddenPath, HiddenStats, HiddenStep, OutputLayer
from .importing import ImportInfo, ImportOptions
from .index import Index
from .info import ConstraintInfo, IndexInfo, Plan, Section, Upload, plan_estimate
from .item_lists import ItemRows
from .live import Catalog, CatalogInfo, VersionInfo
from .lookups import ItemLists
from .model import Model, ModelInfo
from .recommendations import Recommendation
from .runner import Runner
from .runner_events import Level
from .runner_results import Result, RunnerStats
from .runtime import Runtime
from .sampling import Disc, DiscResults, disc
from .session import Session
from .speculation import (
    RelaxedBeams,
    Speculation,
    SpeculationStats,
    SpeculationTree,
    relaxed_draw,
    relaxed_verify,
)
from .static import StaticArrays
from .vocabulary import Vocabulary

__version__: str = _native.sidbeam_version()


def cpu_target() -> str:
    """The instruction set that kernels use by default on this machine: "baseline", "avx2", "avx512" or "neon"."""
    return str(_native.sidbeam_cpu_target())


# Spelled out for type checkers, which read it and treat a name that is missing as private.
__all__ = [
    "ArrowInfo",
    "Attribute",
    "AttributeType",
    "BadState",
    "Beams",
    "Builder",
    "Cancelled",
    "Catalog",
    "CatalogInfo",
    "Collision",
    "Collisions",
    "Constraint",
    "ConstraintInfo",
    "ConstraintSet",
    "Corrupt",
    "DType",
    "DeadlineExceeded",
    "DeviceArray",
    "DeviceError",
    "Disc",
    "DiscResults",
    "DraftDecoder",
    "DraftHead",
    "DraftInfo",
    "Drafts",
    "Filter",
    "FilterInfo",
    "HiddenPath",
    "HiddenStats",
    "HiddenStep",
    "IOFailure",
    "IdType",
    "ImportInfo",
    "ImportOptions",
    "Index",
    "IndexInfo",
    "InternalError",
    "InvalidArgument",
    "ItemLists",
    "ItemRows",
    "Items",
    "Kind",
    "Level",
    "LogLevel",
    "MAX_BEAMS",
    "MAX_CODES",
    "MAX_LEVELS",
    "MissingSection",
    "Mode",
    "Model",
    "ModelInfo",
    "NoDevice",
    "Normalization",
    "OutOfMemory",
    "OutputLayer",
    "Phase",
    "Plan",
    "QueueFull",
    "Quotes",
    "Recommendation",
    "RelaxedBeams",
    "Residency",
    "Result",
    "Runner",
    "RunnerStats",
    "Runtime",
    "Sampled",
    "Samples",
    "Section",
    "Session",
    "SidbeamError",
    "SlotError",
    "Speculate",
    "Speculation",
    "SpeculationStats",
    "SpeculationTree",
    "StaticArrays",
    "Stats",
    "Strategy",
    "Sync",
    "TopK",
    "Unsupported",
    "Upload",
    "Verify",
    "VersionInfo",
    "Vocabulary",
    "Weights",
    "WrongType",
    "cpu_target",
    "disc",
    "inspect_arrow",
    "plan_estimate",
    "relaxed_draw",
    "relaxed_verify",
    "to_thread",
]
