"""The passes by name, and pipelines by name.

``default`` is what ``vtir lower`` and ``vtir run`` do; ``layout`` stops where layouts are physical; ``none`` lowers
nothing.
"""

from __future__ import annotations

from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.lower_init_block import LowerInitBlock
from verified_tir.lower.passes import Pass, Pipeline
from verified_tir.lower.remove_assume import RemoveAssume
from verified_tir.lower.remove_store_undef import RemoveStoreUndef
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.lower.vectorize_loop import VectorizeLoop

PASSES: dict[str, type[Pass]] = {
    p.__name__: p
    for p in (
        ApplyLayoutTransforms,
        FlattenBuffer,
        LoopPartition,
        LowerInitBlock,
        RemoveAssume,
        RemoveStoreUndef,
        Simplify,
        UnrollLoop,
        VectorizeLoop,
    )
}
"""Every pass by its name."""

PIPELINES: dict[str, Pipeline] = {
    "none": Pipeline(),
    "layout": ApplyLayoutTransforms() >> FlattenBuffer(),
    "default": Pipeline(
        ApplyLayoutTransforms(),
        RemoveStoreUndef(),
        Simplify(),
        FlattenBuffer(),
        VectorizeLoop(),
        FlattenBuffer(),  # local buffers that got an axis for the lanes
        UnrollLoop(),
        Simplify(),
        LowerInitBlock(),
        RemoveAssume(),  # last: what is assumed may be needed before
    ),
}
"""Pipelines by their names."""
