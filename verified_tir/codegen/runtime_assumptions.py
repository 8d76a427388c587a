"""What a call takes for granted of its arguments, and the check of what can be checked.

Extents, types, alignment and overlap are always checked.  Contents are the caller's word, unless
``Function.check_assumptions`` is set: then the assumptions with which the program as written begins are evaluated by
the interpreter, and the padding of the arrays is compared with what was declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verified_tir.codegen.entry_check import Arguments
from verified_tir.codegen.entry_objects import Array
from verified_tir.codegen.entry_plan import EntryPlan
from verified_tir.codegen.runtime_layout import Layouts, padded_places
from verified_tir.ir.expr import Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.stmt import SKIP, Assume, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt, seq
from verified_tir.ir.visit import walk
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.theorem import Refines
from verified_tir.semantics.interpreter import ArgumentError, UndefinedBehaviour, Unsupported, run
from verified_tir.semantics.interpreter.outcome import same_bits


def assumptions(theorem: Refines) -> tuple[str, ...]:
    """Sentences about the contents of the arguments: padding, and what the program assumes when it begins."""
    checked = beginning(theorem.before.body)[0]
    claims = [f"{script(n.condition)} (T.assume in the program)" for n in walk(checked) if isinstance(n, Assume)]
    return (*(_sentence(p) for p in theorem.paddings if not p.owed), *claims)


def _sentence(p: Padding) -> str:
    element = f"{p.buffer.name}[{', '.join(v.name for v in p.indices)}]"
    where = script(p.predicate)
    if p.value is None:
        return f"{element} is touched by nobody where {where}"
    if isinstance(p.value, Undef):
        return f"{element} may be anything where {where}"
    return f"{element} == {script(p.value)} where {where}"


def beginning(stmt: Stmt) -> tuple[Stmt, bool]:
    """The assumptions that are evaluated before anything else is done, as a statement; whether that is all of it."""
    match stmt:
        case Assume():
            return stmt, True
        case Seq(stmts=stmts):
            kept: list[Stmt] = []
            for s in stmts:
                first, whole = beginning(s)
                kept.append(first)
                if not whole:
                    return seq(*kept), False
            return seq(*kept), True
        case For(body=body) if beginning(body)[1]:
            return stmt, True
        case If(then_body=then, else_body=other) if beginning(then)[1] and (other is None or beginning(other)[1]):
            return stmt, True
        case LetStmt(var=v, value=value, body=body):
            first, whole = beginning(body)
            return LetStmt(v, value, first), whole
        case DeclBuffer(buffer=b, body=body):
            first, whole = beginning(body)
            return DeclBuffer(b, first), whole
        case Block(is_label=True, body=body) | AttrStmt(body=body):
            return beginning(body)
        case _:
            return SKIP, False


class AssumptionCheck:
    """Checks the contents of arguments that were found to have the right form."""

    def __init__(self, theorem: Refines, plan: EntryPlan) -> None:
        self.plan = plan
        self.paddings = theorem.paddings
        self.layouts = Layouts(theorem)
        self.before: PrimFunc = theorem.before
        self.program = theorem.before.with_body(beginning(theorem.before.body)[0])
        self.claims = any(isinstance(n, Assume) for n in walk(self.program.body))

    def check(self, arguments: Arguments) -> None:
        """:raises ValueError: if an assumption is false, or could not be evaluated."""
        names = {p.name: arguments.arrays[k] for k, p in self.plan.arrays}
        for name, array in names.items():
            if array.dtype == np.bool_ and bool((array.view(np.uint8) > 1).any()):
                raise ValueError(f"{name} holds bytes that are no bool: they must be 0 or 1")
        for p in self.paddings:
            if not p.owed:
                _check_padding(p, names[p.buffer.name], arguments.values)
        if self.claims:
            self._check_claims(names, arguments.values)

    def _check_claims(self, names: Mapping[str, Array], values: Mapping[Var, Any]) -> None:
        given: dict[str, Any] = {}
        for p in self.before.params:
            b = self.before.buffer_of(p)
            if b is not None:
                array, moved = names[b.name], self.layouts.chain(b.name)
                given[b.name] = self.layouts.unpack(b.name, array, {}, values) if moved else array
            elif p in values:
                given[p.name] = values[p]
        parameters = {b.name for b in self.before.buffers} | {p.name for p in self.before.params}
        needed = {n.name for b in self.before.buffers for n in walk(b) if isinstance(n, Var)} - parameters
        given.update({v.name: value for v, value in values.items() if v.name in needed})
        try:
            run(self.program, given)
        except UndefinedBehaviour as found:
            claim = "what the program assumes of its arguments is false"
            raise ValueError(f"{self.program.name}: {claim}: {found}\n\n{script(self.program)}") from None
        except (Unsupported, ArgumentError) as problem:
            raise ValueError(f"{self.program.name}: the assumptions could not be checked: {problem}") from None


def _check_padding(p: Padding, array: Array, values: Mapping[Var, Any]) -> None:
    try:
        padded = padded_places(p, array, values)
    except ValueError as problem:
        raise ValueError(f"{p.buffer.name}: the padding could not be checked: {problem}") from None
    if padded.values is None or padded.defined is None:
        return
    found = array[padded.where]
    wrong: Any = padded.defined & ~same_bits(found, padded.values)
    while wrong.ndim > 1:
        wrong = wrong.any(axis=-1)
    if wrong.any():
        first = int(np.argmax(wrong))
        index = ", ".join(map(str, np.argwhere(padded.where)[first]))
        raise ValueError(f"{p.buffer.name}[{index}] is {found[first]}, but this padding is assumed: {_sentence(p)}")


__all__ = ["AssumptionCheck", "assumptions", "beginning"]
