"""A running vLLM engine's model over a KV cache of our own, for :mod:`sidbeam.vllm`; within a worker, where nothing
else runs meanwhile. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import torch
from torch import Tensor

from vllm.forward_context import set_forward_context
from vllm.v1.attention.backend import CommonAttentionMetadata

from . import _vllm_check as check
from .errors import Unsupported

_CPU_BLOCK = 32  # tokens; what vLLM's CPU kernels read in one go. The engine's own blocks have 128 unless it is told


class Feed(NamedTuple):
    """What rows are fed: per row its blocks, the position of its first token, and its tokens, one row after another."""

    tables: np.ndarray  #: int32 [n, blocks]
    starts: np.ndarray  #: int64 [n]
    counts: np.ndarray  #: int64 [n], from 1 on
    tokens: np.ndarray  #: int32 [sum of counts]


class PagedModel:
    """The model of a worker's engine. ``block``: tokens per block of KV; ``block_bytes``: of all layers together."""

    def __init__(self, worker: Any) -> None:
        self._config, self._runner = worker.vllm_config, worker.model_runner
        groups = self._runner.attn_groups
        context = self._config.compilation_config.static_forward_context
        names = [name for several in groups for group in several for name in group.layer_names]
        self._attention = {name: context[name] for name in names}
        self.impossible = check.impossible_settings(self._config) + check.impossible_layers(self._attention, groups)
        self.untested = check.untested_version() + check.untested_backend(groups)
        if self.impossible:
            return
        self._group, self.layers = groups[0][0], len(names)
        on_cpu = self._group.backend.get_name() == "CPU_ATTN"
        self.block = _CPU_BLOCK if on_cpu else self._group.kernel_block_size or self._group.kv_cache_spec.block_size
        self.block_bytes = sum(self._zeros(layer.kv_cache, 1).nbytes for layer in self._attention.values())
        self.columns = self._config.model_config.get_vocab_size()
        self.longest = self._config.model_config.max_model_len
        self.most_tokens = self._config.scheduler_config.max_num_batched_tokens
        self.most_rows = self._config.scheduler_config.max_num_seqs

    def _zeros(self, like: Tensor, blocks: int) -> Tensor:
        """So many blocks of a layer, whose cache is [blocks, heads, tokens, channels] in some order of memory. Zeros:
        kernels multiply what lies behind a row's last token, too, and a NaN there would stay one."""
        _, heads, _, channels = like.shape
        if like.stride(1) < like.stride(2):
            shape = (blocks, self.block, heads, channels)
            return torch.zeros(shape, dtype=like.dtype, device=like.device).transpose(1, 2)
        return torch.zeros((blocks, heads, self.block, channels), dtype=like.dtype, device=like.device)

    @contextlib.contextmanager
    def own_blocks(self, count: int) -> Iterator[list[Tensor]]:
        """So many blocks in the place of the engine's, per layer, which are back afterwards, come what may."""
        theirs = {name: layer.kv_cache for name, layer in self._attention.items()}
        try:
            ours = [self._zeros(cache, count) for cache in theirs.values()]
            for layer, cache in zip(self._attention.values(), ours):
                layer.kv_cache = cache
            yield ours
        finally:
            for name, cache in theirs.items():
                self._attention[name].kv_cache = cache

    def logits(self, feed: Feed) -> Tensor:
        """[n, columns] after each row's last token, in passes of as many tokens as the engine's own have at most."""
        ends = np.cumsum(feed.counts)
        found, first = [], 0
        while first < len(feed.counts):
            before = int(ends[first] - feed.counts[first])
            last = max(int(np.searchsorted(ends, before + self.most_tokens, "right")), first + 1)
            last = min(last, first + self.most_rows)
            tokens = feed.tokens[before : int(ends[last - 1])]
            part = Feed(feed.tables[first:last], feed.starts[first:last], feed.counts[first:last], tokens)
            found.append(self._of_pass(part))
            first = last
        return found[0] if len(found) == 1 else torch.cat(found)

    def _of_pass(self, feed: Feed) -> Tensor:
        ends = np.cumsum(feed.counts)
        rows = np.repeat(np.arange(len(feed.counts)), feed.counts)
        positions = feed.starts[rows] + np.arange(len(rows)) - (ends - feed.counts)[rows]
        slots = feed.tables[rows, positions // self.block] * np.int64(self.block) + positions % self.block
        begins = torch.from_numpy(np.concatenate([[0], ends]).astype(np.int32))
        lengths = (feed.starts + feed.counts).astype(np.int32)
        at = {"positions": self._moved(positions), "slot_mapping": self._moved(slots)}
        common = CommonAttentionMetadata(
            query_start_loc=begins.to(self._device),
            query_start_loc_cpu=begins,
            seq_lens=self._moved(lengths),
            seq_lens_cpu_upper_bound=torch.from_numpy(lengths),
            num_reqs=len(lengths),
            num_actual_tokens=len(rows),
            max_query_len=int(feed.counts.max()),
            max_seq_len=int(lengths.max()),
            block_table_tensor=self._moved(feed.tables),
            **at,
        )
        metadata = self._group.get_metadata_builder().build(0, common)
        model, names = self._runner.get_model(), list(self._attention)
        with set_forward_context(
            dict.fromkeys(names, metadata),
            self._config,
            num_tokens=len(rows),
            slot_mapping=dict.fromkeys(names, at["slot_mapping"]),
            skip_compiled=True,  # which is compiled for the engine's own shapes
        ):
            hidden = model(input_ids=self._moved(feed.tokens), positions=at["positions"])
        logits = model.compute_logits(hidden[self._moved(ends - 1)])
        if logits is None:
            raise Unsupported("the engine gathers logits on one rank alone, expected all ranks of tensor parallelism")
        return logits

    @property
    def _device(self) -> torch.device:
        return self._runner.device  # type: ignore[no-any-return]

    def _moved(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def copy_blocks(caches: Sequence[Tensor], sources: np.ndarray, targets: np.ndarray) -> None:
    """Copies blocks of every layer; none is both."""
    if len(sources) > 0:
        device = caches[0].device
        read, written = (torch.from_numpy(blocks.astype(np.int64)).to(device) for blocks in (sources, targets))
        for cache in caches:
            cache.index_copy_(0, written, cache.index_select(0, read))
