"""What TVM 0.27 is known to get wrong, by primitive and pass (docs/tvm-findings.md): counted, and no news."""

from __future__ import annotations

from typing import Final

KNOWN: Final[dict[str, str]] = {
    "reading": "Floats",
    "machine code": "Floats",
    "printing": "Texts",
    "transform_layout": "Maps that are not injective; the inverse of a rotation; a floor division by a negative number",
    "transform_block_layout": "Maps that are not injective",
    "cache_read": "A copy of what is overwritten",
    "cache_write": "Blocks that update in place",
    "cache_inplace": "Blocks that update in place",
    "reindex": "Blocks that update in place; reads that a condition guards; blocks that run for a part of their domain",
    "reverse_compute_at": "Blocks that run for a part of their domain; a producer behind its consumer",
    "blockize": "Blocks that run for a part of their domain",
    "reorder": "A recurrence that is declared a reduction",
    "rfactor": "A recurrence that is declared a reduction",
    "compute_at": "A recurrence that is declared a reduction",
    "merge": "Loops that are merged",
    "loop_partition": "Reductions in two parts; parts that declare nothing",
    "fuse_reduction_epilogue": "Reductions with an epilogue",
    "pad_einsum": "Padded with zeros",
    "fuse": "Large extents",
    "tirx.VectorizeLoop": "An allocation inside a vectorized loop",
    "tirx.FlattenBuffer": "An index that runs backwards",
    "s_tir.StmtSimplify": "Floats",
    "tirx.StmtSimplify": "Floats",
    "tirx.RemoveStoreUndefInternal": "Padding with undef",
    "s_tir.RemoveStoreUndefInternal": "Padding with undef",
    "s_tir.UseAssumeToReduceBranches": "Floats",
    "s_tir.RewriteUnsafeSelect": "A choice that becomes a branch",
    "tirx.BF16ComputeLegalize": "Sums of products in bfloat16",
}
"""The primitive or pass, and the sections of the page."""
DIES: Final[dict[str, str]] = {"merge": "merge of a loop with itself ends the process with a segmentation fault"}
"""Primitives that end the process."""
