"""Contraction: the user says that a product which is added is not rounded; the theorem is about that program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir.codegen.build import build
from verified_tir.elaborate.contraction import contracted, contracted_buffers
from verified_tir.graph import GraphBuilder
from verified_tir.graph.execute import build as build_graph
from verified_tir.graph.execute import evaluate
from verified_tir.graph.program import program_of
from verified_tir.ir.expr import Call
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule.errors import Refuted
from verified_tir.schedule.registry import schedule
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.spelling import WrongCall
from verified_tir.semantics.interpreter import run

HEAD = """
@T.prim_func
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"),
      C: T.Buffer((1,), "float32"), D: T.Buffer((1,), "float32")):
"""
SUM = (
    HEAD
    + """
    C[0] = T.float32(0)
    D[0] = T.float32(0)
    for k in range(6):
        C[0] = C[0] + A[k] * B[k]
        D[0] = A[k] * B[k] + D[0]
"""
)


def fused(text: str, buffers: str | list[str] | None = None) -> int:
    """How many fused multiply-adds the contracted program has."""
    return len([c for c in nodes_of(contracted(parse_func(text), buffers).body, Call) if c.op == "fma"])


def test_only_the_named_buffers_are_contracted() -> None:
    assert fused(SUM, "C") == fused(SUM, ["D"]) == 1
    assert fused(SUM) == fused(SUM, ["C", "D"]) == 2
    assert fused(SUM, []) == 0


def test_what_is_no_update_of_a_float_stays() -> None:
    near = [
        "        C[0] = D[0] + A[k] * B[k]",  # another element's sum
        "        C[0] = C[0] - A[k] * B[k]",
        "        C[0] = C[0] * A[k] + B[k]",  # the sum itself is a factor
        "        C[0] = C[0] + T.exp(A[k] * B[k])",
        "        A[k] = A[5 - k] + A[k] * B[k]",
    ]
    for line in near:
        assert fused(f"{HEAD}    for k in range(6):\n{line}\n") == 0, line
    ints = SUM.replace("float32(0)", "int32(0)").replace('"float32"', '"int32"')
    assert fused(ints) == 0


def test_a_view_is_the_memory_that_it_is_of() -> None:
    text = SUM.replace(
        "    C[0] = T.float32(0)\n", '    V = T.decl_buffer((1,), "float32", data=C.data)\n    C[0] = T.float32(0)\n'
    ).replace("C[0] = C[0] +", "V[0] = V[0] +")
    assert fused(text, "C") == fused(text, "V") == 1
    assert contracted_buffers(contracted(parse_func(text), "V")) == ["C"]  # what is written as C is contracted, too
    assert any(a.startswith("in C, a product") for a in Schedule(text, contract="V").assumptions)


def test_mistakes_are_named() -> None:
    with pytest.raises(IRError, match="there is no buffer 'c' to contract; the buffers are A, B, C, D"):
        contracted(parse_func(SUM), "c")
    with pytest.raises(IRError, match="nothing in A is contracted"):
        contracted(parse_func(SUM), "A")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (None, "contract= takes the name of a buffer, or a list of names, not None"),
        (3, "contract= takes the name of a buffer, or a list of names, not 3"),
        (["C", 3], r"contract= takes the name of a buffer, or a list of names, not \['C', 3\]"),
        ("A", "contract='A': nothing in A is contracted: "),
        (["C", "Sum"], r"contract=\['C', 'Sum'\]: there is no buffer 'Sum' to contract; .* did you mean 'Sums'\?"),
    ],
)
def test_wrong_arguments_of_a_schedule(wrong: Any, sentence: str) -> None:
    text = SUM.replace("D", "Sums")
    with pytest.raises(WrongCall, match=sentence):
        Schedule(text, contract=wrong)
    with pytest.raises(WrongCall, match=sentence):
        schedule(text, contract=wrong)(lambda s: None)()


def test_an_attribute_alone_says_nothing() -> None:
    claims = SUM.replace(
        "    C[0] = T.float32(0)\n", '    T.func_attr({"contracted": ["C", "D", "A"]})\n    C[0] = T.float32(0)\n'
    )
    assert not any("rounded by itself" in a for a in Schedule(claims).assumptions)
    half = claims.replace("C[0] + A[k] * B[k]", "T.fma(A[k], B[k], C[0])")
    assert [a[:7] for a in Schedule(half).assumptions if "rounded by itself" in a] == ["in C, a"]
    mixed = half + "        C[0] = C[0] + A[k] * B[k]\n"
    assert not any("rounded by itself" in a for a in Schedule(mixed).assumptions)
    assert contracted_buffers(contracted(parse_func(mixed), "C")) == ["C"]


def test_the_program_says_so_and_keeps_saying_so() -> None:
    once = contracted(parse_func(SUM), "C")
    assert 'T.func_attr({"contracted": ["C"]})' in script(once)
    again = contracted(parse_func(script(once)), "D")
    assert contracted_buffers(again) == ["C", "D"]


def test_the_bits_are_those_of_one_rounding() -> None:
    a = np.zeros(6, np.float32)
    a[:2] = -1, 1 + 2**-12  # of the square of the second, less 1, float32 loses 2**-24 where it is rounded twice
    b = a.copy()
    b[0] = 1
    arrays = {"A": a, "B": b, "C": np.zeros(1, np.float32), "D": np.zeros(1, np.float32)}
    ended = run(contracted(parse_func(SUM), "C"), arrays).arrays
    assert ended["C"][0] == 2**-11 + 2**-24
    assert ended["D"][0] == 2**-11


def test_a_schedule_is_about_the_contracted_parse_func() -> None:
    s = Schedule(SUM, contract="C")
    assert "T.fma" in script(s.theorem.before)
    assert any(a.startswith("in C, a product that is added") for a in s.assumptions)
    s.split("k", [None, 2])
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 6)).astype(np.float32)
    c, d = np.zeros((2, 1), np.float32)
    build(s)(a, b, c, d)
    expected = run(
        s.theorem.before, {"A": a, "B": b, "C": np.zeros(1, np.float32), "D": np.zeros(1, np.float32)}
    ).arrays
    assert c[0] == expected["C"][0] and d[0] == expected["D"][0]
    plain = Schedule(SUM)
    assert not any("rounded by itself" in x for x in plain.assumptions)


def test_the_decorator_takes_it() -> None:
    @schedule(SUM, contract=["C", "D"])
    def both(s: Schedule) -> None:
        s.split("k", [None, 2])

    assert script(both().func).count("T.fma") == 2


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def g(X: T.Buffer((4,), "float32"), k: T.int32):
        T.assume(k >= 3)
        X[0] = X[0] + X[1] * T.Cast("float32", k)
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):
        C[0] = C[0] + A[1] * A[2]
        M.g(A.data, {k})
"""


@pytest.mark.parametrize("contract", [(), "C"])
def test_what_a_called_function_assumes_is_proved_all_the_same(contract: str | tuple[str, ...]) -> None:
    def nothing(s: Schedule) -> None:
        pass

    schedule(MODULE.format(k=3), contract=contract)(nothing)()
    with pytest.raises(Refuted, match=r"assumption T.GE\(1, 3\) holds"):
        schedule(MODULE.format(k=1), contract=contract)(nothing)()


def test_models() -> None:
    rng = np.random.default_rng(1)
    g = GraphBuilder()
    x = g.input("x", (1, 8, 6, 6))
    w = g.constant(rng.standard_normal((8, 8, 3, 3)).astype(np.float32), "w")
    graph = g.finish(g.op("nn.relu", g.op("nn.conv2d", x, w, padding=(1, 1, 1, 1))))
    a = rng.standard_normal((1, 8, 6, 6)).astype(np.float32)
    plain, made = build_graph(graph), build_graph(graph, contract=True)
    assert plain.contracted == () and made.contracted == ("call_tir nn.conv2d lv + nn.relu lv_1",)
    assert np.array_equal(made(a), evaluate(graph, [a], contract=True)[0])
    assert np.array_equal(plain(a), evaluate(graph, [a])[0])
    assert not np.array_equal(made(a), plain(a))
    np.testing.assert_allclose(made(a), plain(a), rtol=1e-5, atol=1e-5)


def test_terms_that_are_a_product_or_zero_stay() -> None:
    g = GraphBuilder()
    graph = g.finish(g.op("nn.conv2d_transpose", g.input("x", (1, 2, 3, 3)), g.input("w", (2, 2, 2, 2))))
    func = program_of(graph.nodes[0])
    assert contracted(func) is func


def test_an_update_that_makes_an_opaque_call_stays() -> None:
    """Operands of ``T.fma`` are evaluated in another order, and the call may store to what was loaded before it."""
    program = """
@T.prim_func
def f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    A[0] = {update}
"""
    for update in ('A[0] + T.call_extern("float32", "g") * B[0]', 'T.call_extern("float32", "g") * B[0] + A[0]'):
        with pytest.raises(IRError, match=r"nothing in A is contracted: .* without opaque calls"):
            contracted(parse_func(program.format(update=update)), "A")
    assert contracted_buffers(contracted(parse_func(program.format(update="A[0] + A[0] * B[0]")), "A")) == ["A"]
