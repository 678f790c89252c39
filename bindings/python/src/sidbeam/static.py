"""The arrays of STATIC (Su et al. 2026, github.com/youtube/static-constraint-decoding), for engines that read those,
JAX on TPU for one. The same as ``sidbeam convert`` writes. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Callable

import numpy as np

from .enums import Verify
from .arrays import summary
from .checks import integer
from .errors import BadState, InvalidArgument, Unsupported
from .info import IndexInfo


@dataclasses.dataclass(frozen=True)
class StaticArrays:
    """With V the largest number of codes of a level, d the dense levels, S states and E edges.

    State 0 is the end, 1 + t the prefix (t) whether or not it exists, then prefixes of 2 .. L-1 codes in order, one
    length after the other. The state after the last code is 0.
    """

    __repr__ = summary

    start_mask: np.ndarray  #: bool [V] codes that a SID may begin with
    dense_mask: np.ndarray  #: bool [V] * d prefixes of d codes
    dense_states: np.ndarray  #: int32 [V] * d their states
    packed_csr: np.ndarray  #: int32 [E + V, 2] code and next state of every edge, by state; then V rows [V, 0]
    csr_indptr: np.ndarray  #: int32 [S + 2] first edge of each state; the last entry covers the V rows
    layer_max_branches: tuple[int, ...]  #: [L] most children of a prefix of l codes
    vocab_size: int  #: V
    dense_levels: int  #: d


def static_arrays(info: IndexInfo, read_sids: Callable[[], np.ndarray], dense_levels: int) -> StaticArrays:
    """STATIC's arrays of an index of fixed length; see :meth:`Index.static_arrays`."""
    if info.verified != Verify.FULL:
        has = str(info.verified.name).lower()
        raise BadState(f"static_arrays: the index is verified to depth {has}, expected full: call verify() first")
    levels, vocab = info.levels, max(info.codes)
    if info.variable_length:
        raise Unsupported("static_arrays: SIDs of different lengths, which STATIC has no form for")
    dense_levels = integer(dense_levels, "dense_levels")
    if dense_levels not in (1, 2) or dense_levels >= levels:
        raise InvalidArgument(f"dense_levels is {dense_levels}, expected 1 or 2, less than the {levels} levels")
    states = 1 + vocab + sum(info.nodes[1 : levels - 1])
    edges = sum(info.nodes[1:])
    if edges + vocab >= 2**31 or states >= 2**31:
        raise Unsupported(f"static_arrays: {edges} edges and {states} states, expected fewer than 2^31")
    sids = read_sids()
    nodes = _nodes(sids)
    state_of = _number(sids, nodes, vocab)
    start = np.zeros(vocab, bool)
    start[sids[nodes[0], 0]] = True
    cells = tuple(sids[nodes[dense_levels - 1], level] for level in range(dense_levels))
    mask, dense = np.zeros((vocab,) * dense_levels, bool), np.zeros((vocab,) * dense_levels, np.int32)
    mask[cells] = True
    dense[cells] = state_of[dense_levels - 1]
    csr, indptr = _csr(sids, nodes, state_of, vocab, states, edges)
    return StaticArrays(start, mask, dense, csr, indptr, info.max_children[:levels], vocab, dense_levels)


def _nodes(sids: np.ndarray) -> list[np.ndarray]:
    """For each l the rows at which a new prefix of l + 1 codes begins; SIDs are in order."""
    new = np.ones(sids.shape, bool)
    np.not_equal(sids[1:], sids[:-1], out=new[1:])
    np.logical_or.accumulate(new, axis=1, out=new)
    return [np.flatnonzero(new[:, level]) for level in range(sids.shape[1])]


def _number(sids: np.ndarray, nodes: list[np.ndarray], vocab: int) -> list[np.ndarray]:
    """For each l the states of the prefixes of l + 1 codes."""
    first = 1 + vocab
    states = [1 + sids[nodes[0], 0].astype(np.int32)]
    for rows in nodes[1:-1]:
        states.append(np.arange(first, first + len(rows), dtype=np.int32))
        first += len(rows)
    if len(nodes) > 1:
        states.append(np.zeros(len(nodes[-1]), np.int32))
    return states


def _csr(
    sids: np.ndarray, nodes: list[np.ndarray], state_of: list[np.ndarray], vocab: int, states: int, edges: int
) -> tuple[np.ndarray, np.ndarray]:
    csr = np.zeros((edges + vocab, 2), np.int32)
    csr[edges:, 0] = vocab
    children = np.zeros(states, np.int64)
    first = 0
    for level in range(1, len(nodes)):
        rows = nodes[level]
        last = first + len(rows)
        csr[first:last, 0] = sids[rows, level]
        csr[first:last, 1] = state_of[level]
        parents = state_of[level - 1][np.searchsorted(nodes[level - 1], rows, side="right") - 1]
        np.add.at(children, parents, 1)
        first = last
    indptr = np.zeros(states + 2, np.int32)
    np.cumsum(children, out=indptr[1 : states + 1])
    indptr[states + 1] = edges + vocab
    return csr, indptr
