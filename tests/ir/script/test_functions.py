"""Signatures, symbols, constants and modules."""

from __future__ import annotations

import pytest

from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType, PointerType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Call, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError, parse, parse_func, script
from verified_tir.ir.stmt import SKIP, Evaluate
from verified_tir.ir.sugar import const

ROW_SUM = """
@T.prim_func
def f({params}):
    {match}
    for i in range(16):
        B[i] = A[i, 0]
"""


def row_sum(params: str, *match: str) -> PrimFunc:
    return parse_func(ROW_SUM.format(params=params, match="\n    ".join(match) or "pass"))


def test_all_ways_to_declare_a_parameter_are_one_program() -> None:
    first = row_sum('A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")')
    assert first.params[0].type is HANDLE
    others = [
        row_sum('A: T.Buffer[(16, 14), "float32"], B: T.Buffer[16, "float32"]'),
        row_sum("A: T.Buffer((16, 14)), B: T.Buffer(16)"),
        row_sum("a: T.handle, b: T.handle", "A = T.match_buffer(a, (16, 14))", "B = T.match_buffer(b, [16])"),
        row_sum(
            "a: T.handle, b: T.handle", 'A = T.match_buffer(shape=(16, 14), dtype="float32")',
            'B = T.match_buffer(shape=(16,), dtype="float32")',
        ),
        row_sum("b: T.handle, a: T.handle", "A = T.match_buffer(b, (16, 14))", "B = T.match_buffer(a, 16)"),
    ]  # fmt: skip
    for other in others:
        assert structural_equal(first, other)


def test_layouts_of_parameters() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 4), "int8", strides=(8, 1), elem_offset=2, scope="shared", axis_separators=[1], align=64),
      B: T.Buffer((4,), "float32x4", offset_factor=1)):
    pass
"""
    a, b = parse_func(text).buffers
    assert a.strides == (const(8), const(1))
    assert a.elem_offset is const(2)
    assert (a.scope, a.axis_separators) == ("shared", (1,))
    assert a.data.type is PointerType(DType("int", 8), "shared")
    assert b.dtype is DType("float", 32, 4)


def test_scalar_and_pointer_parameters() -> None:
    func = parse_func(
        '@T.prim_func\ndef f(n: T.int64, x: T.float16, p: T.handle("int8"), q: T.handle, b: "bool"):\n    pass'
    )
    assert [str(p.type) for p in func.params] == ["int64", "float16", "int8*", "handle", "bool"]
    assert func.buffer_map == ()


@pytest.mark.parametrize(
    ("text", "dtype", "is_param"),
    [
        ('def f(n: T.int32, A: T.Buffer((n,), "int8")):', INT32, True),
        ('def f(A: T.Buffer((n,), "int8"), n: T.int64):', INT64, True),
        ('def f(A: T.Buffer(("n",), "int8"), n: T.int64):', INT64, True),
        ('def f(A: T.Buffer(("n",), "int8")):', INT32, False),
        ('def f(A: T.Buffer(("n",), "int8"), B: T.Buffer((n,), "int8")):', INT32, False),
        ('def f(A: T.Buffer(("n",), "int8")):\n    n = T.int64()', INT64, False),
        ("def f(a: T.handle):\n    n = T.int64()\n    A = T.match_buffer(a, (n,), 'int8')", INT64, False),
        ("def f(a: T.handle):\n    n, m = T.int64(), T.int8()\n    A = T.match_buffer(a, (n,), 'int8')", INT64, False),
        (
            "def f(a: T.handle):\n    n = T.var('int16')\n    A = T.match_buffer(a, (n,), 'int8')",
            DType("int", 16),
            False,
        ),
        ("def f(a: T.handle, n: T.int32):\n    A = T.match_buffer(a, (n,), 'int8')", INT32, True),
        ("def f(a: T.handle):\n    A = T.match_buffer(a, ('n',), 'int8')", INT32, False),
    ],
)
def test_symbols(text: str, dtype: DType, is_param: bool) -> None:
    func = parse_func(f"@T.prim_func\n{text}\n    T.evaluate(n)")
    (extent,) = func.buffers[0].shape
    assert isinstance(extent, Var)
    assert extent.dtype is dtype
    assert (extent in func.params) is is_param
    # the body means the same variable
    assert isinstance(func.body, Evaluate)
    assert func.body.value is extent
    assert structural_equal(parse_func(script(func)), func)


def test_type_variables_are_int64_and_belong_to_each_function() -> None:
    module = parse("""
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((n,), "int8"), B: T.Buffer(("n * T.int64(2)",), "int8")):
        T.evaluate(n)
    @T.prim_func
    def g(A: T.Buffer((n,), "int8")):
        pass
    @T.prim_func
    def h(A: T.Buffer((n,), "int8"), n: T.int32):
        pass
""")
    extents = [module[name].buffers[0].shape[0] for name in "fgh"]
    assert [e.dtype for e in extents] == [INT64, INT64, INT32]
    assert extents[0] is not extents[1]


def test_constants_outside_functions() -> None:
    func = parse_func(
        'N = 4\nM = N * 2\nx = 0.5\n@T.prim_func\ndef f(A: T.Buffer((N, M), "float32")):\n    A[0, N - 1] = x'
    )
    assert func.buffers[0].shape == (const(4), const(8))


def test_aliases_of_the_namespace() -> None:
    for imported in (
        "from tvm.script import tir as K",
        "from verified_tir.script import tir as K",
        "import tvm.tirx as K",
    ):
        func = parse_func(f"{imported}\n@K.prim_func\ndef f(A: K.Buffer((4,))):\n    A[0] = K.exp(A[1])")
        assert len(func.buffers) == 1


def test_attributes_and_options() -> None:
    func = parse_func("""
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((4,))):
    T.func_attr({"global_symbol": "main", "tir.noalias": True, "list": [1, 2.5, ["x"]]})
    T.func_attr({"target": T.target({"kind": "llvm", "keys": ["cpu"], "deep": {"n": 1}}), "more": False})
""")
    assert func.attrs[:3] == (("global_symbol", "main"), ("tir.noalias", True), ("list", (1, 2.5, ("x",))))
    assert func.attrs[4] == ("more", False)
    assert 'T.target({"kind": "llvm", "keys": ["cpu"], "deep": {"n": 1}})' in script(func)
    assert structural_equal(func, parse_func(script(func)))


def test_one_function_of_several() -> None:
    text = "@T.prim_func\ndef f(n: T.int32):\n    pass\n@T.prim_func\ndef g(m: T.int64):\n    pass"
    assert parse_func(text, name="g").params[0].name == "m"
    with pytest.raises(ScriptError, match="the text has 2"):
        parse_func(text)
    with pytest.raises(ScriptError, match="no function h; it has f, g"):
        parse_func(text, name="h")


@pytest.mark.parametrize("call", ["g(A, 3)", "Module.g(A.data, 3)", "cls.g(A, 3)"])
def test_calls_between_functions(call: str) -> None:
    text = f"""
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,))):
        {call}
    @T.prim_func
    def g(A: T.Buffer((4,)), n: T.int32) -> T.int32:
        Module.g(A.data, n)
        return n
"""
    module = parse(text)
    match module["f"].body:
        case Evaluate(value=Call(op="@g", type=t, args=(Var() as data, IntImm(value=3)))):
            assert data is module["f"].buffers[0].data
            assert t is INT32
        case other:
            pytest.fail(str(other))
    assert structural_equal(module, parse(script(module)))


def test_modules() -> None:
    assert parse("").functions == ()
    assert parse(script(parse(""))).functions == ()
    text = """
'a docstring'
import os

@tvm.script.ir_module
class M:
    I.module_attrs({"a": 1})
    @T.prim_func
    def f():
        pass
"""
    assert parse(text)["f"].body is SKIP


MATCHED = "@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(): pass", "lacks @T.prim_func"),
        ("class A: pass", "lacks @I.ir_module"),
        ("print(3)", "has no meaning outside a function"),
        ("x = [1]", "only numbers and strings"),
        ("@T.prim_func\ndef f(A): pass", "needs a type"),
        ("@T.prim_func\ndef f(A: T.foo): pass", "T.foo is not a value"),
        ("@T.prim_func\ndef f(A: int): pass", "unknown name int"),
        ("@T.prim_func\ndef f(A: T.int32 = 3): pass", "no default"),
        ("@T.prim_func\ndef f(*A: T.int32): pass", "positional parameters only"),
        ("@T.prim_func\ndef f(n: T.int32, n: T.int32): pass", "n is a parameter already"),
        ("@T.prim_func\ndef f(A: T.Buffer((k,))): pass", "unknown name k"),
        ("@T.prim_func\ndef f(A: T.Buffer(('k +',))): pass", "is not an expression"),
        ("@T.prim_func\ndef f(A: T.Buffer()): pass", "the argument shape is missing"),
        ("@T.prim_func\ndef f(A: T.Buffer((4,), strides=(1, 1))): pass", "1 dimensions and 2 strides"),
        ("@T.prim_func\ndef f(A: T.Buffer((4,), layout='x')): pass", "a layout other than the default"),
        ("@T.prim_func\ndef f(A: T.Buffer((4,), byte_offset=4)): pass", "byte_offset cannot be represented"),
        (f"{MATCHED}(a, (4,))\n    B = T.match_buffer(a, (4,))", "has its buffer already"),
        (f"{MATCHED}(shape=(4,))\n    B = T.match_buffer(shape=(4,))", "every handle"),
        ("@T.prim_func\ndef f(n: T.int32):\n    A = T.match_buffer(n, (4,))", "n is not a handle"),
        ("@T.prim_func\ndef f(A: T.Buffer(('n',))):\n    n = T.int64()\n    n = T.int32()", "of type int64 already"),
        ("@T.prim_func\ndef f(): pass\n@T.prim_func\ndef f(): pass", "defined twice"),
        ("@T.prim_func\ndef f() -> 3: pass", "a dtype is needed"),
        ("@T.prim_func\ndef f(x: T.float8): pass", "there is no float of 8 bits"),
        ("@T.prim_func\ndef f(x: T.float32xvscalex4): pass", "scalable vectors"),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert message in caught.value.message


def test_a_parameter_with_an_offset_factor_begins_at_a_symbol() -> None:
    """As in TVM: it says only by what the offset can be divided."""
    text = "@T.prim_func\ndef f({}):\n    A[0] = T.float32(1)\n"
    func = parse_func(text.format('A: T.Buffer((8,), "float32", offset_factor=2)'))
    (a,) = func.buffers
    assert isinstance(a.elem_offset, Var) and a.elem_offset.name == "A_elem_offset"
    for given in ("offset_factor=0", "elem_offset=0, offset_factor=2"):
        (a,) = parse_func(text.format(f'A: T.Buffer((8,), "float32", {given})')).buffers
        assert isinstance(a.elem_offset, IntImm)
