"""What generate()'s own beam search adds to the dict that it returns, of :class:`sidbeam.transformers.SidBeamSearch`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from transformers.generation import GenerateBeamDecoderOnlyOutput, GenerateBeamEncoderDecoderOutput

Levels = Optional[tuple[Any, ...]]  #: per level, a row per beam; None where GenerationConfig does not ask


class Outputs:
    """Collects, level by level, what GenerationConfig asks for, in generate()'s own shapes and content."""

    def __init__(self, config: Any, model: Any, model_kwargs: dict[str, Any], width: int) -> None:
        self.wanted = bool(config.return_dict_in_generate)
        self.width, self.encoded = width, model.config.is_encoder_decoder
        states, attentions = (self.wanted and flag for flag in (config.output_hidden_states, config.output_attentions))
        self.scores: Levels = () if self.wanted and config.output_scores else None
        self.logits: Levels = () if self.wanted and config.output_logits else None
        self.hidden_states: Levels = () if states else None
        self.attentions: Levels = () if attentions else None
        self.cross_attentions: Levels = () if attentions and self.encoded else None
        encoder = model_kwargs.get("encoder_outputs") or {}
        self.encoder_hidden_states = encoder.get("hidden_states") if states else None
        self.encoder_attentions = encoder.get("attentions") if attentions else None
        self.past_key_values: Any = None

    def add(self, level: int, outputs: Any) -> None:
        """What a model gave: rows of the prompts at level 0, of the beams after it."""
        decoder = "decoder_" if self.encoded else ""
        self.hidden_states = self._more(self.hidden_states, level, outputs.get(f"{decoder}hidden_states"))
        self.attentions = self._more(self.attentions, level, outputs.get(f"{decoder}attentions"))
        self.cross_attentions = self._more(self.cross_attentions, level, outputs.get("cross_attentions"))
        if self.logits is not None:  # a copy: a view would hold the logits of the whole prompt
            self.logits = self._more(self.logits, level, outputs.logits[:, -1, :].to(torch.float32, copy=True))

    def _more(self, so_far: Levels, level: int, value: Any) -> Levels:
        return None if so_far is None else (*so_far, self._per_beam(level, value))

    def _per_beam(self, level: int, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._per_beam(level, layer) for layer in value)
        return value.repeat_interleave(self.width, 0) if level == 0 and isinstance(value, Tensor) else value

    def add_scores(self, rows: Tensor) -> None:
        """Log-probabilities behind processors and mask, a row per beam."""
        self.scores = (*(self.scores or ()), rows)

    def dict_of(self, sequences: Tensor, sequences_scores: Tensor, beam_indices: Tensor) -> Any:
        given = {
            "sequences": sequences,
            "sequences_scores": sequences_scores,
            "beam_indices": beam_indices,
            "scores": self.scores,
            "logits": self.logits,
            "past_key_values": self.past_key_values,
        }
        if not self.encoded:
            return GenerateBeamDecoderOnlyOutput(**given, hidden_states=self.hidden_states, attentions=self.attentions)
        return GenerateBeamEncoderDecoderOutput(
            **given,
            encoder_hidden_states=self.encoder_hidden_states,
            encoder_attentions=self.encoder_attentions,
            decoder_hidden_states=self.hidden_states,
            decoder_attentions=self.attentions,
            cross_attentions=self.cross_attentions,
        )
