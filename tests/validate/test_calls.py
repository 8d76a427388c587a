"""Calls that nothing is known about: equal arguments give equal results, effects reach so far."""

import pytest

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, Unknown, validate

PARAMS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'


def program(body: str, params: str = PARAMS):
    return parse_func(f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body.split("\n")))


def verdict(before: str, after: str, params: str = PARAMS):
    found = validate(program(before, params), program(after, params))
    slow = validate(program(before, params), program(after, params), fast=False)
    assert type(slow.verdict) is type(found.verdict)
    return found.verdict


# ------------------------------------------------------------------------------------------------- pure calls


def test_pure_calls_are_functions_of_their_arguments():
    before = 'for i in range(8):\n    B[i] = T.call_pure_extern("float32", "g", A[i], T.float32(1))'
    assert isinstance(verdict(before, before.replace("B[i]", "B[7 - i]").replace("A[i]", "A[7 - i]")), Equal)
    assert not isinstance(verdict(before, before.replace("A[i]", "A[7 - i]")), Equal)
    assert not isinstance(verdict(before, before.replace('"g"', '"h"')), Equal)
    assert not isinstance(verdict(before, before.replace("T.float32(1)", "T.float32(-1)")), Equal)
    twice = 'x: T.let[T.float32] = T.call_pure_extern("float32", "g", A[0])\nB[0] = x - x + A[1]'
    two = 'B[0] = T.call_pure_extern("float32", "g", A[0]) - T.call_pure_extern("float32", "g", A[0]) + A[1]'
    assert isinstance(verdict(twice, two), Equal)


def test_the_order_of_pure_calls_does_not_matter():
    one, two = (f'B[{k}] = T.call_pure_extern("float32", "g", A[{k}])' for k in (0, 1))
    assert isinstance(verdict(f"{one}\n{two}", f"{two}\n{one}"), Equal)
    one, two = (k.replace("call_pure_extern", "call_extern") for k in (one, two))
    assert isinstance(verdict(f"{one}\n{two}", f"{one}\n{two}"), Equal)
    assert isinstance(verdict(f"{one}\n{two}", f"{two}\n{one}"), Unknown)


def test_pure_calls_of_undef_are_undef():
    call = 'T.call_pure_extern("int32", "g", T.undef("int32"))'
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
    assert isinstance(verdict(f"B[0] = {call}", "B[0] = 3", params), Equal)
    assert not isinstance(verdict("B[0] = 0", f"B[0] = {call} - {call}", params), Equal)
    perhaps = 'T.call_pure_extern("int32", "g", T.Select(A[0] > 0, A[1], T.undef("int32")))'
    assert not isinstance(verdict("B[0] = 0", f"B[0] = {perhaps} - {perhaps}", params), Equal)
    known = 'T.call_pure_extern("int32", "g", A[1])'
    assert isinstance(verdict("B[0] = 0", f"B[0] = {known} - {known}", params), Equal)


def test_intrinsics_of_llvm_work_lane_by_lane_those_of_a_target_do_not():
    params = 'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "int32")'
    scalar = 'for i in T.vectorized(4):\n    C[i] = T.call_llvm_pure_intrin("int32", "llvm.lround", A[i])'
    vector = 'C[0:4] = T.call_llvm_pure_intrin("int32x4", "llvm.lround", A[0:4])'
    assert isinstance(verdict(scalar, vector, params), Equal)
    assert not isinstance(verdict(scalar, vector.replace("A[0:4]", "A[1:5]"), params), Equal)
    target = [text.replace("llvm.lround", "llvm.x86.sse.something") for text in (scalar, vector)]
    assert not isinstance(verdict(*target, params), Equal)
    assert isinstance(verdict(target[1], target[1], params), Equal)


def test_functions_of_mathematics_without_an_expansion():
    before = "for i in range(8):\n    B[i] = T.acos(A[i])"
    assert isinstance(verdict(before, "for i in T.vectorized(8):\n    B[7 - i] = T.acos(A[7 - i])"), Equal)
    assert not isinstance(verdict(before, before.replace("acos", "asin")), Equal)


# ------------------------------------------------------------------------------------------------ opaque calls


def test_a_call_in_a_loop_keeps_its_order():
    loop = 'for i in range(3):\n    B[i] = A[i]\n    T.evaluate(T.call_extern("int32", "touch", i, B.data))'
    assert isinstance(verdict(loop, loop), Equal)
    assert isinstance(verdict(loop, loop.replace("touch", "other")), Unknown)
    assert isinstance(verdict(loop, loop.replace("B.data))", "A.data))")), Unknown)
    unrolled = "\n".join(f'B[{i}] = A[{i}]\nT.evaluate(T.call_extern("int32", "touch", {i}, B.data))' for i in range(3))
    assert isinstance(verdict(loop, unrolled), Equal)
    assert isinstance(verdict(loop, unrolled.replace('touch", 1', 'touch", 2')), Unknown)


def test_a_call_under_a_condition_on_data():
    call = 'T.evaluate(T.call_extern("int32", "touch", B.data))'
    before = f"if A[0] > T.float32(0):\n    {call}\nB[0] = B[1]"
    after = f"if T.float32(0) < A[0]:\n    {call}\nB[0] = B[1]"
    assert isinstance(verdict(before, after), Equal)
    assert isinstance(verdict(before, f"{call}\nB[0] = B[1]"), Unknown)
    assert isinstance(verdict(before, before.replace("A[0]", "A[1]")), Unknown)
    assert isinstance(verdict(before, "B[0] = B[1]"), Unknown)


def test_pointers_to_allocated_blocks():
    text = """\
t = T.alloc_buffer((8,), "float32")
for i in range(8):
    t[i] = A[i]
T.evaluate(T.call_extern("int32", "touch", t.data))
for i in range(8):
    B[i] = t[i]"""
    assert isinstance(verdict(text, text), Equal)
    assert isinstance(verdict(text, text.replace("t[i] = A[i]", "t[7 - i] = A[7 - i]")), Equal)
    assert not isinstance(verdict(text, text.replace("t[i] = A[i]", "t[i] = A[7 - i]")), Equal)
    assert not isinstance(verdict(text, text.replace("B[i] = t[i]", "B[i] = A[i]")), Equal)


def test_a_block_stays_in_reach_of_whoever_was_given_its_pointer():
    text = """\
t = T.alloc_buffer((2,), "float32")
t[0] = A[0]
T.evaluate(T.call_extern("int32", "keep", t.data))
t[0] = T.float32(5)
T.evaluate(T.call_extern("int32", "later"))
B[0] = t[0]"""
    assert isinstance(verdict(text, text), Equal)
    assert not isinstance(verdict(text, text.replace("B[0] = t[0]", "B[0] = T.float32(5)")), Equal)
    never = text.replace('T.evaluate(T.call_extern("int32", "keep", t.data))\n', "")
    assert isinstance(verdict(never, never.replace("B[0] = t[0]", "B[0] = T.float32(5)")), Equal)


def test_addresses_count_and_so_does_what_a_pointer_is_for():
    call = 'T.evaluate(T.call_extern("int32", "g", T.tvm_access_ptr(T.type_annotation("float32"), {}.data, {}, 4, {})))'
    assert isinstance(verdict(call.format("A", 0, 1), call.format("A", 0, 1)), Equal)
    assert isinstance(verdict(call.format("A", 0, 1), call.format("A", 4, 1)), Unknown)
    assert isinstance(verdict(call.format("A", 0, 1), call.format("B", 0, 1)), Unknown)
    keep = call.format("A", 0, 1) + "\nB[0] = A[0]"
    assert not isinstance(verdict(keep, "B[0] = A[0]\n" + call.format("A", 0, 1)), Equal)


def test_calls_in_calls_are_refused():
    nested = 'T.evaluate(T.call_extern("int32", "g", T.call_extern("int32", "h")))'
    found = verdict(nested, nested)
    assert isinstance(found, Unknown) and "bind it by a let" in found.reason


# -------------------------------------------------------------------------------------------------- fragments

FILL = 'T.evaluate(T.tvm_fill_fragment({}.data, 16, 16, 16, 0, T.float32({}), dtype="handle"))'
STORE = (
    "T.evaluate(T.tvm_store_matrix_sync({0}.data, 16, 16, 16, 0, "
    'T.tvm_access_ptr(T.type_annotation("float32"), {1}.data, 0, 8, 2), 16, "row_major", dtype="handle"))'
)


def test_fragments_are_functions_of_the_blocks_they_are_given():
    head = 'x = T.alloc_buffer((8,), "float32", scope="wmma.accumulator")\n'
    head += 'y = T.alloc_buffer((8,), "float32", scope="wmma.accumulator")\n'
    first, second = (
        FILL.format("x", 0) + "\n" + STORE.format("x", "A"),
        FILL.format("y", 1) + "\n" + STORE.format("y", "B"),
    )
    assert isinstance(verdict(f"{head}{first}\n{second}", f"{head}{second}\n{first}"), Equal)
    assert isinstance(verdict(f"{head}{first}", f"{head}{first}".replace("x.data", "y.data")), Equal)
    for old, new in (("T.float32(0)", "T.float32(1)"), ("A.data", "B.data")):
        assert not isinstance(verdict(f"{head}{first}", f"{head}{first}".replace(old, new)), Equal)


def test_what_a_fragment_held_before_counts():
    head = 'x = T.alloc_buffer((8,), "float32", scope="wmma.accumulator")\n'
    accumulate = 'T.evaluate(T.tvm_mma_sync(x.data, 0, A.data, 0, A.data, 0, x.data, 0, dtype="handle"))'
    text = f"{head}{FILL.format('x', 0)}\n{accumulate}\n{STORE.format('x', 'B')}"
    assert isinstance(verdict(text, text), Equal)
    assert not isinstance(verdict(text, text.replace(accumulate, f"{accumulate}\n{accumulate}")), Equal)
    assert not isinstance(verdict(text, text.replace(accumulate + "\n", "")), Equal)


# ------------------------------------------------------------------------------------------ declared effects

DECLARED = """\
{outer}for i in range(2):
    {inner}with T.block("call"):
        v = T.axis.spatial(2, i)
        T.reads(A[v * 4:v * 4 + 4])
        T.writes({writes})
        T.evaluate(T.call_extern("float32", "g", t.data, v * 4, A.data))
    for j in range(4):
        B[i * 4 + j] = t[i * 4 + j]"""
ALLOCATION = 't = T.alloc_buffer((8,), "float32")\n'


def declared(place: str, writes: str = "t[v * 4:v * 4 + 4]") -> str:
    text = DECLARED.format(
        outer=ALLOCATION if place == "outer" else "",
        inner=ALLOCATION + "    " if place == "inner" else "",
        writes=writes,
    )
    return text


def test_what_a_block_declares_about_its_calls_is_believed():
    report = validate(program(declared("outer")), program(declared("inner")))
    assert isinstance(report.verdict, Equal)
    assert "believed" in report.findings[-1]
    assert isinstance(validate(program(declared("outer")), program(declared("outer"))).verdict, Equal)
    less = declared("inner", "t[v * 4:v * 4 + 3]")
    assert not isinstance(validate(program(declared("outer")), program(less)).verdict, Equal)


@pytest.mark.parametrize("name", ["tvm_warp_shuffle", "tvm_thread_allreduce"])
def test_what_threads_exchange_in_registers_is_refused(name):
    text = f'T.evaluate(T.{name}(T.uint32(1), A[0], dtype="handle"))\nB[0] = A[0]'
    assert isinstance(verdict(text, text), Unknown)
    assert not isinstance(verdict("B[0] = A[0]", text), (Equal, Different))
