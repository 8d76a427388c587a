"""Small programs for the tests of the rules: from text, with their buffers and variables found by name."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.visit import walk
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.testing.rules.building import function, load, store

AB = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'

PROVER = Prover(Solver())
"""One prover for all tests: its solver remembers verdicts by the text of the question."""


def program(body: str, params: str = AB) -> PrimFunc:
    """A function with these parameters and this body, both in TVMScript."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return parse_func(f"@T.prim_func\ndef f({params}):\n{lines}\n")


def buffer(func: PrimFunc, name: str) -> Buffer:
    """The first buffer of that name, parameter or local."""
    return next(n for n in walk(func) if isinstance(n, Buffer) and n.name == name)


def variable(func: PrimFunc, name: str) -> Var:
    """The first variable of that name that holds a number."""
    return next(n for n in walk(func) if isinstance(n, Var) and n.name == name and n.dtype.code != "handle")


def accepted(func: PrimFunc, *rules: Rule) -> PrimFunc:
    """The program after the rules, all of which must be accepted."""
    theorem = reflexive(func)
    for rule in rules:
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), f"{type(rule).__name__} is refused: {why(new)}"
        theorem = new
    return theorem.after


def refused(func: PrimFunc, rule: Rule, reason: str) -> NoMatch | Unproved:
    """The rule is refused, for a reason that contains ``reason``."""
    new = apply(rule, reflexive(func), PROVER)
    assert not isinstance(new, Refines), f"{type(rule).__name__} is accepted"
    assert reason in why(new), why(new)
    return new


def why(refusal: NoMatch | Unproved) -> str:
    """A refusal in one line: the reason, or the obligation's name, claim and verdict."""
    if isinstance(refusal, NoMatch):
        return refusal.reason
    obligation = refusal.obligation
    return f"{obligation.name}: {obligation.claim} ({type(refusal.verdict).__name__})"


def body_of(func: PrimFunc) -> str:
    """The statements of a function as text."""
    lines = script(func).rstrip("\n").split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("def ")) + 1
    return "\n".join(line.removeprefix("    ") for line in lines[start:])


def gives(func: PrimFunc, rule: Rule, text: str) -> None:
    """The rule is accepted, and the result's statements read exactly so."""
    assert body_of(accepted(func, rule)) == text.strip("\n")


__all__ = [
    "AB", "PROVER", "accepted", "body_of", "buffer", "function", "gives", "load", "program", "refused", "store",
    "variable", "why",
]  # fmt: skip
