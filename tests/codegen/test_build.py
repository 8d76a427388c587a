"""From schedules to functions."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verified_tir import CodegenError, Function, Refines, Schedule, Target, build, parse_func
from verified_tir.codegen import build as building
from verified_tir.codegen.build import prove_no_races
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import const
from verified_tir.kernel.theorem import reflexive
from verified_tir.script import tir as T
from verified_tir.semantics import memory
from verified_tir.semantics.interpreter import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ROW_SUM = """
@T.prim_func
def row_sum(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i in range(m):
        B[i] = 0.0
        for j in range(n):
            B[i] = B[i] + A[i, j]
"""

ADD = """
@T.prim_func
def add(A: T.Buffer((5, 3), "float32"), B: T.Buffer((5, 3), "float32"), C: T.Buffer((5, 3), "float32")):
    for i, j in T.grid(5, 3):
        C[i, j] = A[i, j] + B[i, j]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path / "cache"))


def agree(f: Function, **arguments: Any) -> None:
    """The function leaves what the interpreter leaves, bit for bit."""
    expected = run(f.func, arguments)
    given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in arguments.items()}
    f(**given)
    for name, array in expected.arrays.items():
        assert expected.defined[name].all()
        assert array.tobytes() == given[name].tobytes(), name


def test_the_example_of_row_summation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from row_summation import padded, row_summation

    f = build(padded())
    rng = np.random.default_rng(0)
    for _ in range(3):
        a = (rng.standard_normal((16, 14)) * 10.0 ** rng.integers(-40, 38, (16, 14))).astype(np.float32)
        a[0] = -0.0
        b = np.full(16, np.nan, np.float32)
        packed = f.pack("A", a)
        assert packed.shape == (16, 4, 4)
        assert not packed[:, 3, 2:].any()
        agree(f, A=packed, B=b)
        f(packed, b)
        assert b.tobytes() == run(row_summation, {"A": a, "B": b}).arrays["B"].tobytes()
        assert f.unpack("A", packed).tobytes() == a.tobytes()


@pytest.mark.parametrize(("m", "n"), [(3, 5), (0, 4), (4, 0), (1, 1), (0, 0), (17, 33)])
def test_symbolic_shapes(m: int, n: int) -> None:
    f = build(Schedule(ROW_SUM))
    rng = np.random.default_rng(m * 100 + n)
    agree(f, A=rng.standard_normal((m, n), np.float32), B=np.zeros(m, np.float32))


def test_a_lost_symbol_is_a_parameter() -> None:
    s = Schedule(ROW_SUM)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    f = build(s)
    names = list(inspect.signature(f).parameters)
    a, b = np.arange(35, dtype=np.float32).reshape(5, 7), np.zeros(5, np.float32)
    packed = f.pack("A", a)
    assert packed.shape == (5, 2, 4)
    assert names == ["A", "B", "n"]
    f(packed, b, 7)
    with pytest.raises(ValueError, match=r"A is float32.*extent 1 must be .* where n = 9"):
        f(packed, b, 9)
    with pytest.raises(ValueError, match="n = -1"):
        f(packed, b, -1)
    assert (b == a.sum(axis=1)).all()
    assert (f.unpack("A", packed, n=7) == a).all()
    with pytest.raises(TypeError, match="the array does not say what n in the shape of A is; give it: n=…"):
        f.unpack("A", packed)
    with pytest.raises(ValueError, match="A has shape"):
        f.unpack("A", packed, n=9)
    with pytest.raises(ValueError, match="there is no array parameter 'X'; there is A, B"):
        f.pack("X", a)
    with pytest.raises(ValueError, match="A has 2 dimensions"):
        f.pack("A", a[0])


def test_a_schedule_of_parallel_and_vectorized_loops() -> None:
    s = Schedule(ADD)
    s.parallel("i")
    s.vectorize("j")
    f = build(s, threads=2)
    assert f.target.threads == 2
    rng = np.random.default_rng(1)
    agree(f, **{name: rng.standard_normal((5, 3), np.float32) for name in "ABC"})


# -- what it takes ----------------------------------------------------------------------------------------------------


def test_a_bare_program_is_not_taken() -> None:
    program = parse_func(ADD)
    with pytest.raises(TypeError, match=r"the program add is neither; Schedule\(program\) proves .*build\(Schedule"):
        build(program)  # type: ignore[arg-type]
    for wrong in (ADD, None, 3, Schedule):
        with pytest.raises(TypeError, match="build takes a theorem or a Schedule"):
            build(wrong)  # type: ignore[arg-type]


def test_a_theorem_and_its_schedule_are_the_same() -> None:
    s = Schedule(ADD)
    assert build(s.theorem).theorem is build(s).theorem is s.theorem


def test_threads_and_targets() -> None:
    s = Schedule(ADD)
    host = Target.host(1)
    assert build(s, host).target is host
    assert build(s, host, threads=1).target is host
    assert build(s, threads=3).target.threads == 3
    with pytest.raises(ValueError, match="threads=2 contradicts the target, which has 1"):
        build(s, host, threads=2)
    with pytest.raises(ValueError, match="at least one thread"):
        build(s, threads=0)
    with pytest.raises(ValueError, match="at most 65536 threads, not 4611686018427387904"):
        build(s, threads=2**62)


def test_a_pipeline_extends_the_theorem() -> None:
    def unrolled(theorem: Refines) -> Refines:
        s = Schedule(ADD)
        s._session.theorem = theorem
        s.unroll("j")
        return s.theorem

    s = Schedule(ADD)
    f = build(s, pipeline=unrolled)
    assert f.theorem is not s.theorem
    assert f.theorem.before is s.theorem.before
    rng = np.random.default_rng(2)
    agree(f, **{name: rng.standard_normal((5, 3), np.float32) for name in "ABC"})
    with pytest.raises(TypeError, match="a pipeline gives a theorem, not a NoneType"):
        build(s, pipeline=lambda theorem: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match="the pipeline gave a theorem about row_sum, not about add"):
        build(s, pipeline=lambda theorem: Schedule(ROW_SUM).theorem)


RACE = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.{kind}(4):
        B[0] = B[0] + A[i]
"""


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_licences_are_proved_again(kind: str) -> None:
    theorem = reflexive(parse_func(RACE.format(kind=kind)))  # proves nothing about licences
    for _ in range(2):
        with pytest.raises(
            CodegenError, match=f"the loop over i is {kind}: no two of its iterations .* of B, could not"
        ):
            build(theorem)


def test_licences_are_proved_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(ADD)
    s.parallel("i")
    asked: list[object] = []
    original = building.prove_race_free

    def counting(*args: Any) -> Any:
        asked.append(args)
        return original(*args)

    monkeypatch.setattr(building, "prove_race_free", counting)
    build(s)
    first = len(asked)
    assert first > 0
    build(s)
    prove_no_races(s.theorem)
    assert len(asked) == first


def test_licences_are_asked_of_the_schedules_solver() -> None:
    s = Schedule(ADD)
    s.parallel("j")
    before = s.solver.statistics.queries + s.solver.statistics.cached + s.solver.statistics.trivial
    build(s)
    assert s.solver.statistics.queries + s.solver.statistics.cached + s.solver.statistics.trivial > before


# -- what it gives ----------------------------------------------------------------------------------------------------


def test_a_function_shows_what_it_is() -> None:
    f = build(Schedule(ADD))
    shape = "float32[5, 3]"
    assert repr(f) == f"<compiled add(A: {shape}, B: {shape}, C: {shape})>"
    assert str(inspect.signature(f)) == f"(A: '{shape}', B: '{shape}', C: '{shape}') -> None"
    assert f"add(A: {shape}" in pydoc.render_doc(f)
    assert isinstance(f, Function)
    assert callable(f)
    assert f.func is f.theorem.after
    assert "define i32 @vtir_kernel" in f.llvm_ir
    assert "@vtir_kernel(" in f.optimised_ir
    assert "define ptr @vtir_entry(" in f.optimised_ir
    assert "vtir_entry" in f.asm
    assert f.assumptions == ()
    with pytest.raises(TypeError, match="made by build"):
        Function()
    with pytest.raises(AttributeError):
        f.theorem = f.theorem  # type: ignore[misc]


def test_names_that_python_does_not_have() -> None:
    i = Var.fresh("i")
    buffers = [Buffer.declare(name, (4,)) for name in ("lambda", "a b", "x", "a_b", "1")]
    params = tuple(Var.fresh(f"p{k}", DType.parse("handle")) for k in range(5))
    body = For(i, const(0), const(4), Store(buffers[0], buffers[1][i], (i,)))
    program = PrimFunc("no name?", params, tuple(zip(params, buffers, strict=True)), body)
    f = build(Schedule(program))
    assert list(inspect.signature(f).parameters) == ["lambda_", "a_b", "x", "a_b_1", "v1"]
    arrays = {b.name: np.full(4, k, np.float32) for k, b in enumerate(buffers)}
    f(**arrays)
    assert arrays["lambda"].tolist() == [1] * 4
    with pytest.raises(TypeError, match=r"no name\?\(lambda: .*\): a b, x, a_b, 1 is missing"):
        f(arrays["lambda"])


def test_a_function_is_not_pickled() -> None:
    f = build(Schedule(ADD))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            attempt(f)


@pytest.mark.nightly
def test_a_function_goes_when_nobody_holds_it() -> None:
    f = build(Schedule(ADD))
    code, cls = weakref.ref(f._code._library), weakref.ref(type(f))
    assert code() is not None
    del f
    gc.collect()
    assert code() is None
    assert cls() is None


def test_many_functions() -> None:
    s = Schedule(ADD)
    functions = [build(s) for _ in range(50)]
    a, b = np.ones((5, 3), np.float32), np.ones((5, 3), np.float32)
    for f in functions:
        c = np.zeros((5, 3), np.float32)
        f(a, b, c)
        assert (c == 2).all()
    assert sys.getrefcount(a) < 10


# -- assumptions ------------------------------------------------------------------------------------------------------

GATHER = """
@T.prim_func
def gather(A: T.Buffer((8,), "float32"), P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32"), n: T.int32):
    T.assume(n <= 4)
    for i in range(4):
        T.assume(0 <= P[i] and P[i] < 8)
    for i in range(4):
        B[i] = A[P[i]]
    for i in range(4):
        T.assume(B[i] == B[i] or n == n)
"""


@pytest.fixture
def gather() -> Iterator[Function]:
    yield build(Schedule(GATHER))


def test_assumptions_are_the_callers_word_unless_wanted(gather: Function) -> None:
    f = gather
    assert len(f.assumptions) == 2
    assert all(text.endswith("(T.assume in the program)") for text in f.assumptions)
    a, b = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    good, bad = np.array([0, 7, 3, 3], np.int32), np.array([0, 7, 3, -1], np.int32)
    f(a, good, b, 4)
    assert b.tolist() == [0, 7, 3, 3]
    f(a, good, b, 5)  # nobody looks
    assert f.check_assumptions is False
    f.check_assumptions = True
    assert f.check_assumptions is True
    f(a, good, b, 4)
    with pytest.raises(ValueError, match=r"gather: what the program assumes of its arguments is false"):
        f(a, good, b, 5)
    b[:] = 9
    with pytest.raises(ValueError, match=r"i = 3"):
        f(a, bad, b, 4)
    assert (b == 9).all()
    f.check_assumptions = False
    f(a, good, b, 5)


def test_padding_is_checked() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        B[i] = A[i]
""")
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
    f = build(s, check_assumptions=True)
    assert f.assumptions == ("A[io, ii] == T.float32(0.0) where io == 1 and ii >= 1",)
    a, b = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    f(f.pack("A", a), b)
    assert (a == b).all()
    for wrong in (1.0, -0.0, np.nan):
        packed = f.pack("A", a)
        packed[1, 2] = wrong
        with pytest.raises(ValueError, match=r"A\[1, 2\] is .*, but this padding is assumed: A\[io, ii\]"):
            f(packed, b)


def test_padding_that_depends_on_its_place_and_on_the_array() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        B[i] = A[i]
""")
    a_buffer = s.buffer("A")
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=lambda i, j: a_buffer[j] + i)
    s.transform_layout("A", lambda i, j: [j, i])
    f = build(s, check_assumptions=True)
    a, b = np.arange(10, 15, dtype=np.int32), np.zeros(5, np.int32)
    packed = f.pack("A", a)
    assert packed.T.tolist() == [[10, 11, 12, 13], [14, 12, 13, 14]]
    f(packed, b)
    assert (a == b).all()
    assert (f.unpack("A", packed) == a).all()
    packed[3, 1] = 0
    with pytest.raises(ValueError, match=r"A\[3, 1\] is 0"):
        f(packed, b)


def test_bytes_that_are_no_bool() -> None:
    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((4,), "bool"), B: T.Buffer((4,), "bool")):
    for i in range(4):
        B[i] = A[i]
"""),
        check_assumptions=True,
    )
    b = np.zeros(4, np.bool_)
    f(np.array([True, False, True, True]), b)
    assert b.tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match="A holds bytes that are no bool"):
        f(np.array([0, 1, 2, 1], np.uint8).view(np.bool_), b)


# -- parameters of other kinds, from end to end ---------------------------------------------------------------------


def test_offsets_and_strides() -> None:
    f = build(
        Schedule("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    s = T.int32()
    A = T.match_buffer(a, (n, 3), "float32", strides=[s, 1])
    B = T.match_buffer(b, (n,), "float32", elem_offset=5)
    for i in range(n):
        B[i] = A[i, 0] + A[i, 2]
""")
    )
    whole = np.arange(40, dtype=np.float32).reshape(4, 10)
    around = np.full(12, -1, np.float32)
    f(whole[:, 2:5], around[4:8])
    assert around.tolist() == [-1] * 4 + [6, 26, 46, 66] + [-1] * 4


def test_lanes_bools_and_small_floats() -> None:
    import ml_dtypes

    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((3,), "float32x4"), B: T.Buffer((3,), "bfloat16"), C: T.Buffer((3,), "float16"),
      D: T.Buffer((3,), "bool"), x: T.bfloat16, y: T.float16, z: T.bool, k: T.uint64):
    for i in range(3):
        A[i] = A[i] + A[i]
        B[i] = B[i] * x
        C[i] = C[i] * y
        D[i] = T.if_then_else(k > T.uint64(18446744073709551614), z, D[i])
""")
    )
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b, c = np.array([1, 1.5, 1e-40], ml_dtypes.bfloat16), np.array([1, 1.5, 6e-8], np.float16)
    agree(f, A=a, B=b, C=c, D=np.array([True, False, True]), x=1.01, y=0.1, z=False, k=2**64 - 1)
    agree(f, A=a, B=b, C=c, D=np.array([True, False, True]), x=-1e-39, y=70000.0, z=True, k=0)


def test_assertions_and_memory() -> None:
    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    assert n >= 0, "not negative"
    assert n < 3, "too much: 50%"
    for i in range(4):
        A[i] = n
""")
    )
    a = np.zeros(4, np.int32)
    for n, message in ((-1, "^not negative$"), (3, "^too much: 50%$")):
        with pytest.raises(AssertionError, match=message):
            f(a, n)
    f(a, 2)
    assert a.tolist() == [2] * 4


@pytest.mark.nightly
def test_at_the_end_of_the_interpreter_and_after_a_fork() -> None:
    code = f"""
import atexit, os, sys
import numpy as np
from verified_tir import Schedule, build
s = Schedule({ADD!r})
s.parallel("i")
f = build(s, threads=2)
arrays = [np.ones((5, 3), np.float32) for _ in range(3)]
atexit.register(lambda: f(*arrays))
sys.held = f
f(*arrays)
child = os.fork()
if child == 0:
    arrays[2][:] = 0
    f(*arrays)
    os._exit(0 if (arrays[2] == 2).all() else 1)
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_claims_are_about_the_layout_of_the_program_as_written() -> None:
    s = Schedule("""
@T.prim_func
def row_sum(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i, j in T.grid(m, n):
        T.assume(A[i, j] == A[i, j])
    for i in range(m):
        B[i] = 0.0
        for j in range(n):
            B[i] = B[i] + A[i, j]
""")
    s.transform_layout("A", lambda i, j: [j // 4, i, j % 4], pad_value=T.undef())
    f = build(s, check_assumptions=True)
    a, b = np.arange(14, dtype=np.float32).reshape(2, 7), np.zeros(2, np.float32)
    packed = f.pack("A", a)
    packed[1, :, 3] = np.nan  # nobody assumed anything about that
    f(packed, b, 7)
    assert b.tolist() == a.sum(axis=1).tolist()
    packed[1, 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"assumes of its arguments is false: assume: .*i = 1, j = 6"):
        f(packed, b, 7)


def test_more_than_the_interpreter_can_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LARGEST_BLOCK", 1000)
    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((2000,), "int8"), B: T.Buffer((1,), "int8")):
    T.assume(A[0] == T.int8(0))
    B[0] = A[0]
""")
    )
    a, b = np.zeros(2000, np.int8), np.ones(1, np.int8)
    f(a, b)
    assert b[0] == 0
    f.check_assumptions = True
    with pytest.raises(ValueError, match="f: the assumptions could not be checked: A takes 2000 bytes"):
        f(a, b)
