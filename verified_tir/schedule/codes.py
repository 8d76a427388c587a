"""The codes of refusals: which kind of thing was in the way.

A code is for people and for tools that count.  No verdict depends on it, and the kernel knows none: what it refused is
classified by the name of the obligation, what a tactic refused by the code that the tactic gave, or else by the
primitive.  The pages that explain the codes are in :mod:`verified_tir.report.codes`.
"""

from __future__ import annotations

import re
from typing import Final

from verified_tir.kernel.obligation import NoMatch, Refusal
from verified_tir.logic.verdict import Obligation

OBLIGATIONS: Final = {
    "dependence": "VT0406",
    "bijection": "VT0407",
    "rounding": "VT0408",
    "race": "VT0409",
    "no-op": "VT0410",
    "padding": "VT0411",
    "layout": "VT0412",
    "recompute": "VT0413",
    "stage": "VT0414",
    "call": "VT0416",
    "equal": "VT0417",
    "view": "VT0418",
    "scope": "VT0419",
    "partial": "VT0420",
    "dead-store": "VT0421",
    "vectorize": "VT0420",
}
"""What a step owes, by the obligation's name; ``safety`` is told apart by what it protects."""

UNKNOWN: Final = "VT0099"
"""An obligation that has no code, which is a fault of this table."""

SAFETY: Final = {
    "in bounds": ("VT0201", "VT0401"),
    "no overflow": ("VT0202", "VT0402"),
    "undef": ("VT0203", "VT0403"),
    "is defined": ("VT0203", "VT0403"),
    "no division by zero": ("VT0204", "VT0404"),
    "a shift amount in range": ("VT0205", "VT0404"),
    "an extent that is not negative": ("VT0206", "VT0404"),
    "accessible": ("VT0405", "VT0405"),
    "the assumption holds": ("VT0404", "VT0404"),
}
"""How the claim of a ``safety`` obligation ends: the codes for a program as written, and for a step."""

OF_THE_PROGRAM: Final = {"race": "VT0208", "block": "VT0209"}
"""What a program as written owes beside safety, by the obligation's name."""

INEXPRESSIBLE: Final = "VT0212"
"""A program as written that the kernel cannot express, or that is malformed."""
CALL_DOES_NOT_FIT: Final = "VT0213"
CONTRADICTORY: Final = "VT0214"
TOO_DEEP: Final = "VT0215"

NO_LOOP: Final = "VT0301"
AMBIGUOUS_LOOP: Final = "VT0302"
LOOP_IS_GONE: Final = "VT0303"
NOT_A_LOOP: Final = "VT0304"
NO_BLOCK: Final = "VT0305"
AMBIGUOUS_BLOCK: Final = "VT0306"
NO_BUFFER: Final = "VT0307"
AMBIGUOUS_BUFFER: Final = "VT0308"
NOTHING_OF_THAT_NAME: Final = "VT0309"
WRONG_ARGUMENT: Final = "VT0310"
FACTORS_DO_NOT_FIT: Final = "VT0311"
NOT_PERFECTLY_NESTED: Final = "VT0312"
NOT_A_BOX: Final = "VT0313"
NOT_CONSTANT: Final = "VT0314"
MARKED_LOOP: Final = "VT0315"
NAME_IS_TAKEN: Final = "VT0316"
STANDS_ELSEWHERE: Final = "VT0317"
A_PARAMETER: Final = "VT0318"
NOT_OF_THIS_FORM: Final = "VT0319"
NOTHING_TO_CHANGE: Final = "VT0320"
OPAQUE_CALL: Final = "VT0321"
VECTORS: Final = "VT0322"
OTHER_VIEWS: Final = "VT0323"
INTRINSIC_DOES_NOT_FIT: Final = "VT0324"
NOT_REASSOCIABLE: Final = "VT0325"
NOT_INVERTIBLE: Final = "VT0326"
NOT_USED_THERE: Final = "VT0327"
TYPES_DIFFER: Final = "VT0328"
CONTRADICTION: Final = "VT0329"
INDEX_MAP: Final = "VT0330"
PAD_VALUE: Final = "VT0331"
CONDITION: Final = "VT0332"

NAMES_NOTHING: Final = frozenset(
    {NO_LOOP, AMBIGUOUS_LOOP, LOOP_IS_GONE, NOT_A_LOOP, NO_BLOCK, AMBIGUOUS_BLOCK, NO_BUFFER, AMBIGUOUS_BUFFER}
)
"""Where an argument stands for nothing in the program, so that no statement is to blame."""

_FAMILIES: Final = {
    "VT0380": (
        "split fuse reorder tile partition peel fission merge merge_loops merge_adjacent_loops loop_partition "
        "move_before move_after remove_loop add_unit_loop"
    ),
    "VT0381": "parallel vectorize unroll bind annotate unannotate storage_align",
    "VT0382": (
        "transform_layout sequential_buffer_access transform_block_layout reorder_block_iter_var set_axis_separator "
        "pad_einsum annotate_buffer_access"
    ),
    "VT0383": (
        "cache_read cache_write read_at write_at cache_index cache_inplace reindex reindex_cache_read "
        "reindex_cache_write set_scope sink_allocation unsafe_set_dtype rolling_buffer"
    ),
    "VT0384": "compute_at reverse_compute_at compute_inline reverse_compute_inline bind_expr inline_let",
    "VT0385": "decompose_reduction rfactor fuse_reduction_epilogue split_write merge_writes decompose_padding",
    "VT0386": (
        "remove_branching_through_overcompute remove_overcompute_through_branching hoist_expression "
        "reduce_loop_extents remove_no_op simplify"
    ),
    "VT0387": "blockize tensorize outline inline refine_call assume_precondition module",
}
FAMILY_OF: Final = {name: code for code, names in _FAMILIES.items() for name in names.split()}
"""For each primitive the code of a refusal that has none of its own."""

ANY_STEP: Final = "VT0390"
"""A refusal that has no code of its own, of a pass or another step."""


def code_of(refusal: Refusal, step: str, given: str = "", *, of_the_program: bool = False) -> str:
    """The code of a refusal.

    :param step: the step as it was called.
    :param given: the code that a tactic gave to its own refusal, if it gave one.
    :param of_the_program: whether the program as written was refused, and no step.
    """
    if isinstance(refusal, NoMatch):
        if "assumptions contradict each other" in refusal.reason:  # the kernel says it in words only
            return CONTRADICTORY if of_the_program else CONTRADICTION
        return given or (INEXPRESSIBLE if of_the_program else FAMILY_OF.get(step.partition("(")[0], ANY_STEP))
    return code_of_obligation(refusal.obligation, of_the_program=of_the_program)


def code_of_obligation(obligation: Obligation, *, of_the_program: bool = False) -> str:
    """The code of an obligation that was not proved."""
    if obligation.name == "safety":
        for ending, (of_program, of_step) in SAFETY.items():
            if re.search(rf"\b{ending}(?: \(.*)?$", obligation.claim):  # a tactic may have added a hint
                return of_program if of_the_program else of_step
    if of_the_program and obligation.name in OF_THE_PROGRAM:
        return OF_THE_PROGRAM[obligation.name]
    return OBLIGATIONS.get(obligation.name, UNKNOWN)
