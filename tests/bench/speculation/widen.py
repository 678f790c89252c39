"""A target that costs more and says the same: its matrices padded with zeros. So a larger model's times can be measured
with levels that a draft's training earned.

A norm's mean square is over more elements, hence its weights and epsilon are scaled; heads and inner units that were
added write nothing. SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import math

import torch

import model


def padded(weight: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    out = torch.zeros(shape)
    out[tuple(slice(size) for size in weight.shape)] = weight
    return out


@torch.no_grad()
def widened(decoder: model.Decoder, factor: int) -> model.Decoder:
    """The same logits, up to rounding. `factor`: a square, so that f16 holds the scaled norms as well."""
    small = decoder.shape
    shape = dataclasses.replace(small, hidden=small.hidden * factor, heads=small.heads * factor,
                                ffn=small.ffn * factor, epsilon=small.epsilon / factor)
    wide = model.Decoder(shape, decoder.dropout)
    weights = decoder.state_dict()
    for name, weight in wide.named_parameters():
        own = weights[name]
        weight.copy_(padded(own / math.sqrt(factor) if own.dim() == 1 else own, weight.shape))
    return wide.eval()
