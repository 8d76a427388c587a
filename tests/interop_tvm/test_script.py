"""Our texts and TVM's: TVM 0.27 reads what we write, and we read what TVM writes."""

from __future__ import annotations

import pytest
import tvm.script
from hypothesis import assume, given, settings

from tests.ir.script.texts import PROGRAMS
from tests.nightly import few
from tests.parts.syntax import syntactic_functions
from verified_tir import Schedule
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse, script

BEYOND_TVM = {
    "views": "axis_separators",
    "types": "an uint64 above the range of int64",
}
"""Programs that TVM 0.27 cannot read, with what it lacks."""
CHANGED_BY_TVM = {
    "row_sum_padded": "T.undef() is an int32 there, converted",
    "matmul": "sorts attributes, claims regions that are not declared",
    "old_blocks": "claims regions that are not declared",
    "symbolic": "claims regions that are not declared",
    "calls": "writes strings with escapes as metadata",
    "threads": "sorts attributes",
    "control": "writes an empty branch as T.evaluate(0)",
}
"""Programs that come back from TVM in another form, and how they differ."""


def through_tvm(text: str) -> str:
    """The text as TVM reads and writes it."""
    written = tvm.script.from_source(text, check_well_formed=False).script()
    assert isinstance(written, str)
    return written


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in BEYOND_TVM])
def test_tvm_reads_what_we_write(name: str) -> None:
    through_tvm(script(parse(PROGRAMS[name])))


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in BEYOND_TVM and n not in CHANGED_BY_TVM])
def test_programs_come_back_from_tvm_unchanged(name: str) -> None:
    module = parse(PROGRAMS[name])
    assert structural_equal(parse(through_tvm(script(module))), module)


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n in CHANGED_BY_TVM if n != "calls"])
def test_what_tvm_writes_is_read_and_stays(name: str) -> None:
    once = parse(through_tvm(script(parse(PROGRAMS[name]))))
    twice = parse(through_tvm(script(once)))
    assert structural_equal(once, twice)


@pytest.mark.parametrize("name", ["row_sum_old", "matmul", "vectors", "symbolic"])
def test_tvm_reads_single_functions(name: str) -> None:
    for _, func in parse(PROGRAMS[name]).functions:
        through_tvm(script(func))


RELU = """
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def relu(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        for i, j in T.grid(8, 32):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0.0))
"""


def scheduled() -> dict[str, str]:
    """What TVM's own schedules and passes make of a small program."""
    import tvm.s_tir
    from tvm.s_tir import transform as st
    from tvm.tirx import transform as t

    module = tvm.script.from_source(RELU)
    found = {"source": module.script()}
    s = tvm.s_tir.Schedule(module)
    block = s.get_sblock("relu", func_name="relu")
    i, j = s.get_loops(block)
    j0, j1 = s.split(j, [None, 5])
    s.parallel(i)
    s.cache_read(block, 0, "shared")
    found["split, cached"] = s.mod.script()
    s = tvm.s_tir.Schedule(module)
    block = s.get_sblock("relu", func_name="relu")
    i, j = s.get_loops(block)
    j0, j1 = s.split(j, [8, 4])
    s.vectorize(j1)
    s.unroll(j0)
    lowered = st.ConvertBlocksToOpaque()(s.mod)
    found["opaque blocks"] = lowered.script()
    lowered = st.LowerOpaqueBlock()(st.CompactBufferAllocation()(lowered))
    found["lowered"] = lowered.script()
    lowered = t.FlattenBuffer()(lowered)
    found["flattened"] = lowered.script()
    lowered = t.VectorizeLoop()(lowered)
    found["vectorized"] = t.StmtSimplify()(lowered).script() if hasattr(t, "StmtSimplify") else lowered.script()
    return found


@pytest.mark.nightly
def test_what_tvm_makes_of_a_program_is_read() -> None:
    for stage, text in scheduled().items():
        module = parse(text, stage)
        written = script(module)
        assert structural_equal(parse(written), module), stage
        through_tvm(written)


FOLDED = (
    "Divide by zero", "Shift amount must be", "Cannot convert infinity", "Cannot convert NaN", "Minuend",
    "exceeds range of", "power only applies to float", "not supported for isnan op",
)  # fmt: skip
"""TVM evaluates constants while it reads, and ours may be such that it cannot; it has no power or isnan of bfloat16."""


@pytest.mark.nightly
@settings(deadline=None, max_examples=few(20, 60))
@given(syntactic_functions(for_tvm=True))
def test_tvm_reads_random_programs(func: PrimFunc) -> None:
    try:
        through_tvm(script(func, flat=True))
    except Exception as e:
        assume(not any(reason in str(e) for reason in FOLDED))
        raise


def test_a_schedule_takes_tvm_functions_and_modules() -> None:
    text = """# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + 1
"""
    func = tvm.script.from_source(text)
    wanted = Schedule(text).script()
    for program in (func, tvm.IRModule({"f": func})):
        s = Schedule(program)
        assert s.script().replace('    T.func_attr({"global_symbol": "f"})\n', "") == wanted
        s.split("i", [2, None])


@pytest.mark.parametrize("program", [None, 3, []])
def test_a_schedule_of_something_else(program: object) -> None:
    with pytest.raises(TypeError, match="a schedule takes a program"):
        Schedule(program)
