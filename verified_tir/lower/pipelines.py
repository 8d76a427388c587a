"""The passes by name, and pipelines by name.

``default`` is what ``vtir lower`` and ``vtir run`` do; ``full`` also shares memory and makes types explicit, for
targets that want it; ``layout`` stops where layouts are physical; ``none`` lowers nothing.
"""

from __future__ import annotations

from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms
from verified_tir.lower.bool_storage import BoolStorage
from verified_tir.lower.compact_buffer import CompactBuffer
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.hoist_expression import HoistExpression
from verified_tir.lower.inject_double_buffer import InjectDoubleBuffer
from verified_tir.lower.inject_virtual_thread import InjectVirtualThread
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.lower_init_block import LowerInitBlock
from verified_tir.lower.lower_thread_allreduce import LowerThreadAllreduce
from verified_tir.lower.make_packed_api import MakePackedAPI
from verified_tir.lower.merge_adjacent_loops import MergeAdjacentLoops
from verified_tir.lower.passes import Pass, Pipeline
from verified_tir.lower.reduce_loop_extents import ReduceLoopExtents
from verified_tir.lower.remove_assume import RemoveAssume
from verified_tir.lower.remove_branching_through_overcompute import RemoveBranchingThroughOvercompute
from verified_tir.lower.remove_no_op import RemoveNoOp
from verified_tir.lower.remove_overcompute_through_branching import RemoveOvercomputeThroughBranching
from verified_tir.lower.remove_store_undef import RemoveStoreUndef
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.storage_rewrite import StorageRewrite
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.lower.vector_type_rewriter import VectorTypeRewriter
from verified_tir.lower.vectorize_loop import VectorizeLoop

PASSES: dict[str, type[Pass]] = {
    p.__name__: p
    for p in (
        ApplyLayoutTransforms,
        BoolStorage,
        CompactBuffer,
        FlattenBuffer,
        HoistExpression,
        InjectDoubleBuffer,
        InjectVirtualThread,
        LoopPartition,
        LowerInitBlock,
        LowerThreadAllreduce,
        MakePackedAPI,
        MergeAdjacentLoops,
        ReduceLoopExtents,
        RemoveAssume,
        RemoveBranchingThroughOvercompute,
        RemoveNoOp,
        RemoveOvercomputeThroughBranching,
        RemoveStoreUndef,
        Simplify,
        StorageRewrite,
        UnrollLoop,
        VectorTypeRewriter,
        VectorizeLoop,
    )
}
"""Every pass by its name."""

_LAYOUT = ApplyLayoutTransforms() >> FlattenBuffer()

_MARKS = Pipeline(
    ApplyLayoutTransforms(),
    LowerInitBlock(),  # early: each step is proved again for the loops that are marked, and later there are more
    RemoveStoreUndef(),
    LowerThreadAllreduce(),
    InjectVirtualThread(),
    InjectDoubleBuffer(),
    Simplify(),
)
"""What marks ask for, while buffers have their logical dimensions."""

_VECTORS = Pipeline(
    FlattenBuffer(),
    VectorizeLoop(),
    FlattenBuffer(),  # local buffers that got an axis for the lanes
)

_END = Pipeline(
    UnrollLoop(),
    Simplify(),
    RemoveAssume(),  # late: what is assumed may be needed before
)

PIPELINES: dict[str, Pipeline] = {
    "none": Pipeline(),
    "layout": _LAYOUT,
    "default": _MARKS >> _VECTORS >> _END,
    "full": _MARKS >> _VECTORS >> BoolStorage() >> VectorTypeRewriter() >> StorageRewrite() >> _END >> MakePackedAPI(),
}
"""Pipelines by their names."""
