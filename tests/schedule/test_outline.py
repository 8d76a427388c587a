"""outline, inline, modules: a program in two functions that know of each other what was proved (RFC 77, "Points of
communication")."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule.schedule_support import agree
from verified_tir import NotApplicable, Refuted, Schedule, parse, script
from verified_tir.certificate.replay import made_again
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.node import IRError
from verified_tir.kernel.rules.call import Refine
from verified_tir.logic.solver import Solver
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import run

TWO_STAGES = """
@T.prim_func
def main(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]
            else:
                B[io, ii] = {padding}
    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]
"""

MODULE = """# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
        B = T.alloc_buffer((4, 4), "int32")
        Module.transform_A(A.data, B.data)
        Module.compute_C(B.data, C.data)

    @T.prim_func(s_tir=True)
    def transform_A(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
        with T.sblock("transform"):
            for io, ii in T.grid(4, 4):
                if 4 * io + ii < 14:
                    B[io, ii] = A[4 * io + ii]
                else:
                    B[io, ii] = 0

    @T.prim_func(s_tir=True)
    def compute_C(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
        for io, ii in T.grid(4, 4):
            T.assume(4 * io + ii < 14 or B[io, ii] == 0)
        with T.sblock("compute"):
            C[0] = 0
            for io, ii in T.grid(4, 4):
                if 4 * io + ii < 14:
                    C[0] = C[0] + B[io, ii]
"""


def split_in_two(padding: object = 0, known: object = 0) -> Schedule:
    """The program with its stages as functions; the second is told what is in the padding."""
    s = Schedule(TWO_STAGES.format(padding=padding))
    s.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, known, before="compute")
    s.outline("transform", "transform_A")
    s.outline("compute", "compute_C")
    return s


def test_two_stages_as_a_module() -> None:
    s = split_in_two()
    agree(s)
    assert script(s.module) == MODULE.rstrip()
    with pytest.raises(Refuted) as refusal:
        split_in_two(padding=1)
    assert refusal.value.confirmed


def test_a_half_rewritten_alone_takes_its_place() -> None:
    s = split_in_two()
    half = Schedule(s.module["compute_C"])
    assert half.remove_branching_through_overcompute() == 1
    s.refine_call("compute_C", half)
    agree(s)
    compute = s.module["compute_C"]
    assert "if " not in script(compute) and structural_equal(compute, half.func)
    assert s.assumptions == ["A, C hold definite values, and what is written overlaps no other argument"]
    lemmas = [step.rule.lemma for step in s.theorem.derivation if isinstance(step.rule, Refine)]
    assert len(lemmas) == 1 and structural_equal(lemmas[0].after, half.func)


@pytest.mark.parametrize(("padding", "known"), [(1, None), (0, T.undef("int32"))])
def test_a_half_that_is_not_told_enough_stays(padding: int, known: object) -> None:
    """Without an assumption, and with one that only permits the access."""
    s = Schedule(TWO_STAGES.format(padding=padding))
    if known is not None:
        s.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, known, before="compute")
    s.outline("compute", "compute_C")
    half = Schedule(s.module["compute_C"])
    before = half.func
    try:
        assert half.remove_branching_through_overcompute() == 0
    except Refuted as refusal:
        assert refusal.confirmed
    assert half.func is before


def test_a_module_is_scheduled_with_its_calls_expanded() -> None:
    s = Schedule(MODULE)
    assert s.blocks == ["transform_A", "transform", "compute_C", "compute"]
    assert [r.name for r in s.steps] == ["program", "assume_precondition"]
    assert script(s.module) == MODULE.rstrip()
    agree(s)
    again = made_again(script(s.steps[0].before), [r.call for r in s.steps[1:] if r.call], Solver())
    assert again.script() == s.script()


def test_what_a_callee_assumes_is_proved_where_it_is_called() -> None:
    with pytest.raises(Refuted) as refusal:
        Schedule(MODULE.replace("B[io, ii] = 0", "B[io, ii] = 1"))
    assert refusal.value.step == "assume_precondition(compute_C, compute_C)"
    assert refusal.value.confirmed


def test_a_callee_with_blocks_of_its_own_called_twice() -> None:
    module = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        Module.halve(A.data, 1)
        for k in range(1, 3):
            Module.halve(B.data, k)

    @T.prim_func
    def halve(X: T.Buffer((4, 4), "float32"), k: T.int32):
        T.assume(k >= 1)
        T.assume(k < 4)
        for i, j in T.grid(4, 4):
            with T.block("halve"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(j < k)
                X[vi, vj] = X[vi, vj] * T.float32(0.5)
"""
    s = Schedule(module)
    assert [str(r) for r in s.steps[1:]] == [
        "assume_precondition(halve_1, halve)",
        "assume_precondition(halve_2, halve)",
    ]
    agree(s)
    with pytest.raises(Refuted) as refusal:
        Schedule(module.replace("range(1, 3)", "range(0, 3)"))
    assert refusal.value.confirmed


def test_functions_of_a_module_by_name() -> None:
    assert Schedule(MODULE, name="transform_A").func.name == "transform_A"
    with pytest.raises(IRError, match="pick one of the module's: other, transform_A, compute_C"):
        Schedule(MODULE.replace("def main", "def other"))


# -- what is passed --------------------------------------------------------------------------------------------------


CALLS = """
@T.prim_func
def main(A: T.Buffer((8, n), "float32"), B: T.Buffer((8, n), "float32"), n: T.int32):
    for i in range(8):
        scale: T.let[T.int32] = i * 2
        with T.block("row"):
            for j in range(n):
                B[i, j] = A[i, j] * T.Cast("float32", scale)
"""


def test_variables_from_around_become_parameters() -> None:
    s = Schedule(CALLS)
    s.outline("row", "row_of_B")
    agree(s)
    text = script(s.module)
    assert text.split("\n\n")[1:] == [
        "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n"
        '    def main(A: T.Buffer((8, "n"), "float32"), B: T.Buffer((8, n), "float32"), n: T.int32):\n'
        "        for i in range(8):\n"
        "            scale: T.let[T.int32] = i * 2\n"
        "            Module.row_of_B(A.data, B.data, i, scale)",
        "    @T.prim_func(s_tir=True)\n"
        '    def row_of_B(A: T.Buffer((8, "n"), "float32"), B: T.Buffer((8, n), "float32"), i: T.int32, '
        "scale: T.int32):\n"
        '        with T.sblock("row"):\n'
        "            for j in range(n):\n"
        '                B[i, j] = A[i, j] * T.Cast("float32", scale)',
    ]
    again = Schedule(s.module)
    assert again.func.name == "main"
    assert script(again.module) == text


def test_data_is_not_passed() -> None:
    text = (
        CALLS.replace("= i * 2", "= T.Cast('int32', A[i, 0])")
        .replace("(8, n)", "(8, 8)")
        .replace("range(n)", "range(8)")
    )
    s = Schedule(text)
    with pytest.raises(NotApplicable, match="scale is computed from memory and cannot be passed to row_of_B"):
        s.outline("row", "row_of_B")
    assert s.blocks == ["row"]


def test_local_buffers_and_views() -> None:
    s = Schedule("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    top = T.decl_buffer((4,), "float32", data=A.data, elem_offset=4)
    for i in range(4):
        with T.block("b"):
            t = T.alloc_buffer((1,), "float32")
            t[0] = A[i]
            top[i] = t[0]
""")
    s.outline("i", "copy")
    agree(s)
    assert 'top = T.decl_buffer((4,), "float32", data=A.data, elem_offset=4)' in script(s.module["copy"])


def test_equal_functions_are_one() -> None:
    body = "for i in range(4):\n        with T.block('{0}'):\n            {1}[i] = T.float32(0)\n    "
    params = ", ".join(f"{b}: T.Buffer(({k},), 'float32')" for b, k in (("A", 4), ("B", 4), ("C", 5)))
    text = "".join(body.format(b.lower(), b) for b in "ABC")
    s = Schedule(f"@T.prim_func\ndef main({params}):\n    {text}")
    for b in "abc":
        s.outline(b, f"clear_{b}")
    assert [name for name, _ in s.module.functions] == ["main", "clear_a", "clear_b", "clear_c"]
    with pytest.raises(NotApplicable, match="there is a block or function called 'clear_a' already"):
        s.outline("a", "clear_a")
    with pytest.raises(NotApplicable, match="not a name of a function"):
        s.outline("a", "clear a")


def test_inline_takes_the_function_back() -> None:
    s = split_in_two()
    s.inline("transform_A")
    assert [name for name, _ in s.module.functions] == ["main", "compute_C"]
    with pytest.raises(NotApplicable, match="block transform is not a function's body"):
        s.inline("transform")
    s.inline("compute_C")
    agree(s)
    assert [name for name, _ in s.module.functions] == ["main"]


def test_a_whole_program_with_what_it_assumes() -> None:
    s = Schedule(parse(MODULE)["compute_C"])
    s.outline("compute", "inner")
    agree(s)
    assert "Module.inner(B.data, C.data)" in script(s.module)
    assert "T.assume(" in script(s.module["inner"]) and "T.assume(" not in script(s.module["compute_C"])


# -- refine_call -----------------------------------------------------------------------------------------------------


def test_another_function_is_not_put_in_place() -> None:
    s = split_in_two()
    other = Schedule(s.module["transform_A"])
    with pytest.raises(NotApplicable, match="transform_A does not fit"):
        s.refine_call("compute_C", other)


def test_a_half_that_assumes_more_is_proved_where_it_is_called() -> None:
    for padding in (0, 1):
        s = Schedule(TWO_STAGES.format(padding=padding))
        s.outline("compute", "compute_C")
        half = Schedule(s.module["compute_C"])
        half.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, 0, axiom=True)
        assert half.remove_branching_through_overcompute() == 1
        if padding:
            with pytest.raises(Refuted) as refusal:
                s.refine_call("compute_C", half)
            assert "the assumption holds" in refusal.value.reason and refusal.value.confirmed
        else:
            s.refine_call("compute_C", half)
            agree(s)
            assert "asserted" not in " ".join(s.assumptions)


def test_a_half_that_changes_its_interface_is_refused() -> None:
    s = split_in_two()
    half = Schedule(s.module["transform_A"])
    half.transform_layout("A", lambda i: [i // 2, i % 2])
    with pytest.raises(NotApplicable, match="changes the layout of a parameter"):
        s.refine_call("transform_A", half)


def test_the_module_runs_as_the_program_does() -> None:
    s = split_in_two()
    a = np.arange(14, dtype=np.int32)
    module = parse(script(s.module))
    outcome = run(module["main"], {"A": a, "C": np.zeros(1, np.int32)}, module=module)
    assert outcome.arrays["C"][0] == a.sum()


def test_a_later_step_may_bring_in_what_cannot_be_passed() -> None:
    s = Schedule("""
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("b"):
            with T.block("c"):
                B[i] = A[i] * 2
""")
    s.outline("c", "part")
    assert [name for name, _ in s.module.functions] == ["main", "part"]
    s.bind_expr("b", "A[i] * 2", "x")
    with pytest.raises(NotApplicable, match="x is computed from memory and cannot be passed to part"):
        _ = s.module
