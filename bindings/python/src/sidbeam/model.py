"""Models that the runner runs, from their own checkpoints. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Optional, Union

import numpy as np

from . import _native
from .arrays import device_of
from .checks import path_bytes
from .enums import LogLevel, Weights, member
from .handle import Handle
from .runtime import Logger, hand_over_log, logger_of


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """What a model is; see ``sidbeam_model_info``."""

    family: str  #: as the config's model_type: "t5", "qwen3"
    layers: int  #: of the decoder
    encoder_layers: int  #: 0: a decoder alone
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    weights: Weights  #: of the matrices, as held
    vocabulary: int  #: token ids are 0 .. vocabulary - 1
    max_positions: int  #: that the config names, or its attention's window if that is less; 0: none
    parameters: int  #: elements of all weights
    memory_bytes: int


class Model(Handle):
    """A model's weights. Immutable: any number of runners and threads may share it. Runners hold what they need of it,
    so it may be closed before them."""

    __slots__ = ("_info",)
    _info: Optional[ModelInfo]

    def __init__(self) -> None:
        raise TypeError("use Model.open")

    @classmethod
    def open(
        cls,
        folder: Union[str, os.PathLike[str]],
        *,
        weights: Union[Weights, str] = Weights.STORED,
        device: Any = None,
        base: Union[str, os.PathLike[str], None] = None,
        log: Logger = None,
    ) -> Model:
        """Opens the folder of a checkpoint: config.json, and model.safetensors or its shards.

        T5, mT5, umT5, Llama, Mistral, Qwen2, Qwen3 and Phi-3, or a LoRA adapter of one, which is merged. Nothing of the
        folder is needed afterwards.

        - ``weights``: how they are held: "stored" (as in the file), "f32", "f16", "bf16", or "int8" (approximate).
        - ``device``: "cpu", "cuda", "cuda:1".
        - ``base``: the folder of the model that an adapter changes; None: found beside it.
        - ``log``: as in :class:`Runtime`; a warning names tensors that the file has and the config does not ask for.

        Raises :class:`IOFailure`, :class:`Corrupt` (the message names the tensor that is missing, has another shape or
        is not finite), :class:`InvalidArgument` (16-bit weights do not hold a number), :class:`Unsupported` (another
        family, a setting that is not implemented, or no ``libsidbeam_runner.so.1``), :class:`NoDevice`,
        :class:`OutOfMemory`.
        """
        model = cls.__new__(cls)
        model._info = None
        logger = logger_of(log)
        model._handle = _native.flat_model_open(
            path_bytes(folder, "folder"),
            member(Weights, weights),
            *device_of(device),
            b"" if base is None else path_bytes(base, "base"),
            -1 if logger is None else int(LogLevel.WARNING),
        )
        hand_over_log(logger)
        return model

    @property
    def info(self) -> ModelInfo:
        if self._info is None or self.closed:
            numbers, family = np.zeros(_native.FLAT_MODEL_COUNT, np.int64), bytearray(_native.FLAT_MODEL_FAMILY_BYTES)
            _native.flat_model_get_info(self._handle, numbers, family)
            values = {
                field.name: int(numbers[getattr(_native, f"FLAT_MODEL_{field.name.upper()}")])
                for field in dataclasses.fields(ModelInfo)
                if field.name not in ("family", "weights")
            }
            held = Weights(int(numbers[_native.FLAT_MODEL_WEIGHTS]))
            self._info = ModelInfo(family.split(b"\0", 1)[0].decode(), weights=held, **values)  # type: ignore[misc]
        return self._info

    def _describe(self) -> str:
        info = self.info
        return f"{info.family}, {info.layers} layers, {info.parameters} parameters"
