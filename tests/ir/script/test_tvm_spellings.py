"""What TVM's own texts write, as it is read: the printed program, and a near miss that is refused."""

from __future__ import annotations

import pytest

from tests.ir.script.test_statements import body_lines
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import ScriptError, parse, parse_func, script

HEAD = """@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32"), H: T.Buffer((8,), "float16"),
      J: T.Buffer((8,), "int32"), L: T.Buffer((8,), "int64"), C: T.Buffer((8,), "int8"), U: T.Buffer((8,), "uint8"),
      P: T.Buffer((8,), "bool"), i: T.int32, l: T.int64, h: T.handle):
"""


def program(text: str) -> str:
    return HEAD + "\n".join(f"    {line}" for line in text.splitlines())


def lines(text: str) -> str:
    """The body as it is printed, after it was read from what was printed, too."""
    func = parse_func(program(text))
    shown = script(func, flat=True)
    assert structural_equal(parse_func(shown), func)
    return "\n".join(line[4:] for line in shown.splitlines()[4:])


def refusal(text: str) -> str:
    with pytest.raises(ScriptError) as caught:
        parse(program(text))
    return caught.value.message


# -- operands of two types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("L[0] = i + l", 'L[0] = T.Cast("int64", i) + l'),
        ("L[0] = l // 2 + i", 'L[0] = l // T.int64(2) + T.Cast("int64", i)'),
        ("A[0] = i * 0.5", 'A[0] = T.Cast("float32", i) * T.float32(0.5)'),
        ("A[0] = A[0] + i", 'A[0] = A[0] + T.Cast("float32", i)'),
        ("A[0] = H[0] * A[1]", 'A[0] = T.Cast("float32", H[0]) * A[1]'),
        ("H[0] = H[0] * 0.5", 'H[0] = T.Cast("float16", T.Cast("float32", H[0]) * T.float32(0.5))'),
        ("H[0] = H[0] * 2", "H[0] = H[0] * T.float16(2.0)"),
        ("C[0] = C[0] * 2", 'C[0] = T.Cast("int8", T.Cast("int32", C[0]) * 2)'),
        ("C[0] = C[0] * T.int8(2)", "C[0] = C[0] * T.int8(2)"),
        ("C[0] = T.max(C[0], 0)", 'C[0] = T.Cast("int8", T.max(T.Cast("int32", C[0]), 0))'),
        ("U[0] = (U[1] << 1) >> 1", "U[0] = U[1] << T.uint8(1) >> T.uint8(1)"),
        ("L[0] = 7 & C[0] | 1", 'L[0] = T.Cast("int64", T.int8(7) & C[0] | T.int8(1))'),
        ("L[0] = T.bitwise_xor(L[1], -1)", "L[0] = L[1] ^ T.int64(-1)"),
        ("U[0] = C[0] + U[1]", 'U[0] = T.Cast("uint8", C[0]) + U[1]'),
        ("L[0] = i + 5000000000", 'L[0] = T.Cast("int64", i) + T.int64(5000000000)'),
        ("J[0] = J[1] + P[0]", 'J[0] = J[1] + T.Cast("int32", P[0])'),
        ("J[0] = P[0] + 1", 'J[0] = T.Cast("int32", P[0]) + 1'),
        ("J[0] = l", 'J[0] = T.Cast("int32", l)'),
        ("A[0] = i", 'A[0] = T.Cast("float32", i)'),
        ("A[0] = T.float16(0.5)", 'A[0] = T.Cast("float32", T.float16(0.5))'),
        ("A[i + l] = A[l]", 'A[T.Cast("int64", i) + l] = A[l]'),
        ("A[0] = T.if_then_else(i < l, 1, 2.0)",
         'A[0] = T.if_then_else(T.Cast("int64", i) < l, T.float32(1.0), T.float32(2.0))'),
        ("A[0] = T.pow(A[0], H[0])", 'A[0] = T.pow(A[0], T.Cast("float32", H[0]))'),
        ("L[0] = T.shift_left(i, l)", 'L[0] = T.Cast("int64", i) << l'),
        ("L[0] = T.ceildiv(i, l)", 'L[0] = (T.Cast("int64", i) + l - T.int64(1)) // l'),
        ("A[T.Ramp(i, T.int64(1), 4)] = A[T.Ramp(0, 1, 4)] + i",
         'A[i:i + 4] = A[T.Ramp(0, 1, 4)] + T.Broadcast(T.Cast("float32", i), 4)'),
        ("for k in range(i, l):\n    A[k] = 0",
         'for k in range(T.Cast("int64", i), l):\n    A[k] = T.float32(0.0)'),
        ("x: T.int32 = l\nJ[x] = 0", 'x: T.let[T.int32] = T.Cast("int32", l)\nJ[x] = 0'),
        ("J[0] = T.floor(i)", "J[0] = i"),
        ("P[0] = T.bool(1)", "P[0] = T.bool(True)"),
    ],
)  # fmt: skip
def test_operands_are_converted_as_tvm_does(text: str, meant: str) -> None:
    assert lines(text) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P[0] = i == l", "operands of eq differ in type: int32 and int64"),
        ("J[0] = T.Select(P[0], i, l)", "the arms of select differ in type: int32 and int64"),
        ("A[0] = A[0] + h", "operands of add differ in type: float32 and handle"),
        ("x: T.let[T.int32] = l", "x has type int32, its value int64"),
        ("C[0] = 300", "300 does not fit int8"),
        ("J[0] = 1.5", "the float 1.5 is used where a value of type int32 is needed"),
        ("A[0:4] = A[0:4] + B[0, 0:8]", "operands of add differ in type: float32x4 and float32x8"),
    ],
)
def test_what_tvm_does_not_convert_is_refused(text: str, message: str) -> None:
    assert refusal(text) == message


def test_an_integer_is_a_condition_of_if_and_while_alone() -> None:
    assert lines("if i:\n    A[0] = 1.0") == "if i != 0:\n    A[0] = T.float32(1.0)"
    assert lines("while L[0]:\n    L[0] = L[0] - 1") == "while L[0] != T.int64(0):\n    L[0] = L[0] - T.int64(1)"
    assert refusal("A[0] = T.if_then_else(i, 1.0, 2.0)") == "a condition must be bool, not int32"
    assert refusal("T.assume(i)") == "a condition must be bool, not int32"


# -- scalars ----------------------------------------------------------------------------------------------------------


def test_a_scalar_that_a_loop_updates_is_memory() -> None:
    assert lines("x: T.int32 = 0\nwhile x < i:\n    J[x] = 1\n    x += 2") == (
        'x = T.alloc_buffer((1,), "int32", scope="local")\n'
        "x[0] = 0\n"
        "while x[0] < i:\n"
        "    J[x[0]] = 1\n"
        "    x[0] = x[0] + 2"
    )
    assert refusal("x: T.let = i\nwhile x < i:\n    x = x + 2").startswith("x is bound already")


def test_a_scalar_keeps_its_first_type() -> None:
    assert lines("x = C[0]\nx = i\nA[x] = 0.0") == (
        'x: T.let[T.int8] = C[0]\nx_1: T.let[T.int8] = T.Cast("int8", i)\nA[x_1] = T.float32(0.0)'
    )
    assert lines("x = C[0]\nif i > 0:\n    x = i\nA[x] = 0.0").splitlines()[3] == '    x[0] = T.Cast("int8", i)'
    assert refusal("x = 1\nx = 1.5") == "the float 1.5 is used where a value of type int32 is needed"


def test_a_scalar_may_have_lanes() -> None:
    assert lines("x: T.int32x4 = T.Broadcast(i, 4)\nJ[0:4] = x") == (
        "x: T.let[T.int32x4] = T.Broadcast(i, 4)\nJ[0:4] = x"
    )
    assert lines("x: T.float32x4 = T.Broadcast(i, 4)\nA[0:4] = x").startswith(
        'x: T.let[T.float32x4] = T.Broadcast(T.Cast("float32", i), 4)'
    )
    assert refusal("x: T.int32x4 = T.Ramp(i, 1, 8)") == "x has type int32x4, its value int32x8"


def test_branches_have_scalars_of_their_own() -> None:
    assert lines("if i > 0:\n    x = i + 1\n    J[x] = 0\nelse:\n    x = l\n    J[x] = 1") == (
        "if i > 0:\n    x: T.let[T.int32] = i + 1\n    J[x] = 0\nelse:\n    x: T.let[T.int64] = l\n    J[x] = 1"
    )


def test_the_memory_of_a_scalar_is_its_source() -> None:
    assert lines("x: T.float32 = 1.0\nwith T.sblock():\n    T.reads(x.source[0])\n    A[0] = x").splitlines()[2:] == [
        'with T.sblock(""):', "    T.reads(x[0])", "    A[0] = x[0]"
    ]  # fmt: skip
    assert refusal("T.evaluate(i.source)") == "an expression of type int32 has no attribute source"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("O = 1.0\nA[1] = O[0]", "O[0] = T.float32(1.0)\nA[1] = O[0]"),
        ("O = A[0]\nif O > 0.0:\n    O = O * 2.0", "O[0] = A[0]\nif O[0] > T.float32(0.0):\n"
         "    O[0] = O[0] * T.float32(2.0)"),
        ("O += A[0]", "O[0] = O[0] + A[0]"),
        ("x: T.let[T.float32] = O\nO = 2.0\nA[0] = x",
         "x: T.let[T.float32] = O[0]\nO[0] = T.float32(2.0)\nA[0] = x"),
        ("A[0] = O.source[0]\nT.call_extern('int32', 'f', O.source.data)",
         'A[0] = O[0]\nT.call_extern("int32", "f", O.data)'),
        ("s: T.f32\ns = A[0]\nA[1] = s",
         's = T.alloc_buffer((1,), "float32", scope="local")\ns[0] = A[0]\nA[1] = s[0]'),
        ("s = T.shared_scalar('int32')\ns = i\nJ[s] = 0",
         's = T.alloc_buffer((1,), "int32", scope="shared")\ns[0] = i\nJ[s[0]] = 0'),
        ("s = T.alloc_scalar('int32')\ns = i", 's = T.alloc_buffer((1,), "int32")\ns[0] = i'),
        ("s = T.decl_scalar('float32', A.data, 'global', elem_offset=3)\ns = s + 1.0",
         's = T.decl_buffer((1,), "float32", data=A.data, elem_offset=3)\ns[0] = s[0] + T.float32(1.0)'),
    ],
)  # fmt: skip
def test_the_name_of_a_buffer_of_one_element_is_its_element(text: str, meant: str) -> None:
    declared = "O = T.alloc_buffer((1,), 'float32')\n" if "O" in text else ""
    assert lines(declared + text).removeprefix('O = T.alloc_buffer((1,), "float32")\n') == meant


def test_other_buffers_are_not_assigned_to() -> None:
    assert refusal("A = 1.0") == "A is a buffer; its elements are stored to by A[…] = …"
    assert refusal("A[0] = A") == "the buffer A is used where a number is needed"
    assert refusal("T.evaluate(A.source)") == "the buffer A has no attribute source"
    assert "scope global, not to shared" in refusal("s = T.decl_scalar('float32', A.data, 'shared')")


# -- break, continue, return ------------------------------------------------------------------------------------------


LEAVING = [
    ("for j in range(8):\n    if A[j] < 0.0:\n        break\n    A[j] = 1.0",
     """left = T.alloc_buffer((), "bool")
left[()] = T.bool(False)
for j in range(8):
    if not left[()]:
        if A[j] < T.float32(0.0):
            left[()] = T.bool(True)
        else:
            A[j] = T.float32(1.0)"""),
    ("for j in T.parallel(8):\n    if A[j] < 0.0:\n        continue\n    A[j] = 1.0",
     """for j in T.parallel(8):
    if A[j] < T.float32(0.0):
        pass
    else:
        A[j] = T.float32(1.0)"""),
    ("for k, j in T.grid(4, 8):\n    B[k, j] = 1.0\n    if A[j] < 0.0:\n        T.evaluate(T.break_loop())",
     """for k in range(4):
    left = T.alloc_buffer((), "bool")
    left[()] = T.bool(False)
    for j in range(8):
        if not left[()]:
            B[k, j] = T.float32(1.0)
            if A[j] < T.float32(0.0):
                left[()] = T.bool(True)"""),
    ("while A[0] > 0.0:\n    if i > 2:\n        A[1] = 1.0\n        if i > 3:\n            T.continue_loop()\n"
     "        elif i > 5:\n            break\n    A[0] = A[0] - 1.0",
     """left = T.alloc_buffer((), "bool")
left[()] = T.bool(False)
while not left[()] and A[0] > T.float32(0.0):
    skipped = T.alloc_buffer((), "bool")
    skipped[()] = T.bool(False)
    if i > 2:
        A[1] = T.float32(1.0)
        if i > 3:
            skipped[()] = T.bool(True)
        elif i > 5:
            left[()] = T.bool(True)
    if not skipped[()] and not left[()]:
        A[0] = A[0] - T.float32(1.0)"""),
    ("for j in range(8):\n    if A[j] < 0.0:\n        return\n    A[j] = 1.0\nB[0, 0] = 1.0",
     """returned = T.alloc_buffer((), "bool")
returned[()] = T.bool(False)
for j in range(8):
    if not returned[()]:
        if A[j] < T.float32(0.0):
            returned[()] = T.bool(True)
        else:
            A[j] = T.float32(1.0)
if not returned[()]:
    B[0, 0] = T.float32(1.0)"""),
    ("for b in T.thread_binding(4, 'blockIdx.x'):\n    for t in T.thread_binding(8, 'threadIdx.x'):\n"
     "        if b > t:\n            T.thread_return()\n        B[b, t] = 1.0",
     """for b in T.thread_binding(4, thread="blockIdx.x"):
    for t in T.thread_binding(8, thread="threadIdx.x"):
        if b > t:
            pass
        else:
            B[b, t] = T.float32(1.0)"""),
    ("if i > 0:\n    return 1\nA[0] = 1.0\nT.Return(2)",
     "if i > 0:\n    return 1\nelse:\n    A[0] = T.float32(1.0)\n    return 2"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), LEAVING)
def test_leaving_early_is_written_with_branches_and_flags(text: str, meant: str) -> None:
    assert "\n".join(body_lines_of(text)) == meant


def body_lines_of(text: str) -> list[str]:
    return lines(text).splitlines()


def test_flags_have_names_of_their_own() -> None:
    assert body_lines("left: T.let = n + 1", "for i in range(4):", "    B[i] = left", "    if B[i] > n:",
                      "        break")[1] == 'left_1 = T.alloc_buffer((), "bool")'  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for j in T.parallel(8):\n    if A[j] < 0.0:\n        break", "only a serial loop can be left by break"),
        ("for j in T.thread_binding(8, 'threadIdx.x'):\n    if i > j:\n        return", "can be left by return"),
        ("for j in range(8):\n    if i > j:\n        return 1", "a return with a value inside a loop"),
        ("for t in T.thread_binding(8, 'threadIdx.x'):\n    if i > t:\n        T.thread_return()\n"
         "    A[t] = 1.0\nA[0] = 0.0",
         "T.thread_return() has no meaning here unless"),
        ("for t in T.thread_binding(8, 'threadIdx.x'):\n    for k in range(4):\n        if i > t:\n"
         "            T.thread_return()\n        A[t] = 1.0", "T.thread_return() has no meaning here unless"),
        ("for t in T.thread_binding(8, 'threadIdx.x'):\n    for k in T.thread_binding(4, 'threadIdx.y'):\n"
         "        T.thread_return()\n    A[t] = 1.0", "T.thread_return() has no meaning here unless"),
        ("for k in T.grid(2, 4):\n    if i > 0:\n        break", "write this T.grid as nested loops"),
        ("if i > 0:\n    T.continue_loop()", "there is no loop around it"),
        ("tx = T.launch_thread('threadIdx.x', 8)\nfor j in range(4):\n    if i > tx:\n        return\n    A[tx] = 1.0",
         "a thread returns for itself only"),
    ],
)  # fmt: skip
def test_what_cannot_be_left_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


# -- reducers, targets, attributes ------------------------------------------------------------------------------------


def test_a_reducer_belongs_to_the_call_below_it() -> None:
    text = (
        "with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), 'reduce_scope', "
        "T.reinterpret('handle', T.uint64(0))):\n"
        "    T.tvm_thread_allreduce(T.uint32(1), A[0], True, A[1], i)"
    )
    assert lines(text) == (
        'with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0.0)]), "reduce_scope", '
        "T.reinterpret(T.handle().ty, T.uint64(0))):\n"
        "    T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), A[1], i)"
    )
    other = text.replace("a + b", "a * b")
    inside = [parse_func(program(t)).body for t in (text, other)]
    calls = [s.body for s in inside if hasattr(s, "body")]
    assert not structural_equal(*calls)  # what the call does depends on the reducer
    assert not structural_equal(calls[0], parse_func(program(text.splitlines()[1].strip())).body)


def test_a_reducer_of_tuples() -> None:
    text = (
        "T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)), "
        "[T.int32(-1), T.min_value('float32')]), 'reduce_scope', 0)\n"
        "T.evaluate(0)"
    )
    assert lines(text).splitlines()[0] == (
        "with T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)), "
        '[-1, T.float32(-3.4028234663852886e+38)]), "reduce_scope", 0):'
    )


REDUCER = "T.attr(T.comm_reducer({}, {}), 'reduce_scope', 0)"


@pytest.mark.parametrize(
    ("combine", "identities", "message"),
    [
        ("lambda x, y: x + y", "[T.float32(0), T.float32(0)]", "takes two variables for each of the 2 identities"),
        ("lambda x, y: (x, y)", "[T.float32(0)]", "the lambda gives 1 values"),
        ("lambda x, y: x < y", "[T.float32(0)]", "the reducer gives bool where its identity is float32"),
        ("lambda x, y: x + A[0]", "[T.float32(0)]", "is no variable of the reducer"),
        ("lambda x, y: x + y", "[A[0]]", "an identity element of a reducer is a constant"),
        ("A", "[T.float32(0)]", "T.comm_reducer takes a lambda"),
    ],
)
def test_nonsensical_reducers(combine: str, identities: str, message: str) -> None:
    assert message in refusal(REDUCER.format(combine, identities))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("T.target('cuda')", 'T.target("cuda")'),
        ("T.target('cuda', host='llvm')", 'T.target("cuda", host="llvm")'),
        ("T.target('cuda', {'kind': 'llvm'})", 'T.target("cuda", host={"kind": "llvm"})'),
        ("tvm.target.Target('llvm')", 'T.target("llvm")'),
        ("T.target({'kind': 'cuda', 'host': T.target({'kind': 'llvm'})})",
         'T.target({"kind": "cuda", "host": {"kind": "llvm"}})'),
    ],
)  # fmt: skip
def test_targets(text: str, meant: str) -> None:
    assert lines(f"T.func_attr({{'target': {text}}})\nT.evaluate(0)").splitlines()[0] == (
        f'T.func_attr({{"target": {meant}}})'
    )
    assert lines(f"T.attr({text}, 'target', 0)\nT.evaluate(0)").splitlines()[0] == (
        f'with T.attr({meant}, "target", 0):'
    )
    assert "a target is a string or a dictionary" in refusal("T.func_attr({'target': T.target(i)})")
    assert "takes a string or a dictionary" in refusal("T.func_attr({'target': T.target('cuda', keys=[])})")


def test_a_buffer_in_an_annotation() -> None:
    text = 'with T.sblock("root"):\n    T.sblock_attr({"layout_free_placeholders": [A, B]})\n    A[0] = T.float32(1.0)'
    assert lines(text) == text
    assert "unknown name Z" in refusal(text.replace("[A, B]", "[Z]"))


def test_attributes_that_launch_threads() -> None:
    launched = 'for tx in T.thread_binding(8, thread="threadIdx.x"):\n    A[tx] = T.float32(0.0)'
    assert lines("tx = T.env_thread('threadIdx.x')\nT.attr(tx, 'thread_extent', 8)\nA[tx] = 0.0") == launched
    axis = "tx = T.int32()\nT.attr(T.iter_var(tx, T.Range(0, 8), 'ThreadIndex', 'threadIdx.x'), 'thread_extent', 8)\n"
    assert lines(axis + "A[tx] = 0.0") == launched
    assert "runs from 0 to the extent" in refusal(axis.replace("(0, 8)", "(0, 7)") + "A[tx] = 0.0")
    assert "a thread is an axis" in refusal(axis.replace("ThreadIndex", "DataPar") + "A[tx] = 0.0")


# -- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A[0] = T.if_then_else(i > 0, A[1], 0.0, dtype='float32')",
         "A[0] = T.if_then_else(i > 0, A[1], T.float32(0.0))"),
        ("J[0] = T.shift_left(1, i, dtype='int32')", "J[0] = 1 << i"),
        ("T.call_extern('f', A.data, dtype='')", 'T.call_extern("void", "f", A.data)'),
        ("T.call_extern(T.handle('int32').ty, 'f')", 'T.call_extern(T.handle().ty, "f")'),
        ("T.evaluate(A.access_ptr('rw'))",
         'T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 8, 3)'),
        ("T.evaluate(B.access_ptr('r', offset=8, extent=i))",
         'T.tvm_access_ptr(T.type_annotation("float32"), B.data, 8, i, 1)'),
        ("T.evaluate(T.address_of(B))", "T.address_of(B[0, 0])"),
        ("A[0] = T.tvm_warp_shuffle(T.uint32(1), A[1], 0, 32, 32)",
         "A[0] = T.tvm_warp_shuffle(T.uint32(1), A[1], 0, 32, 32)"),
        ("if T.tvm_thread_invariant(i > 1):\n    A[0] = 0.0",
         "if T.tvm_thread_invariant(i > 1):\n    A[0] = T.float32(0.0)"),
        ("assert not T.isnullptr(h), 'null'", 'assert not T.isnullptr(h), "null"'),
        ("J[0] = T.tvm_struct_get(h, 0, 5, 'int32')", 'J[0] = T.tvm_struct_get(h, 0, 5, "int32")'),
        ("T.evaluate(T.Call('tirx.prefetch', [T.address_of(A[0]), 0], ret_ty='void'))",
         'T.Call("tirx.prefetch", [T.address_of(A[0]), 0], ret_ty="void")'),
        ("T.evaluate(T.tvm_stack_make_shape(*B.shape, len(B.shape)))", "T.tvm_stack_make_shape(4, 8, 2)"),
        ("J[0] = T.vscale()", "J[0] = T.vscale()"),
        ("C[0:4] = C.vload([4], 'int8x4')", "C[0:4] = C[T.Ramp(4, 1, 4)]"),
        ("D = T.decl_buffer((4,), data=T.address_of(B[1, 2]), elem_offset=1)\nD[0] = 0.0",
         "D = T.decl_buffer((4,), \"float32\", data=B.data, elem_offset=11)\nD[0] = T.float32(0.0)"),
        ("for k in range(4, annotations={'a': 1}):\n    A[k] = 0.0",
         'for k in T.serial(4, annotations={"a": 1}):\n    A[k] = T.float32(0.0)'),
        ("for k in T.grid(4, 8):\n    with T.sblock('b'):\n        x, y = T.axis.remap('SS', k)\n"
         "        B[x, y] = k[0]",
         'for k_0, k_1 in T.grid(4, 8):\n    with T.sblock("b"):\n        x, y = T.axis.remap("SS", [k_0, k_1])\n'
         '        B[x, y] = T.Cast("float32", k_0)'),
        ("x = T.int32()\nT.bind(42, var=x)\nJ[x] = 0", "x: T.let[T.int32] = 42\nJ[x] = 0"),
        ("P[0] = P[1] == tvm.tirx.const(True, 'bool')", "P[0] = P[1] == T.bool(True)"),
        ("A[0] = A[T.undef()]", 'A[0] = A[T.undef(dtype="int32")]'),
    ],
)  # fmt: skip
def test_calls(text: str, meant: str) -> None:
    assert lines(text) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A[0] = T.if_then_else(i > 0, A[1], 0.0, dtype='float16')",
         "T.if_then_else has type float32 here, not float16"),
        ("T.evaluate(A.access_ptr('x'))", 'an access is "r", "w" or "rw"'),
        ("T.evaluate(A.access_ptr('r', content_lanes=4))", "a pointer to vectors cannot be represented"),
        ("A[0] = T.tvm_warp_shufle(T.uint32(1), A[1], 0, 32, 32)", "T.tvm_warp_shufle is unknown"),
        ("T.evaluate(T.Call('tirx.exp', [A[0]], ret_ty='float32'))", "write T.exp(…) instead"),
        ("J[0] = T.Call('tirx.foo', [A[0]])", "the type of what foo returns is not stated"),
        ("T.evaluate(T.tvm_stack_make_shape(*i))", "only a tuple or a shape can be starred"),
        ("C[0:4] = C.vload([4], 'uint8x4')", "the access has type int8x4"),
        ("D = T.decl_buffer((4,), 'int32', data=T.address_of(A[2]))", "the address is one of float32, not of int32"),
        ("for k in T.grid(4, 8):\n    T.evaluate(k)", "a tuple"),
        ("x = T.Cast('float8_e4m3fn', A[0])", "values of float8_e4m3fn have no meaning here; convert them"),
        ("x = T.alloc_buffer((4,), 'int4')", "values of int4 have no meaning here; convert them"),
    ],
)  # fmt: skip
def test_calls_that_mean_nothing(text: str, message: str) -> None:
    assert message in refusal(text)


def test_a_pointer_to_anything_is_a_handle() -> None:
    for kind in ("T.handle('')", "T.handle('void')", "T.handle()"):
        assert lines(f"x: T.let[{kind}] = T.tvm_stack_alloca('array', 1)\nT.evaluate(x)").startswith(
            'x: T.let[T.handle] = T.tvm_stack_alloca("array", 1)'
        )
    assert lines("x: T.let = T.handle_add_byte_offset(A.data, 8)\nT.evaluate(x)").startswith("x: T.let[T.handle] =")
    assert refusal("x: T.let[T.int32] = T.tvm_stack_alloca('array', 1)") == "x has type int32, its value handle"


@pytest.mark.parametrize(
    "text",
    [
        "x: T.let[T.handle] = T.tvm_struct_get(h, 0, 12, T.handle().ty)\nT.evaluate(x)",
        'x: T.let[T.handle("int64")] = T.tvm_struct_get(h, 0, 2, T.handle("int64").ty)\n'
        'D = T.decl_buffer((4,), "int64", data=x)\nD[0] = T.int64(0)',
        'x: T.let[T.handle("float32", "shared")] = T.call_extern(T.handle("float32", "shared").ty, "f")\nT.evaluate(x)',
        "x: T.let = T.Ramp(0, 1, 2)\nA[x] = A[x]",
        "x: T.let[T.int32x4] = T.Ramp(0, 1, 4)\nA[x] = A[x]",
        'p = T.handle("float32")\nD = T.decl_buffer((4,), "float32", data=p)\nD[0] = T.float32(0.0)',
    ],
)
def test_types_are_printed_so_that_tvm_reads_them(text: str) -> None:
    assert lines(text) == text


# -- scalable vectors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A[T.Ramp(i, 2, T.vscale() * 4)] = 1.0", "A[i + lane * 2] = T.float32(1.0)"),
        ("A[0 : T.vscale() * 4] = A[T.Ramp(0, 1, 4 * T.vscale())] * T.Broadcast(i, T.vscale() * 4)",
         'A[lane] = A[lane] * T.Cast("float32", i)'),
        ("A[i : i + T.vscale() * 8 : 2] = B[0, T.Ramp(0, 1, T.vscale() * 4)] + 1.0",
         "A[i + lane * 2] = B[0, lane] + T.float32(1.0)"),
        ("A[0 : 4 * T.vscale()] = T.Cast('float32xvscalex4', H[0 : 4 * T.vscale()])",
         'A[lane] = T.Cast("float32", H[lane])'),
        ("L[T.Ramp(l, 1, 4 * T.vscale())] = T.Ramp(i, 1, 4 * T.vscale())",
         'L[l + T.Cast("int64", lane)] = T.Cast("int64", i + lane)'),
    ],
)  # fmt: skip
def test_a_store_of_a_scalable_vector_is_a_loop_over_its_lanes(text: str, meant: str) -> None:
    assert lines(text) == f"for lane in T.vectorized(T.vscale() * 4):\n    {meant}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A[0 : T.vscale() * 4] = A[1 : 1 + T.vscale() * 4]", "a lane of this scalable vector might read"),
        ("V = T.decl_buffer((4, 2), data=A.data)\nA[0 : T.vscale() * 4] = V[0, 0 : T.vscale() * 4]", "a lane of this"),
        (
            "q: T.let[T.handle('float32')] = A.data\nV = T.decl_buffer((8,), data=q)\n"
            "A[0 : T.vscale() * 4] = V[0 : T.vscale() * 4]",
            "a lane of this scalable vector might read",
        ),
        ("A[0 : T.vscale() * 4] = B[0, T.Ramp(0, 1, T.vscale() * 2)]", "2 * T.vscale() lanes are combined with 4"),
        ("A[0 : T.vscale() * 4] = B[0, T.Ramp(0, 1, 4)]", "a value of type float32x4 is stored"),
        ("A[0] = B[0, T.Ramp(0, 1, T.vscale() * 4)]", "its index has no lanes"),
        ("A[0 : T.vscale() * 4] = T.call_extern('float32', 'f')", "would be called for each lane"),
        ("A[0 : T.vscale() * 3 : 2] = 1.0", "the number of lanes of this slice is not constant"),
        ("A[T.Ramp(0, 1, T.vscale() + 4)] = 1.0", "neither a constant nor a constant times T.vscale()"),
        ("x = A[T.Ramp(0, 1, T.vscale() * 4)]", "scalable vectors are only supported in a store"),
        ("x = T.alloc_buffer((4,), 'float32xvscalex4')", "float32xvscalex4: scalable vectors are not supported"),
    ],
)
def test_other_scalable_vectors_are_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_modules_with_python_functions() -> None:
    text = "@I.ir_module\nclass M(BasePyModule):\n    @T.prim_func\n    def f(): T.evaluate(0)"
    assert [name for name, _ in parse(text).functions] == ["f"]
    with pytest.raises(ScriptError, match="no bases"):
        parse(text.replace("BasePyModule", "Base"))


def test_a_symbol_of_an_inner_scope_is_another_one() -> None:
    text = "s = T.int32()\nfor k in range(2):\n    with T.sblock():\n        s = T.int32()\n" + (
        "        M = T.match_buffer(B[0:2, 0:4], (2, 4), strides=[s, 1])\n        M[0, 0] = A[s - 8]"
    )
    assert lines(text).splitlines()[-1].strip() == "M[0, 0] = A[0]"
    assert "this cannot be shown to be the stride" in refusal(text.replace("[s, 1]", "[s, s]"))
