"""Views of a block by elements of another width: memory is bytes, in the validator too."""

import random

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.semantics.interpreter import run
from verified_tir.validate import Different, Equal, Unknown, validate
from verified_tir.validate.interface import Side
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import execute
from verified_tir.validate.terms import UNDEF_ID, Terms

FLOATS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), I: T.Buffer((16,), "uint8")'


def program(body: str, params: str = FLOATS):
    return parse_func(f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body.split("\n")))


def verdict(before: str, after: str, params: str = FLOATS):
    report = validate(program(before, params), program(after, params))
    slow = validate(program(before, params), program(after, params), fast=False)
    assert type(slow.verdict) is type(report.verdict)
    return report.verdict


def exit_values(text: str) -> dict[str, list]:
    """What a program that reads no input leaves behind, as the validator sees it; ``None`` is undef."""
    func = parse_func(text)
    build = Builder(Terms())
    side = Side.of(func, {})
    left = execute(side, build, fast=True, budget=10**6)
    found = {}
    for p in side.params:
        ids = left.memory[p.position][0].reshape(-1)
        assert build.terms.is_const(ids[ids != UNDEF_ID]).all(), "everything is known"
        found[p.buffer.name] = [None if t == UNDEF_ID else build.terms.value(int(t)) for t in ids]
    return found


def check_against_the_interpreter(text: str) -> None:
    func = parse_func(text)
    arrays = {b.name: np.zeros([int(e.value) for e in b.shape], str(b.dtype)) for b in func.buffers}
    outcome = run(func, arrays, defined={name: np.zeros(a.shape, bool) for name, a in arrays.items()})
    for name, seen in exit_values(text).items():
        for k, (value, defined) in enumerate(zip(outcome.arrays[name], outcome.defined[name], strict=True)):
            if not defined:
                assert seen[k] is None, (name, k, seen[k])
            else:
                got = np.array([seen[k]], outcome.arrays[name].dtype)
                want = np.array([value], outcome.arrays[name].dtype)
                assert got.tobytes() == want.tobytes() or (got != got and want != want), (name, k, seen[k], value)


COPY_BYTES = """\
a = T.decl_buffer((16,), "uint8", data=A.data)
b = T.decl_buffer((16,), "uint8", data=B.data)
for i in range(16):
    b[i] = a[i]"""


def test_bytes_that_are_copied_one_by_one_are_the_float_but_for_a_nan():
    whole = "for i in range(4):\n    B[i] = A[i]"
    assert isinstance(verdict(whole, whole), Equal)
    found = verdict(whole, COPY_BYTES)
    assert isinstance(found, (Different, Unknown))  # a NaN has no bytes: after leaves it undefined
    assert isinstance(verdict(COPY_BYTES, whole), Equal | Unknown)


def test_integers_survive_the_way_through_bytes():
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), I: T.Buffer((16,), "uint8")'
    whole = "for i in range(4):\n    B[i] = A[i]"
    assert isinstance(verdict(whole, COPY_BYTES, params), Equal)
    assert isinstance(verdict(COPY_BYTES, whole, params), Equal)
    swapped = COPY_BYTES.replace("b[i] = a[i]", "b[i] = a[15 - i]")
    assert isinstance(verdict(whole, swapped, params), Different)


def test_the_least_significant_byte_comes_first():
    params = 'A: T.Buffer((1,), "uint32"), B: T.Buffer((4,), "uint8")'
    split = 'a = T.decl_buffer((4,), "uint8", data=A.data)\nfor i in range(4):\n    B[i] = a[i]'
    one = "B[0] = a[0]"
    assert isinstance(verdict(split, split, params), Equal)
    head = 'a = T.decl_buffer((4,), "uint8", data=A.data)\n'
    assert isinstance(verdict(head + one, head + "B[0] = a[3]", params), Different)


def test_half_of_a_value_overwritten():
    params = 'A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")'
    halves = 'a = T.decl_buffer((4,), "int16", data=A.data)\na[1] = T.int16(0)\nB[0] = A[0]\nB[1] = A[1]'
    assert isinstance(verdict(halves, halves, params), Equal)
    untouched = halves.replace("a[1]", "a[3]")
    assert isinstance(verdict(halves, untouched, params), Different)
    later = halves.replace("a[1] = T.int16(0)\nB[0] = A[0]\nB[1] = A[1]", "B[1] = A[1]\na[1] = T.int16(0)\nB[0] = A[0]")
    assert isinstance(verdict(halves, later, params), Equal)


def test_an_undefined_byte_makes_the_element_undefined():
    body = """\
t = T.alloc_buffer((2,), "int32")
b = T.decl_buffer((8,), "int8", data=t.data)
for i in range(7):
    b[i] = T.int8(1)
C[0] = t[0]
C[1] = t[1]"""
    assert exit_values("@T.prim_func\ndef f(C: T.Buffer((2,), 'int32')):\n    " + body.replace("\n", "\n    ")) == {
        "C": [0x01010101, None]
    }


def test_vector_elements_over_scalars_and_back():
    params = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
    vectors = """\
a = T.decl_buffer((2,), "float32x4", data=A.data)
b = T.decl_buffer((2,), "float32x4", data=B.data)
for i in range(2):
    b[i] = a[i]"""
    assert isinstance(verdict("for i in range(8):\n    B[i] = A[i]", vectors, params), Equal)
    assert isinstance(verdict("for i in range(7):\n    B[i] = A[i]", vectors, params), Different)


def test_a_view_beyond_its_block_is_out_of_bounds():
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
    inside = 'a = T.decl_buffer((17,), "int8", data=A.data)\na[15] = T.int8(0)\nB[0] = 1'
    beyond = inside.replace("a[15]", "a[16]")
    assert isinstance(verdict(inside, inside, params), Equal) and not verdict(inside, inside, params).vacuous
    assert verdict(beyond, beyond, params).vacuous
    assert isinstance(verdict(inside, beyond, params), Different)


def test_iterations_that_share_an_element_but_no_byte_are_independent():
    params = 'A: T.Buffer((8,), "int8"), B: T.Buffer((2,), "int32")'
    up = 'b = T.decl_buffer((8,), "int8", data=B.data)\nfor i in range(8):\n    b[i] = A[i]'
    down = up.replace("b[i] = A[i]", "b[7 - i] = A[7 - i]")
    assert isinstance(verdict(up, down, params), Equal)
    wide = up + "\nfor i in range(2):\n    B[i] = B[i] + 1"
    assert isinstance(verdict(wide, wide, params), Equal)
    assert isinstance(verdict(up, wide, params), Different)


def test_branches_on_data_keep_the_bytes_of_the_other_path():
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
    before = 'b = T.decl_buffer((16,), "int8", data=B.data)\nif A[0] > 0:\n    b[5] = T.int8(3)'
    after = 'b = T.decl_buffer((16,), "int8", data=B.data)\nif A[0] <= 0:\n    b[5] = b[5]\nelse:\n    b[5] = T.int8(3)'
    assert isinstance(verdict(before, after, params), Equal)
    assert isinstance(verdict(before, after.replace("<=", "<"), params), Different)


TYPES = ("int8", "uint8", "int16", "uint32", "float32", "float16", "float64", "int64", "bool")


def random_views(seed: int) -> str:
    """Stores and loads of constants through random views of one block of 16 bytes; what is read goes to parameters."""
    rng = random.Random(seed)
    lines = ['t = T.alloc_buffer((16,), "uint8")']
    views: dict[str, str] = {}
    for dtype in rng.sample(TYPES, 4):
        size = {"bool": 1}.get(dtype, int("".join(c for c in dtype if c.isdigit()) or 8) // 8)
        lines.append(f'v_{dtype} = T.decl_buffer(({16 // size},), "{dtype}", data=t.data)')
        views[dtype] = f"v_{dtype}[{{}}]"
        views[dtype + "/n"] = str(16 // size)
    kinds = [d for d in views if not d.endswith("/n")]
    outs = dict.fromkeys(kinds, 0)
    for _ in range(14):
        dtype = rng.choice(kinds)
        place = views[dtype].format(rng.randrange(int(views[dtype + "/n"])))
        if rng.random() < 0.55:
            if dtype == "bool":
                value = rng.choice(["T.bool(True)", "T.bool(False)"])
            elif dtype.startswith("float"):
                value = f"T.{dtype}({rng.choice(['0.0', '-0.0', '1.5', chr(34) + 'nan' + chr(34), '-2.25', '6e-8'])})"
            else:
                value = f"T.{dtype}({rng.choice([0, 1, 2, 77, 127])})"
            if rng.random() < 0.1:
                value = f'T.undef("{dtype}")'
            lines.append(f"{place} = {value}")
        else:
            lines.append(f"O_{dtype}[{outs[dtype]}] = {place}")
            outs[dtype] += 1
    params = ", ".join(f'O_{d}: T.Buffer((14,), "{d}")' for d in kinds)
    return f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in lines)


@pytest.mark.sample(30)
@pytest.mark.parametrize("seed", range(150))
def test_random_views_agree_with_the_interpreter(seed):
    text = random_views(seed)
    func = parse_func(text)
    arrays = {b.name: np.zeros(14, str(b.dtype)) for b in func.buffers}
    outcome = run(func, arrays)
    build = Builder(Terms())
    side = Side.of(func, {})
    left = execute(side, build, fast=bool(seed % 2), budget=10**6)
    for p in side.params:
        name, ids = p.buffer.name, left.memory[p.position][0].reshape(-1)
        for k, term in enumerate(ids.tolist()):
            if build.terms.op_of(term).startswith("input"):
                continue  # never stored to
            if not outcome.defined[name][k]:
                assert term == UNDEF_ID, (name, k)
                continue
            assert term != UNDEF_ID, (name, k, text)
            got = np.array([build.terms.value(term)], arrays[name].dtype)
            want = outcome.arrays[name][k : k + 1]
            assert got.tobytes() == want.tobytes() or (got != got and want != want), (name, k, text)


def test_a_view_that_each_iteration_moves():
    text = """\
for i in range(4):
    v = T.decl_buffer((2,), "float32", data=A.data, elem_offset=i * {})
    for k in range(2):
        B[i * 2 + k] = v[{}]"""
    params = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
    plain = "for i in range(8):\n    B[i] = A[i]"
    assert isinstance(verdict(plain, text.format(2, "k"), params), Equal)
    assert isinstance(verdict(plain, text.format(2, "1 - k"), params), Different)
    assert isinstance(verdict(plain, text.format(3, "k"), params), Different)  # the last one leaves the block
