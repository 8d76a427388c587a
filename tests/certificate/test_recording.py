"""Calls of primitives are noted so that they can be made again: same programs, same obligations."""

from __future__ import annotations

import ast
import inspect
import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.schedule.schedule_programs import PROGRAMS
from tests.schedule.test_outline import MODULE
from tests.schedule.test_tensorize import DESCRIPTION, MATMUL, tiled
from verified_tir import AXIS_SEPARATOR, IndexMap, Refuted, Schedule, TensorIntrin, script
from verified_tir.ir.expr import IntImm, Load
from verified_tir.logic.smtlib import query
from verified_tir.schedule.recorded_text import Unrecordable
from verified_tir.schedule.recording import PRIMITIVES, Call, repeat, revived
from verified_tir.schedule.schedule import StepRecord
from verified_tir.script import tir as T

STAGES = """
@T.prim_func
def stages(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    t = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        t[i, j] = A[i, j] * T.float32(2)
    for i2, j2 in T.grid(4, 6):
        B[i2, j2] = t[i2, j2] + T.float32(1)
"""

SYMBOLIC = """
@T.prim_func
def symbolic(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 8), "float32")
    T.assume(n >= 2)
    for i, j in T.grid(n, 8):
        A[i, j] = T.float32(0)
"""

READS = """
@T.prim_func
def reads(a: T.handle, B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), n: T.int32):
    A = T.match_buffer(a, (n, 8), "float32")
    T.assume(n >= 2)
    for j in range(8):
        B[j] = A[1, j] + C[j]
"""

SCRATCH = """
@T.prim_func
def scratch(A: T.Buffer(8, "float32"), B: T.Buffer(8, "float32")):
    t = T.alloc_buffer((1,), "float32")
    for i in range(8):
        t[0] = A[i]
        B[i] = t[0]
"""

REPEATED = """
@T.prim_func
def repeated(A: T.Buffer(4, "float32")):
    for r in range(3):
        for i in range(4):
            A[i] = T.float32(7)
"""


def split_and_more(s: Schedule) -> None:
    i, j, k = s.loops("C")
    i0, i1 = s.split(i, (None, 2))
    j0, _ = s.split(j, [np.int64(3), IntImm(T.int32(0).dtype, 2)])
    s.reorder(j0, i0, i1)  # handles of loops that were rebuilt
    s.unroll(i1)
    s.fuse(j0, i0)
    s.peel(k, end=True)


def ranges(s: Schedule) -> None:
    n = s.symbol("n")
    first, second = s.partition("i", n // 2)
    s.merge_loops(first, second)
    s.partition("j", 3)


def layouts(s: Schedule) -> None:
    s.transform_layout(
        "A", lambda i, j: [i, j // 4, AXIS_SEPARATOR, j % 4], pad_value=lambda *p: T.Cast("float32", p[0])
    )
    s.transform_layout(s.buffer("t"), lambda *i: [i[1], i[0] // 3, i[0] % 3], pad_value=np.float32(-0.0))
    s.transform_layout("B", IndexMap.from_func(lambda i, j: [j, i], 2), T.undef())
    s.sequential_buffer_access(s.buffers[2])


def blocks(s: Schedule) -> None:
    block = s.get_block("C")
    s.transform_layout(block, ("read", 0), lambda i, j: [j, i])
    s.transform_layout(block=block, buffer=("write", 0), index_map=lambda i, j: [j, i], pad_value=None)
    s.decompose_reduction(block, s.loops(block)[2])
    s.sequential_buffer_access("C", block="C_init")


def kinds(s: Schedule) -> None:
    outer = s.tile("i", "j", factors=[2, 3])
    s.bind(outer[0], "blockIdx.x")
    s.parallel(outer[1])
    s.vectorize(outer[3])
    s.simplify()


def fissions(s: Schedule) -> None:
    s.sink_allocation("t")
    (i,) = s.loops()
    s.split(i, [None, 4])


STENCIL = """
@T.prim_func
def stencil(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((10,), "float32")
    for x in range(10):
        with T.block("t"):
            t[x] = A[x] * 2.0
    for y in range(8):
        with T.block("B"):
            B[y] = t[y] + t[y + 2]
"""


def copies(s: Schedule) -> None:
    outer, _ = s.split("y", [None, 4])
    s.compute_at("t", outer)
    s.cache_read("t", ("read", 0), "shared", outer)
    s.cache_write("B", "B", name="out")


def consumers(s: Schedule) -> None:
    """Copies of buffers that are named alone, of some consumers; a consumer that joins its producer."""
    s.cache_read("A", "local", name="a")
    s.cache_read(s.buffer("t"), "global", "y")
    s.cache_read(buffer="a", scope="shared", consumer_blocks=["t"])
    s.set_scope("a", "warp")
    s.set_scope("t", 0, "shared")
    s.reverse_compute_at("B", s.loops("t")[0])


GUARDED = """
@T.prim_func
def guarded(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32"), n: T.int32):
    for i in range(8):
        for j in range(4):
            if n > 0:
                B[i, j] = A[i, j]
    for k in range(8):
        if k < 3:
            B[k, 0] = 0.0
    A[0, 0] = A[0, 0]
"""


def branches(s: Schedule) -> None:
    s.hoist_expression()
    s.reduce_loop_extents()
    s.remove_no_op()


def overcompute(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


def constraints(s: Schedule) -> None:
    """Axioms of the parameter as it was written and as it is now, padding that repeats elements, and what is proved."""
    s.transform_layout("B", lambda i: [i + 1], pad_value=T.undef())
    s.write_padding("B")
    a = s.buffer("A")
    s.assume(lambda i, j: a[i, j] >= a[i, 0], buffer="A", axiom=True)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=lambda i, jo, ji, A: A[i, 0, ji])
    s.add_buffer_constraint("A", lambda i, jo, ji: jo.equal(0), lambda i, jo, ji: T.Cast("float32", ji), axiom=True)
    s.assume_padding("A")
    s.add_buffer_constraint("A", predicate=lambda i, jo, ji: jo * 4 + ji < 4, value=T.undef(), before=s.loops()[-1])


def results(s: Schedule) -> None:
    """What padding of a result holds at the end, a value in other words, branches around a block."""
    for name in ("A", "B"):
        s.transform_layout(name, lambda i: [i // 4, i % 4], pad_value=0.0 if name == "A" else T.undef())
    s.restate("B", lambda i, j: s.buffer("A")[i, j] * 2.0)
    s.sequential_buffer_access("B")
    s.write_padding("B", 0.0)
    s.assume(lambda i, j: T.Or(4 * i + j < 6, s.buffer("B")[i, j] >= 0.0), "B", at_end=True)
    s.remove_branching_through_overcompute("double", around=True)


DOUBLE = """
@T.prim_func
def double(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.sblock("double"):
            B[i] = 2.0 * A[i]
"""

ROW = """
@T.prim_func
def row_summation(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = 0.0
        for j in range(6):
            B[i] = B[i] + A[i, j]
"""

PAIR = """
@T.prim_func
def pair(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = 0.0
    for j in range(8):
        B[j] = 1.0
"""


def neighbours(s: Schedule) -> None:
    i, j = s.loops()
    s.move_after(i, j)
    s.move_before("i", j)
    s.merge_adjacent_loops(i, "j")


CHAINED = """
@T.prim_func
def chained(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    u = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("t"):
            t[i] = A[i] * 2.0
    for j in range(8):
        with T.block("u"):
            u[j] = t[7 - j] + t[j]
    for k in range(8):
        with T.block("B"):
            B[k] = u[k] + A[k]
"""


def inlined(s: Schedule) -> None:
    s.compute_inline("t")
    s.reverse_compute_inline("B")
    s.bind_expr("u", "A[j] * 2.0", "x")
    s.bind_expr("u", "A[7 - j]", "y", "local")
    s.inline_let("x")
    s.compute_inline("y")
    s.merge_writes(*s.split_write("u"))


def called(s: Schedule) -> None:
    """After the step that the module itself brings, what its callee assumes."""
    half = Schedule(s.module["compute_C"])
    half.remove_branching_through_overcompute()
    s.refine_call("compute_C", half)
    s.inline("transform_A")
    s.outline("transform", "again")


def tensorized(s: Schedule) -> None:
    s.tensorize(s.blockize(tiled(s)), TensorIntrin.of("mma", DESCRIPTION, lambda half: half.unroll("k")))


PRODUCT = """
@T.prim_func
def product(A: T.Buffer((5, 6), "int32"), B: T.Buffer((6, 7), "int32"), C: T.Buffer((5, 7), "int32")):
    for i, j, k in T.grid(5, 7, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def notes(s: Schedule) -> None:
    i, j, _ = s.loops()
    s.annotate(i, "pragma_auto_unroll_max_step", 16)
    s.annotate(j.name, "note", "text")
    s.unannotate(i, "pragma_auto_unroll_max_step")


PADDED = """
@T.prim_func
def padded(x: T.Buffer((8,), "float32"), y: T.Buffer((12,), "float32"), z: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("y"):
            y[i] = T.if_then_else(i >= 2 and i < 10, x[i - 2], T.float32(0))
    for i in range(12):
        with T.block("z"):
            z[i] = y[i] + T.float32(1)
"""


def tiles(s: Schedule) -> None:
    s.merge(*s.loops())
    first, second = s.fission("i")
    s.split(second, [None, s.sample_categorical([4], [1.0])], disable_predication=True)
    s.decompose_padding("y", first)
    s.read_at("i_0", "z", 0, "local")
    s.write_at("i_0", "z", 0, "local")
    s.loop_partition(first, [2, None])


EPILOGUE = """
@T.prim_func
def epilogue(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 6):
        with T.block("t"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                t[vi] = T.float32(0)
            t[vi] = t[vi] + A[vi, vk]
    for x in range(4):
        with T.block("C"):
            C[x] = t[x] + B[x]
"""


def blocks_of_tvm(s: Schedule) -> None:
    """The primitives of TVM about iteration variables; functions of these become maps."""
    s.reindex("C", ("read", 0))
    s.reindex(block="C", buffer="C")
    s.reindex_cache_read("C", 0, "shared", lambda i, j, k: (k, i))
    s.transform_block_layout("C", lambda i, j, k: (i * 7 + j, k))
    s.reindex_cache_write("C_reindex", "C", "local", index_map=lambda i, j: (j, i))
    s.cache_index("C", "global")
    s.annotate_buffer_access("C", 0, "write", lambda ij, k: [(0, 5), ij % 7])
    s.reorder_block_iter_var("C", [1, 0])
    s.storage_align("C", 0, axis=-1, factor=8, offset=1)
    s.set_axis_separator("C", ("write", 0), [1])
    s.cache_inplace("C", "C_reindex", "local")
    s.unsafe_set_dtype("A_reindex_reindex", 0, "int64")
    s.add_unit_loop("C")


WINDOW = """
@T.prim_func
def window(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for a in range(10):
        with T.sblock("B"):
            B[a] = A[a] + 1
    for t, b in T.grid(2, 4):
        with T.sblock("C"):
            C[t * 4 + b] = B[t * 4 + b] + B[t * 4 + b + 2]
"""
SCHEDULES: list[tuple[str, Callable[[Schedule], object]]] = [
    (PADDED, tiles),
    (WINDOW, lambda s: (s.compute_at("B", "t"), s.rolling_buffer("B", 0))),
    (EPILOGUE, lambda s: s.fuse_reduction_epilogue("t", "C")),
    (DOUBLE, results),
    (PROGRAMS["matmul"], split_and_more),
    (SYMBOLIC, ranges),
    (STAGES, layouts),
    (PROGRAMS["matmul"], blocks),
    (STAGES.replace("i2, j2", "k, l"), lambda s: s.tile("k", "l", factors=[2, 4])),
    (PROGRAMS["add_2d"], kinds),
    (SCRATCH, fissions),
    (REPEATED, lambda s: s.remove_loop(s.loops()[0])),
    (ROW, overcompute),
    (STENCIL, copies),
    (STENCIL, consumers),
    (GUARDED, branches),
    (CHAINED, inlined),
    (MODULE, called),
    (MATMUL, tensorized),
    (ROW, constraints),
    (ROW, lambda s: (overcompute(s), s.remove_overcompute_through_branching())),
    (ROW.replace("float32", "int32").replace("0.0", "0"), lambda s: s.rfactor(s.split("j", [3, 2])[0])),
    (PRODUCT, lambda s: s.pad_einsum("C", [4, 4, 4])),
    (PRODUCT, blocks_of_tvm),
    (PAIR, neighbours),
    (PROGRAMS["matmul"], notes),
    (PROGRAMS["mean_pool"], lambda s: s.fission("i", after="r")),
    (PROGRAMS["mean_pool"], lambda s: s.fission("j", after=s.loops()[2])),
]


def questions(record: StepRecord) -> list[str]:
    obligations = [o for d in record.obligations for o in (*(x.obligation for x in d.lemmas), d.obligation)]
    return [query(o.given, o.goal).text for o in obligations]


def replay(s: Schedule) -> Schedule:
    """The schedule, made again from the text of its program and its notes as JSON."""
    again = Schedule(script(s.steps[0].before))
    for record in s.steps[1:]:
        assert record.call is not None and not record.call.problem, record.call
        noted = json.loads(json.dumps([record.call.arguments, record.call.named]))
        repeat(again, Call(record.call.primitive, *noted))
    return again


@pytest.mark.sample(2)
@pytest.mark.parametrize(("program", "steps"), SCHEDULES)
def test_a_replayed_schedule_is_the_same(program: str, steps: Callable[[Schedule], object]) -> None:
    s = Schedule(program)
    steps(s)
    again = replay(s)
    assert len(again.steps) == len(s.steps)
    for then, now in zip(s.steps, again.steps, strict=True):
        assert script(now.after) == script(then.after), str(then)
        assert questions(now) == questions(then), str(then)
        if then.call is not None and now.call is not None:
            assert (now.call.arguments, now.call.named) == (then.call.arguments, then.call.named)


@pytest.mark.nightly
def test_every_primitive_is_recorded_and_replayed_here() -> None:
    """A primitive is a method of Schedule that goes to the kernel: it must be @recorded, and stand in SCHEDULES."""
    parts = [ast.parse(inspect.getsource(c)) for c in Schedule.__mro__ if c is not object]
    methods = [n for tree in parts for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    primitives = {m.name for m in methods if "self._do(" in ast.unparse(m)}
    assert primitives == PRIMITIVES.keys(), "a primitive lacks the decorator @recorded"
    replayed = set()
    for program, steps in SCHEDULES:
        s = Schedule(program)
        steps(s)
        replayed |= {record.name for record in s.steps[1:]}
    assert replayed == primitives, "add a schedule that takes the new primitive to SCHEDULES"


def test_functions_are_noted_when_they_are_called() -> None:
    """What a closure would give later does not matter."""
    s = Schedule(STAGES)
    for factor in (2, 3):
        s.transform_layout("AB"[factor - 2], lambda i, j: [i, j // factor, j % factor])
    noted = [record.call.arguments[1]["index_map"]["text"] for record in s.steps[1:] if record.call]
    assert noted == [["i", "j // 2", "j % 2"], ["i", "j // 3", "j % 3"]]
    assert script(replay(s).func) == s.script()


def test_paddings_that_read_and_maps_with_symbols() -> None:
    """A padding over the new indices and the buffer itself; a map that mirrors a symbolic extent."""
    s = Schedule(READS)
    c, n = s.buffer("C"), s.symbol("n")
    s.transform_layout("C", lambda i: [i // 3, i % 3], pad_value=lambda y, z: Load(c, (z,)) * T.float32(0.5))
    s.transform_layout("A", lambda i, j: [n - 1 - i, j])
    first, second = (record.call for record in s.steps[1:])
    assert first is not None and second is not None
    padding = first.arguments[2]["function"]
    assert padding["buffers"] == {"C": 2} and padding["text"] == ["C[p1] * T.float32(0.5)"]
    mirrored = second.arguments[1]["index_map"]
    assert mirrored["where"] == {"n": {"symbol": "n"}} and mirrored["text"] == ["n - 1 - i", "j"]
    assert script(replay(s).func) == s.script()


def test_names_that_no_text_can_hold() -> None:
    """``I`` and ``_`` mean something else in a text; a loop and a buffer of these names are named by their places."""
    text = (
        REPEATED.replace("A[i]", "t[i]").replace("for i ", "for r ").replace("for r in range(3)", "for _ in range(3)")
    )
    s = Schedule(text.replace("t[i]", "I[r]").replace("A: T", "I: T"))
    s.transform_layout("I", lambda i: [i // 2, i % 2])
    s.sequential_buffer_access("I")
    s.remove_loop("_")
    assert [b.name for b in s.func.buffers] == ["I"]
    again = replay(s)
    assert [b.name for b in again.func.buffers] == ["I_"]
    assert script(again.func) == s.script()


@pytest.mark.sample(7)
@pytest.mark.parametrize("value", [0.1, -0.0, math.inf, math.nan, 1e-45, np.float16(0.1), -1, True, T.float32(0.1)])
def test_numbers_keep_their_bits(value: object) -> None:
    s = Schedule(STAGES)
    s.transform_layout("t", lambda i, j: [i, j // 4, j % 4], pad_value=value)
    assert script(replay(s).func) == s.script()


def test_names_that_clash_are_told_apart() -> None:
    s = Schedule(SYMBOLIC)
    n = s.symbol("n")
    s.transform_layout("A", lambda n_, j: [n_ // 4, j, n_ % 4], pad_value=lambda n, j, k: T.Cast("float32", n))
    assert n.name == "n"
    s.transform_layout("A", IndexMap.from_func(lambda n, j, k: [n, k, j], 3))
    assert script(replay(s).func) == s.script()


def test_what_has_no_text_is_said() -> None:
    s = Schedule(STAGES)

    class Sizes(list):  # type: ignore[type-arg]
        """A list like any other."""

    s.split("i", Sizes([None, 2]))
    assert s.steps[-1].call is not None and not s.steps[-1].call.problem
    s.split("j", range(2, 4))  # a sequence of 2 and 3, which no JSON value is
    assert s.steps[-1].call is not None
    assert s.steps[-1].call.problem == "an argument of type range has no text"
    with pytest.raises(Unrecordable, match="of type range"):
        revived(s, s.steps[-1].call)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (Call("split", [{"loop": [0, 0, 5], "name": "i"}, [2]]), "no statement at step 5"),
        (Call("split", [{"loop": [0, 0, 0, 0], "name": "x"}, [2]]), "there is no loop at"),
        (Call("split", [{"symbol": "n"}, [2]]), "no symbol called 'n'"),
        (Call("split", [{"unknown": 1}, [2]]), "is not an argument"),
        (Call("split", [{"float": "nonsense"}]), "invalid hexadecimal"),
        (Call("transform_layout", [{"buffer": 7, "name": "A"}]), "IndexError"),
        (Call("partition", ["i", {"expression": {"of": [], "text": ["1)\n    T.evaluate(2"]}}]), "are not expressions"),
        (Call("partition", ["i", {"expression": {"of": [], "text": ["open('x')"]}}]), "open"),
        (Call("__init__", ["A"]), "there is no primitive '__init__'"),
        (Call("script", []), "there is no primitive 'script'"),
    ],
)
def test_notes_that_fit_nothing_are_refused(call: Call, why: str) -> None:
    with pytest.raises(Unrecordable, match=why):
        repeat(Schedule(STAGES), call)


def test_a_refused_step_leaves_no_note_behind() -> None:
    s = Schedule(REPEATED)
    with pytest.raises(TypeError):
        s.split()  # type: ignore[call-arg]
    assert s._call is None
    with pytest.raises(Refuted):
        s.parallel("r")
    assert s._call is None and len(s.steps) == 1


def test_the_line_of_the_caller_is_noted() -> None:
    s = Schedule(REPEATED)
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    s.remove_loop("r")
    call = s.steps[-1].call
    assert call is not None and call.lines[0] == (__file__, line)
    assert call.line_in(__file__) == line
    assert call.line_in("elsewhere.py") == 0
