"""Lowering: passes from a scheduled program to one that the code generator takes.

passes                    what a pass and a pipeline are
expression                pipelines as text
pipelines                 the passes and pipelines by name
batch, tidy, …            what passes share
one file for each pass    the pass's name in small letters
"""

from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms
from verified_tir.lower.bool_storage import BoolStorage
from verified_tir.lower.compact_buffer import CompactBuffer
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.hoist_expression import HoistExpression
from verified_tir.lower.inject_double_buffer import InjectDoubleBuffer
from verified_tir.lower.inject_virtual_thread import InjectVirtualThread
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.lower_init_block import LowerInitBlock
from verified_tir.lower.lower_thread_allreduce import LowerThreadAllreduce
from verified_tir.lower.make_packed_api import MakePackedAPI
from verified_tir.lower.merge_adjacent_loops import MergeAdjacentLoops
from verified_tir.lower.passes import Pass, PassRecord, Pipeline
from verified_tir.lower.pipelines import PASSES, PIPELINES
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

__all__ = [
    "PASSES", "PIPELINES", "ApplyLayoutTransforms", "BoolStorage", "CompactBuffer", "FlattenBuffer", "HoistExpression",
    "InjectDoubleBuffer", "InjectVirtualThread", "LoopPartition", "LowerInitBlock", "LowerThreadAllreduce",
    "MakePackedAPI", "MergeAdjacentLoops", "Pass", "PassRecord", "Pipeline", "PipelineError", "ReduceLoopExtents",
    "RemoveAssume", "RemoveBranchingThroughOvercompute", "RemoveNoOp", "RemoveOvercomputeThroughBranching",
    "RemoveStoreUndef", "Simplify", "StorageRewrite", "UnrollLoop", "VectorTypeRewriter", "VectorizeLoop",
    "parse_pipeline",
]  # fmt: skip
