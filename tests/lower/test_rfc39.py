"""Every example program of RFC 39 ("Buffer physical layout"), before and after each pass.

The RFC's texts are pseudo-code with values unsimplified ("to indicate where they come from"); here constants are
folded.
It counts an axis separator by the axis in front of it; this project, as TVM, by the axis behind it: its ``[2]`` and
``[0]`` are ``[3]`` and ``[1]``.
"""

from __future__ import annotations

import pytest

from tests.lower.lower_support import lowered
from verified_tir import AXIS_SEPARATOR, Schedule, parse_func, script
from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.passes import PassRecord

BOTH = ApplyLayoutTransforms() >> FlattenBuffer()


def func(body: str, attrs: str = "") -> str:
    """A function with these statements; ``val`` is an output, so that what was loaded matters."""
    head = [f"T.func_attr({attrs})"] if attrs else []
    lines = "\n".join(f"    {line}" for line in [*head, *body.strip("\n").split("\n")])
    return f'@T.prim_func(s_tir=True)\ndef f(val: T.Buffer((1,), "float32")):\n{lines}'


def check(*stages: str) -> None:
    """The program as written, after ApplyLayoutTransforms, and after FlattenBuffer; and again, without any effect."""
    before, transformed, flat = stages
    records: list[PassRecord] = []
    theorem = (BOTH >> BOTH).run(Schedule(before), after=records.append)  # too large for the interpreter
    assert [text(r.after) for r in records] == [transformed, flat, flat, flat]
    assert [r.rules for r in records[2:]] == [0, 0]
    assert text(theorem.before) == text(parse_func(before)) == before


def text(f: object) -> str:
    return script(f).rstrip("\n").split("\n\n")[1]  # type: ignore[arg-type]


TWO_D = """
x = T.alloc_buffer((64, 128), "float32")
val[0] = x[10, 15]
x[20, 23] = T.float32(7.0)
"""


def test_1_no_layout_transformation() -> None:
    flat = 'x = T.alloc_buffer((8192,), "float32")\nval[0] = x[1295]\nx[2583] = T.float32(7.0)'
    check(func(TWO_D), func(TWO_D), func(flat))


def test_2_the_first_index_changes_fastest() -> None:
    check(
        func(TWO_D, '{"layout_transform_map": {"x": "lambda i, j: [j, i]"}}'),
        func('x = T.alloc_buffer((128, 64), "float32")\nval[0] = x[15, 10]\nx[23, 20] = T.float32(7.0)'),
        func('x = T.alloc_buffer((8192,), "float32")\nval[0] = x[970]\nx[1492] = T.float32(7.0)'),
    )


def test_3_nhwc_to_nchwc() -> None:
    check(
        func('x = T.alloc_buffer((16, 64, 64, 128), "float32")\nval[0] = x[11, 37, 23, 101]',
             '{"layout_transform_map": {"x": "lambda n, h, w, c: [n, c // 4, h, w, c % 4]"}}'),
        func('x = T.alloc_buffer((16, 32, 64, 64, 4), "float32")\nval[0] = x[11, 25, 37, 23, 1]'),
        func('x = T.alloc_buffer((8388608,), "float32")\nval[0] = x[6186333]'),
    )  # fmt: skip
    assert (128 // 4) * 64 * 64 * 4 * 11 + 64 * 64 * 4 * (101 // 4) + 64 * 4 * 37 + 4 * 23 + 101 % 4 == 6186333


def test_4_nhwc_to_nchwc_in_two_dimensions() -> None:
    check(
        func('x = T.alloc_buffer((16, 64, 64, 128), "float32", axis_separators=[3])\nval[0] = x[11, 37, 23, 101]',
             '{"layout_transform_map": {"x": "lambda n, h, w, c: [n, c // 4, h, w, c % 4]"}}'),
        func('x = T.alloc_buffer((16, 32, 64, 64, 4), "float32", axis_separators=[3])\nval[0] = x[11, 25, 37, 23, 1]'),
        func('x = T.alloc_buffer((32768, 256), "float32", axis_separators=[1])\nval[0] = x[24165, 93]'),
    )  # fmt: skip
    assert ((128 // 4) * 64 * 11 + 64 * (101 // 4) + 37, 4 * 23 + 101 % 4) == (24165, 93)


@pytest.mark.parametrize("separators", ["", ", axis_separators=[3]"])
def test_the_same_on_small_buffers(separators: str) -> None:
    lowered(
        func(f"""
x = T.alloc_buffer((2, 3, 4, 8), "float32"{separators})
for n, h, w, c in T.grid(2, 3, 4, 8):
    x[n, h, w, c] = val[0] + T.Cast("float32", c)
val[0] = x[1, 2, 3, 5]
""", '{"layout_transform_map": {"x": "lambda n, h, w, c: [n, c // 4, h, w, c % 4]"}}'),
        BOTH,
    )  # fmt: skip


# -- the sections before -----------------------------------------------------------------------------------------------


def test_the_equivalent_definition() -> None:
    """``transform_layout`` gives the program that the RFC writes down as equivalent."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((2, 4, 4, 8), "float32"), B: T.Buffer((2, 4, 4, 8), "float32")):
    for n, h, w, c in T.grid(2, 4, 4, 8):
        with T.block("B"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            B[vn, vh, vw, vc] = A[vn, vh, vw, vc]
""")
    s.transform_layout("B", lambda n, h, w, c: [n, c // 4, h, w, c % 4])
    s.sequential_buffer_access("B")
    assert (
        text(s.func)
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 4, 4, 8), "float32"), B: T.Buffer((2, 2, 4, 4, 4), "float32")):
    for n, c_0, h, w, c_1 in T.grid(2, 2, 4, 4, 4):
        with T.sblock("B"):
            B[n, c_0, h, w, c_1] = A[n, h, w, 4 * c_0 + c_1]"""
    )


@pytest.mark.parametrize(
    ("layout", "shape", "separators"),
    [
        (lambda m, n, p, q: [m, n, p, q], (120,), ()),
        (lambda m, n, p, q: [m, n, AXIS_SEPARATOR, p, q], (6, 20), (1,)),
        (lambda m, n, p, q: [m, AXIS_SEPARATOR, n, p, AXIS_SEPARATOR, q], (2, 12, 5), (1, 2)),
        (lambda m, n, p, q: [m, q // 4, n, AXIS_SEPARATOR, p, q % 4], (12, 16), (1,)),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_axis_separators(layout: object, shape: tuple[int, ...], separators: tuple[int, ...], local: bool) -> None:
    """``AXIS_SEPARATOR`` in ``transform_layout``, of local buffers and of parameters; it is printed and read back."""
    where = 'x = T.alloc_buffer((2, 3, 4, 5), "float32")' if local else "val[0] = T.float32(0.0)"
    param = "" if local else ', x: T.Buffer((2, 3, 4, 5), "float32")'
    s = Schedule(f"""
@T.prim_func
def f(val: T.Buffer((1,), "float32"){param}):
    {where}
    for m, n, p, q in T.grid(2, 3, 4, 5):
        x[m, n, p, q] = T.float32(7.0)
    val[0] = x[1, 2, 3, 4]
""")
    s.transform_layout("x", layout)  # type: ignore[arg-type]
    assert len(s.buffer("x").axis_separators) == len(separators)
    theorem, _ = lowered(s, FlattenBuffer())
    for f in (theorem.after, parse_func(script(theorem.after))):
        assert (shape, separators) in [(_extents(b), b.axis_separators) for b in _buffers(f)], script(f)


def _buffers(f: object) -> list:  # type: ignore[type-arg]
    from verified_tir.ir.buffer import Buffer
    from verified_tir.ir.visit import walk

    return [n for n in walk(f) if isinstance(n, Buffer)]  # type: ignore[arg-type]


def _extents(b: object) -> tuple[int, ...]:
    return tuple(getattr(e, "value", -1) for e in b.shape)  # type: ignore[attr-defined]


def test_placeholder_and_computed_tensor() -> None:
    """The last example of the guide: the layout of an input, and of an output with the loops that follow it."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((16, 64, 128), "float32"), B: T.Buffer((16, 64, 128), "float32")):
    for i, j, k in T.grid(16, 64, 128):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = 2.0 * A[vi, vj, vk]
""")
    s.transform_layout("A", lambda i, j, k: [i * 64 + j, k // 4, k % 4])
    s.transform_layout("B", lambda i, j, k: [i // 4, 128 * j + k, i % 4])
    i_outer, jk_merged, i_inner = s.sequential_buffer_access("B")
    s.reorder(i_outer, i_inner, jk_merged)
    assert (
        s.script().rstrip("\n").split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1024, 32, 4), "float32"), B: T.Buffer((4, 8192, 4), "float32")):
    for i_0, i_1, axis1 in T.grid(4, 4, 8192):
        with T.sblock("B"):
            B[i_0, axis1, i_1] = T.float32(2.0) * A[(4 * i_0 + i_1) * 64 + axis1 // 128, axis1 % 128 // 4, axis1 % 4]"""
    )


# -- "What convention should be used for buffer indexing?", option 1, and RFC 63's table -------------------------------

ACCESSES = {
    "scalar_load_from_scalar_buffer": ('A: T.Buffer[(64,), "float32"]', "", "A[0]", "float32"),
    "vector_load_from_vector_buffer": ('A: T.Buffer[(16,), "float32x4"]', "", "A[0]", "float32x4"),
    "vector_load_from_another_view": (
        'A: T.Buffer[(16,), "float32x4"]', 'V = T.buffer_decl([32], "float32x2", data=A.data)', "V[0]", "float32x2"),
    "vector_load_from_scalar_buffer_option1": ('A: T.Buffer[(64,), "float32"]', "", "A[T.ramp(0, 1, 4)]", "float32x4"),
    "vector_load_from_scalar_buffer_option2": (
        'A: T.Buffer[(64,), "float32"]', 'V = T.buffer_decl([16], "float32x4", data=A.data)', "V[0]", "float32x4"),
    "scalar_load_from_vector_buffer": (
        'A: T.Buffer[(16,), "float32x4"]', 'V = T.buffer_decl([64], "float32", data=A.data)', "V[0]", "float32"),
    "nd_scalar_load_from_scalar_buffer": ('A: T.Buffer[(64, 64,), "float32"]', "", "A[0, 0]", "float32"),
    "nd_vector_load_from_scalar_buffer": (
        'A: T.Buffer[(64, 64), "float32"]', "", "A[0, T.ramp(0, 1, 4)]", "float32x4"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCESSES)
def test_buffer_indexing(name: str) -> None:
    param, view, access, dtype = ACCESSES[name]
    lines = [line for line in (view, f"val[0] = {access}") if line]
    program = f'@T.prim_func\ndef {name}({param}, val: T.Buffer((1,), "{dtype}")):\n    ' + "\n    ".join(lines)
    func = parse_func(program)
    from verified_tir.ir.stmt import Store
    from verified_tir.ir.visit import walk

    (store,) = [n for n in walk(func.body) if isinstance(n, Store)]
    assert str(store.value.dtype) == dtype
    lowered(program, FlattenBuffer())


# -- the attribute -----------------------------------------------------------------------------------------------------


def test_the_texts_of_all_stages_are_accepted_again() -> None:
    s = Schedule(func(TWO_D, '{"layout_transform_map": {"x": "lambda i, j: [j, i]"}}'))
    for passes in (ApplyLayoutTransforms(), BOTH):
        after = passes.run(s).after
        assert text(parse_func(script(after))) == text(after)
