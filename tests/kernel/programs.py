"""Small programs for the tests of the rules: from text, with their buffers and variables found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.rules.building import function, load, store
from tests.rules.family import taken
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.sugar import methods
from verified_tir.ir.visit import walk
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Misfit, NoMatch, Unproved
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.theorem import Refines, Rule, licensed, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.schedule.folding import with_constants_folded
from verified_tir.schedule.rule_builders import RuleBuilder

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


def compact(
    path: Path,
    inputs: tuple[Var, ...],
    outputs: tuple[Expr, ...],
    shape: tuple[Expr, ...],
    back: Callable[..., tuple[Expr, ...]] = lambda *ys: ys,
) -> Couple:
    """What is touched of a buffer stands elsewhere; ``back`` leads from there to where it stood."""
    ys = tuple(Var.fresh("y") for _ in shape)
    return Couple(path, LayoutMap(inputs, outputs, ys, back(*ys), shape, FALSE), "accessed")


def take(rule: Rule | RuleBuilder, theorem: Refines, prover: Prover = PROVER) -> Refines | NoMatch | Unproved:
    """The theorem after a rule, or after what a rule builder makes of its program, if no marked loop may race then."""
    made = rule(theorem.after) if callable(rule) else rule
    if isinstance(made, NoMatch):
        return made
    with without_sugar():
        return taken(made, theorem, prover)


@contextmanager
def without_sugar() -> Iterator[None]:
    """The classes of the IR without the methods that they have from ``ir.sugar``, which the kernel does not need."""
    given = [(kind, name, method) for kind, name, method in methods() if method is not None]
    try:
        for kind, name, _ in given:
            setattr(kind, name, _not_for_the_kernel)
        yield
    finally:
        for kind, name, method in given:
            setattr(kind, name, method)


def _not_for_the_kernel(*_: object) -> None:
    raise AssertionError("the kernel uses what is not trusted (ir.sugar)")


def steps(start: PrimFunc | Refines, *rules: Rule | RuleBuilder) -> Refines:
    """The theorem after the rules, all of which must be accepted."""
    theorem = _theorem(start)
    for rule in rules:
        new = take(rule, theorem)
        assert isinstance(new, Refines), f"{type(rule).__name__} is refused: {why(new)}"
        theorem = new
    return theorem


def accepted(start: PrimFunc | Refines, *rules: Rule | RuleBuilder) -> PrimFunc:
    """The program after the rules, all of which must be accepted."""
    return steps(start, *rules).after


def refused(start: PrimFunc | Refines, rule: Rule | RuleBuilder, reason: str) -> NoMatch | Unproved:
    """The rule is refused, for a reason that contains ``reason``; or the program is, if it is ill-formed."""
    try:
        new = take(rule, _theorem(start))
    except Misfit as ill_formed:
        new = NoMatch((), str(ill_formed))
    assert not isinstance(new, Refines), f"{type(rule).__name__} is accepted"
    assert reason in why(new), why(new)
    return new


def licensed_for(start: PrimFunc | Refines, *names: str) -> Refines:
    """The theorem with a licence to sum into the blocks of these names, of its first program, in any order."""
    theorem = _theorem(start)
    new = licensed(theorem, blocks_of(theorem.before, *names), PROVER)
    assert isinstance(new, Refines), f"there is no licence after step {new[0]}: {why(new[1])}"
    return new


def unlicensed(start: PrimFunc | Refines, *names: str) -> tuple[int, str]:
    """The first step that needs the bits of these blocks (-1: the program itself), and why."""
    theorem = _theorem(start)
    new = licensed(theorem, blocks_of(theorem.before, *names), PROVER)
    assert isinstance(new, tuple), "the licence is given"
    return new[0], why(new[1])


def blocks_of(func: PrimFunc, *names: str) -> frozenset[Var]:
    """The blocks of the buffers of these names."""
    return frozenset(buffer(func, name).data for name in names)


def _theorem(start: PrimFunc | Refines) -> Refines:
    return reflexive(start) if isinstance(start, PrimFunc) else start


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


def gives(func: PrimFunc | Refines, rule: Rule | RuleBuilder, text: str) -> None:
    """The rule is accepted, and the result's statements read exactly so."""
    assert body_of(accepted(func, rule)) == text.strip("\n")


def gives_folded(func: PrimFunc, rule: Rule | RuleBuilder, text: str) -> None:
    """The rule is accepted, and the result's statements read exactly so once constants are folded."""
    theorem = steps(func, rule)
    assert body_of(with_constants_folded(theorem.derivation[-1].rule, func, theorem, PROVER).after) == text.strip("\n")


__all__ = [
    "AB", "PROVER", "accepted", "blocks_of", "body_of", "buffer", "function", "gives", "gives_folded", "licensed_for",
    "load", "program", "refused", "steps", "store", "take", "unlicensed", "variable", "why",
]  # fmt: skip
