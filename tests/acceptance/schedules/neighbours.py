"""The legal neighbours of the schedules that released systems accept though they change the result.

Programs come from ``tests/must_reject``, where each stands beside the schedule that must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.acceptance.textbook import textbook
from tests.must_reject import test_calls as calls
from tests.must_reject import test_copies as copies
from tests.must_reject import test_exo_cases as exo
from tests.must_reject import test_loop_variables as loop_variables
from tests.must_reject import test_parallel_loops as parallel_loops
from tests.must_reject import test_rfc77_cases as rfc77
from tests.must_reject import test_tvm_cases as tvm_cases
from tests.must_reject import test_undef as undef
from tests.must_reject import test_writes as writes
from verified_tir import Schedule

F32 = np.float32


def neighbour(
    name: str,
    program: str,
    steps: Callable[[Schedule], object],
    reference: Callable[..., dict[str, Any]],
    **options: Any,
) -> None:
    """An entry of the book: the number of the case in tests/must_reject first in its name."""

    def scheduled(s: Schedule) -> None:
        steps(s)

    scheduled.__name__ = name
    textbook(program, reference=reference, **options)(scheduled)


def tail(B: np.ndarray, values: np.ndarray, start: int = 0) -> np.ndarray:
    """B with some of its elements replaced."""
    B = B.copy()
    B[start : start + len(values)] = values
    return B


neighbour("case_1_equal_lower_bounds", exo.LOWER_BOUNDS.format(low=0), lambda s: s.merge_loops("i", "j"),
          lambda A: {"A": A + F32(1), "B": A + F32(1)})  # fmt: skip

neighbour("case_2_at_least_one_iteration",
          exo.IDEMPOTENT.format(assume="T.assume(0 <= lo and lo < hi and hi < 1000)"), lambda s: s.remove_loop("i"),
          lambda B: {"B": tail(B, np.array([7]))}, sizes={"lo": 3, "hi": 9})  # fmt: skip


def _case_3(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    for i in range(3):
        x = A[i]
        A[7 - i] = 0
        B[i] = x
    return {"A": A, "B": B}


neighbour("case_3_another_element_is_written",
          writes.program(writes.ASSIGNMENT.format(write="A[7 - i + i // 7] = 0.0").replace("range(8)", "range(3)")),
          lambda s: s.compute_inline("t"), _case_3)  # fmt: skip

neighbour("case_3_a_let_put_back", writes.program(writes.LET.format(far="+ 1")), lambda s: s.inline_let("x"),
          lambda A, B: {"A": tail(A, np.zeros(7), 1), "B": tail(B, np.array([A[0], *[0] * 6]))})  # fmt: skip

neighbour("case_4_the_old_value_is_the_left_operand",
          writes.program('for i in range(8):\n    with T.block("w"):\n        B[i] = B[i] + A[i]'),
          lambda s: s.split_write("w"), lambda A, B: {"B": B + A})  # fmt: skip

neighbour("case_4_the_old_value_is_not_there",
          writes.program('for i in range(8):\n    with T.block("w"):\n        B[i] = A[i] + C[i]'),
          lambda s: s.split_write("w"), lambda A, C: {"B": A + C[:8]})  # fmt: skip

neighbour("case_5_fission_without_a_dependence", exo.DEPENDENT.format(ahead=0), lambda s: s.fission("i"),
          lambda A, B: {"A": tail(A, B[:8] * 2), "B": tail(B, B[:8] * 2)})  # fmt: skip


def _case_6(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    for i in range(7):
        B[i] = A[i] * 2
        x = C[i]
        C[i] = A[i] * 2
        A[i + 1] = x
    return {"A": A, "B": B, "C": C}


for _scope in (None, "local"):
    neighbour(f"case_6_bound_across_a_store_elsewhere_{_scope}",
              writes.program(writes.ACROSS.format(between="A[i + 1] = C[i]")),
              lambda s, scope=_scope: s.bind_expr("w", "A[i] * 2.0", "x", scope), _case_6)  # fmt: skip


def _window(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    return {"A": tail(A, B[:4]), "B": tail(B, A[4:8], 4)}


neighbour("case_7_a_window_elsewhere", copies.window(4, "A[i] = B[i]\n                B[i + 4] = window[i]"),
          lambda s: s.cache_write("A", "A"), _window)  # fmt: skip

neighbour("case_7_a_window_that_only_reads", copies.window(0, "B[i] = A[i] + window[3 - i]"),
          lambda s: s.cache_read("A", "A"), lambda A, B: {"B": tail(B, A[:4] + A[3::-1])})  # fmt: skip


def _case_8(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": C[1:9].copy(), "C": tail(C, A + F32(1))}


neighbour("case_8_the_alias_reads_another_element", writes.program(writes.MERGED.format(far=1)),
          lambda s: s.merge_writes("first", "second"), _case_8)  # fmt: skip

neighbour("case_9_tiles_that_overlap", copies.SHIFTED, lambda s: s.compute_at("t", s.split("j", [None, 4])[0]),
          lambda A: {"B": A[:8] * 2 + A[2:] * 2})  # fmt: skip


def _prefix(A: np.ndarray) -> dict[str, np.ndarray]:
    return {"A": np.cumsum(A, axis=1, dtype=np.int32)}


neighbour("case_10_the_outer_loop", parallel_loops.PREFIX.format(row="t"), lambda s: s.parallel("t"), _prefix)

neighbour("case_10_the_inner_loop", parallel_loops.ROW_ABOVE.format(column="i"), lambda s: s.parallel("i"),
          lambda A: {"A": np.cumsum(A, axis=0, dtype=np.int32)})  # fmt: skip

neighbour("case_10_an_accumulator_each", parallel_loops.ACCUMULATED.format(element="i"), lambda s: s.parallel("i"),
          lambda A, B: {"B": B + 3 * A})  # fmt: skip

neighbour("case_11_zero_times_an_integer", exo.TIMES_ZERO.format(dtype="int32", zero="0"), lambda s: s.simplify(),
          lambda A: {"B": A * 0})  # fmt: skip

neighbour("case_12_no_more_lanes_than_there_are", calls.TAIL.format(blocks=5, width=4),
          lambda s: s.tensorize("i", calls.MASKED), lambda A: {"B": A * 2})  # fmt: skip

neighbour("case_12_a_row_where_a_row_is_wanted", calls.COLUMN.format(target="c, i", source="c, i"),
          lambda s: s.tensorize("i", calls.MASKED), lambda A: {"B": A * 2})  # fmt: skip

neighbour("case_13_an_integer_sum", exo.SUM.format(dtype="int32"), lambda s: s.reorder("j", "i"),
          lambda A, B: {"B": B + A.sum(dtype=np.int32)})  # fmt: skip

neighbour("case_14_written_in_every_iteration", exo.CARRIED.format(first="t[0] = A[i]"),
          lambda s: s.sink_allocation("t"), lambda A: {"B": A})  # fmt: skip


def _case_15(B: np.ndarray) -> dict[str, np.ndarray]:
    B[2:] = 1
    return {"B": B}


neighbour("case_15_a_conjunction", rfc77.CONDITION.format(condition="(not ii < 2) and (not ii + fi < 2)"),
          lambda s: s.simplify(), _case_15)  # fmt: skip

neighbour("case_16_padding_that_holds_a_value", undef.WEIGHTED.format(dtype="float32", factor="T.float32(3)"),
          undef.overcompute(0), lambda A: {"B": sum(3 * A[:, j] for j in range(14))})  # fmt: skip

neighbour("case_17_a_sum_that_began_at_zero", rfc77.ROW_SUM.format(init="B[i] = T.float32(0)"),
          rfc77.pad_and_overcompute, lambda A: {"B": A.sum(1)})  # fmt: skip


def _case_18(s: Schedule) -> None:
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    s.sequential_buffer_access("A")


neighbour("case_18_the_value_follows_the_loop", loop_variables.PRODUCER, _case_18,
          lambda: {"A": 1000 + np.arange(14, dtype=np.int32)})  # fmt: skip

neighbour("case_19_an_injective_map", tvm_cases.TWO_STAGES.format(n=16),
          lambda s: s.transform_layout("B", lambda i: [i // 4, i % 4]), lambda A: {"C": A * 2 + 1})  # fmt: skip

neighbour("case_20_a_rotation", tvm_cases.TWO_STAGES.format(n=8),
          lambda s: s.transform_layout("C", lambda i: [(i + 1) % 8], pad_value=0.0),
          lambda A: {"C": A * 2 + 1})  # fmt: skip


def _case_21(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    return {"A": tail(A, np.ones(4, F32), 4), "B": tail(B, A[:4] * 2)}


neighbour("case_21_others_are_overwritten", copies.OVERWRITTEN.format(written="i + 4"),
          lambda s: s.cache_read("B", "A", loop="i"), _case_21)  # fmt: skip

neighbour("case_22_a_reduction_in_two_parts", tvm_cases.REDUCTION, lambda s: s.partition("k", 2),
          lambda A: {"C": A.sum(1, dtype=np.int32)})  # fmt: skip

neighbour("case_23_a_product_that_fits", tvm_cases.CORNER.format(n=16, m=15), lambda s: s.fuse("i", "j"),
          lambda: {"A": np.ones(1, F32)})  # fmt: skip


def _case_26(A: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    for k in range(8):
        C = C * 2 + A[:, k]
    return {"C": C}


neighbour("case_26_rows_of_a_recurrence", tvm_cases.RECURRENCE.format(factor=2), lambda s: s.reorder("k", "i"),
          _case_26)  # fmt: skip

neighbour("case_27_both_factors_zero", tvm_cases.DOT, lambda s: tvm_cases.overcompute(s, 0.0),
          lambda A, W: {"B": np.array([A @ W])})  # fmt: skip
