"""A function on some arguments becomes an opaque call that is believed to do the same."""

from __future__ import annotations

from tests.kernel.programs import accepted, body_of, buffer, program, refused
from tests.kernel.rules.test_call import AB, DOUBLE
from verified_tir.derivation.assumptions import axiom_of
from verified_tir.ir.dtype import HANDLE, INT32
from verified_tir.ir.expr import Call, Expr, LetExpr, Select, StringImm, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import DeclBuffer, Evaluate, LetStmt
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.rules.call import Implement

EXTERN = """
@T.prim_func
def fast(x: T.handle, Y: T.Buffer((4,), "float32")):
    s = T.int32()
    o = T.int32()
    X = T.match_buffer(x, (4,), "float32", strides=[s], elem_offset=o)
    T.evaluate(T.call_extern("int32", "fast_double", X.data, o, s, T.address_of(Y[0])))
"""
RAW = """
@T.prim_func
def fast(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    T.evaluate(T.call_extern("int32", "fast_double", X.data, T.address_of(Y[0])))
"""


def implement(f: PrimFunc, implementation: PrimFunc, *names: str, **values: Expr) -> Implement:
    func = parse_func(DOUBLE)
    buffers = tuple(buffer(f, n) for n in names)
    given = tuple((v, values[v.name]) for v in scalars_of(implementation))
    return Implement((0,), func, implementation, Arguments(buffers), given)


def test_an_opaque_implementation_is_an_axiom() -> None:
    text = "v = T.decl_buffer((4,), 'float32', data=A.data, strides=[2], elem_offset=1)\n"
    text += "for i in range(4):\n    B[i] = v[i] * T.float32(2)"
    f = program(text, AB.replace("A: T.Buffer((4,)", "A: T.Buffer((8,)"))
    impl = parse_func(EXTERN)
    rule = implement(f, impl, "v", "B", s=const(2), o=const(1))
    assert axiom_of(rule) == "fast does what double describes"
    assert 'T.call_extern("int32", "fast_double", A.data, 1, 2' in body_of(accepted(f, rule))
    refused(
        f,
        implement(f, impl, "v", "B", s=const(1), o=const(1)),
        "v, passed for X of fast: its strides are the parameter's (Refuted)",
    )
    refused(
        f,
        implement(f, impl, "v", "B", s=const(2), o=const(0)),
        "v, passed for X of fast: it starts where the parameter does (Refuted)",
    )
    strides = EXTERN.replace("    o = T.int32()\n", "").replace(", elem_offset=o", "").replace("o, s", "s")
    v_of_x = "X of fast is known by its pointer, and v is not a whole block"
    refused(f, implement(f, parse_func(strides), "v", "B", s=const(2)), v_of_x)
    offset = EXTERN.replace("    s = T.int32()\n", "").replace("strides=[s], ", "").replace("o, s", "o")
    row_major = "v, passed for X of fast: its strides are the parameter's (Refuted)"
    refused(f, implement(f, parse_func(offset), "v", "B", o=const(1)), row_major)
    turned = parse_func(RAW.replace("X.data", "T.address_of(X[0])"))
    refused(f, implement(f, turned, "v", "B"), "v, passed for X of fast: its strides are the parameter's (Refuted)")
    refused(f, implement(f, parse_func(RAW), "v", "B"), "X of fast is known by its pointer, and v is not a whole block")
    plain = parse_func(DOUBLE.replace("def double", "def other"))
    refused(f, implement(f, plain, "v", "B"), "other makes no opaque call: that it does what double does can be proved")


def test_a_function_that_is_not_a_program_describes_and_implements_nothing() -> None:
    """It mentions a view that is the caller's: whether its elements are among the arguments, nobody asked."""
    text = "v = T.decl_buffer((4,), 'float32', data=A.data)\nfor i in range(4):\n    B[i] = v[i] * T.float32(2)"
    f = program(text, AB)
    described, opaque = parse_func(DOUBLE), parse_func(RAW)
    declared = f.body
    assert isinstance(declared, DeclBuffer)
    borrowed = described.with_body(substitute_buffers(described.body, {described.buffers[0]: declared.buffer}))
    given = Arguments((buffer(f, "v"), buffer(f, "B")))
    refused(f, Implement((0,), borrowed, opaque, given, ()), "double is not a program: buffer v is not declared here")
    call = Evaluate(Call(INT32, "call_extern", (StringImm("g"), Call(HANDLE, "address_of", (declared.buffer[0],)))))
    wrong = opaque.with_body(call)
    refused(f, Implement((0,), described, wrong, given, ()), "fast is not a program: buffer v is not declared here")


def test_a_pointer_may_have_another_name() -> None:
    """The function gets where v's block begins, and not where v does."""
    text = "v = T.decl_buffer((4,), 'float32', data=A.data, elem_offset=1)\n"
    text += "for i in range(4):\n    B[i] = v[i] * T.float32(2)"
    f = program(text, AB.replace("A: T.Buffer((4,)", "A: T.Buffer((8,)"))
    raw = parse_func(RAW)
    x, p = raw.buffers[0].data, Var.fresh("p", HANDLE)

    def called(argument: Expr) -> Call:
        return Call(INT32, "call_extern", (StringImm("fast"), argument))

    for body in (
        Evaluate(called(x)),
        LetStmt(p, x, Evaluate(called(p))),
        Evaluate(LetExpr(p, x, called(p))),
        Evaluate(called(Select(binary("lt", const(0), const(1)), x, x))),
    ):
        why = "X of fast is known by its pointer, and v is not a whole block"
        refused(f, implement(f, raw.with_body(body), "v", "B"), why)
