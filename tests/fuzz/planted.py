"""Faults planted into the validator, the bridge to TVM and the check of certificates, for the targets to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from verified_tir.certificate import differences as certificate_differences
from verified_tir.certificate import integrity
from verified_tir.certificate import questions as certificate_questions
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import TRUE, Binary, Cast, Expr, IntImm, Select
from verified_tir.ir.stmt import Assume, Block, seq
from verified_tir.ir.visit import rewrite
from verified_tir.validate import (
    compare,
    concrete,
    decide,
    evaluate,
    interface,
    loops,
    normal,
    numbers,
    operators,
    validator,
)
from verified_tir.validate.events import Events
from verified_tir.validate.normal import Normaliser
from verified_tir.validate.terms import MAY_UNDEF, Terms
from verified_tir.validate.verdict import Different, Equal, EqualInPart

Patch = pytest.MonkeyPatch
Fault = Callable[[Patch], None]


# -- the validator -----------------------------------------------------------------------------------------------------


def one_zero(patch: Patch) -> None:
    constant = Terms.constant
    patch.setattr(Terms, "constant", lambda self, d, v: constant(self, d, 0.0 if v == 0 and d.is_float else v))


def no_signedness(patch: Patch) -> None:
    code = Terms.code

    def plain(self: Terms, op: str, dtype: DType) -> int:
        return code(self, op.replace("uint", "int"), DType("int", dtype.bits) if dtype.code == "uint" else dtype)

    patch.setattr(Terms, "code", plain)


def never_undef(patch: Patch) -> None:
    patch.setattr(operators, "UNDEF_ID", -7)
    patch.setattr(operators, "MAY_UNDEF", 0)


def bits_of_nan(patch: Patch) -> None:
    facts = operators._facts

    def known(op: str, dtype: DType, a: Any, b: Any, c: Any) -> Any:
        found = facts(op, dtype, a, b, c)
        return found & np.uint8(0xFF ^ MAY_UNDEF) if op == "reinterpret" else found

    patch.setattr(operators, "_facts", known)


def backwards(patch: Patch) -> None:
    kept = compare.compare
    patch.setattr(validator, "compare", lambda terms, a, b, old, new: kept(terms, b, a, new, old))


def no_undefined_behaviour(patch: Patch) -> None:
    patch.setattr(Events, "note", lambda *_: None)


def wrapping_addresses(patch: Patch) -> None:
    fit = numbers.fit
    patch.setattr(numbers, "fit", lambda dtype, exact, *, index: (fit(dtype, exact, index=index)[0], None))


def no_modulus(patch: Patch) -> None:
    patch.setattr(
        normal, "_add", lambda total, monomial, k, modulus: total.__setitem__(monomial, total.get(monomial, 0) + k)
    )


def reals_are_bits(patch: Patch) -> None:
    patch.setattr(decide, "same_summands", lambda *_: False)
    patch.setattr(decide, "Normaliser", lambda terms, undefined, *, reals: Normaliser(terms, undefined, reals=True))


def assumptions_ignored(patch: Patch) -> None:
    run = concrete.run

    def unassuming(func: Any, arguments: Any, **more: Any) -> Any:
        return run(rewrite(func, lambda n: seq() if isinstance(n, Assume) else None), arguments, **more)

    patch.setattr(concrete, "run", unassuming)


def undecided_is_equal(patch: Patch) -> None:
    kept = decide.decide
    patch.setattr(validator, "decide", lambda *a: replace(kept(*a), left=""))


def first_parameter_only(patch: Patch) -> None:
    kept = compare.compare
    patch.setattr(validator, "compare", lambda terms, a, b, old, new: kept(terms, a, b, old[:1], new[:1]))


def truncating_division(patch: Patch) -> None:
    kept = numbers._divide
    other = {"floordiv": "truncdiv", "floormod": "truncmod"}
    patch.setattr(numbers, "_divide", lambda op, dtype, a, b: kept(other.get(op, op), dtype, a, b))


def no_licences(patch: Patch) -> None:
    patch.setattr(loops, "MARKED", {})


def guards_ignored(patch: Patch) -> None:
    def then(self: Any, condition: Expr, frame: Any, arm: Any, otherwise: Any = None) -> None:
        arm(frame)

    from verified_tir.validate import execute

    patch.setattr(execute.Executor, "_branch", then)


def at_least_once(patch: Patch) -> None:
    """A loop without iterations has one."""
    from verified_tir.ir.expr import IntImm
    from verified_tir.ir.stmt import For
    from verified_tir.validate.loops import Loops

    kept = Loops.run

    def run(self: Any, stmt: For, frame: Any) -> None:
        if isinstance(stmt.extent, IntImm) and stmt.extent.value == 0:
            stmt = replace(stmt, extent=IntImm(stmt.extent.type, 1))
        kept(self, stmt, frame)

    patch.setattr(Loops, "run", run)


def everything_is_vacuous(patch: Patch) -> None:
    patch.setattr(validator, "_settled", lambda decision, vacuous: Equal(vacuous=True))


def witness_of_another_element(patch: Patch) -> None:
    kept = concrete._compare

    def other(*a: Any) -> Any:
        found = kept(*a)
        return found if not isinstance(found, Different) or not found.element else replace(found, before=found.after)

    patch.setattr(concrete, "_compare", other)


def padding_is_free(patch: Patch) -> None:
    kept = interface._moved
    patch.setattr(interface, "_moved", lambda *a: replace(kept(*a), padding="undef"))


def minima_commute(patch: Patch) -> None:
    kept = operators.Builder.binary

    def binary(self: Any, op: str, dtype: DType, a: Any, b: Any) -> Any:
        return kept(self, op, dtype, *((np.minimum(a, b), np.maximum(a, b)) if op in ("min", "max") else (a, b)))

    patch.setattr(operators.Builder, "binary", binary)


def on_demand_by_hope(patch: Patch) -> None:
    patch.setattr(validator, "compare_on_demand", lambda *a, **k: EqualInPart(7, 7))


def eager_arms(patch: Patch) -> None:
    """Undefined behaviour of an arm that is not taken."""
    patch.setattr(evaluate.Evaluator, "guarded", lambda self, frame, condition, *, holds: frame)


VALIDATOR: dict[str, Fault] = {
    f.__name__: f
    for f in (
        one_zero, no_signedness, never_undef, backwards, no_undefined_behaviour, wrapping_addresses, no_modulus,
        reals_are_bits, assumptions_ignored, undecided_is_equal, first_parameter_only, truncating_division, no_licences,
        guards_ignored, at_least_once, everything_is_vacuous, witness_of_another_element, padding_is_free,
        minima_commute, on_demand_by_hope, eager_arms,
    )
}  # fmt: skip


# -- certificates ------------------------------------------------------------------------------------------------------


def no_obligation_hash(patch: Patch) -> None:
    patch.setattr(integrity, "obligation_hash", lambda o: o["hash"])
    patch.setattr(integrity, "step_hash", lambda o: o["hash"])


def no_part_hash(patch: Patch) -> None:
    patch.setattr(integrity, "part_hash", lambda c, part: c["hashes"][part])


def no_root(patch: Patch) -> None:
    kept = certificate_questions.load

    def load(folder: Any, name: str, root: str) -> Any:
        content, found = kept(folder, name, root)
        return content, [f for f in found if f.place != "root"]

    patch.setattr(certificate_questions, "load", load)


def no_chain(patch: Patch) -> None:
    patch.setattr(integrity, "_chain", lambda *_: iter(()))


def questions_unread(patch: Patch) -> None:
    kept = integrity.question

    def question(folder: Any, digest: str) -> tuple[str, str]:
        text, wrong = kept(folder, digest)
        if "was changed" in wrong:
            return (folder / integrity.obligation_path(digest)).read_text(), ""
        return text, wrong

    patch.setattr(certificate_questions, "question", question)


def last_obligation_skipped(patch: Patch) -> None:
    kept = certificate_questions.claims_of
    patch.setattr(certificate_questions, "claims_of", lambda name, c: list(kept(name, c))[:-1])


def unknown_is_proved(patch: Patch) -> None:
    def verdict(self: Any, query: str) -> str:
        said = [a.verdict for a in self.answers.get(query, {}).values()]
        return "false" if "sat" in said else "proved"

    patch.setattr(certificate_questions.Checked, "verdict", verdict)


def any_verdict(patch: Patch) -> None:
    kept = integrity._problems
    patch.setattr(integrity, "_problems", lambda c: [p for p in kept(c) if "is not a proof" not in p[1]])


def only_steps_are_compared(patch: Patch) -> None:
    patch.setattr(certificate_differences, "COMPARED", ())


def questions_are_not_compared(patch: Patch) -> None:
    patch.setattr(certificate_differences, "_obligations", lambda *_: iter(()))


CERTIFICATES: dict[str, Fault] = {
    f.__name__: f
    for f in (
        no_obligation_hash, no_part_hash, no_root, no_chain, questions_unread, last_obligation_skipped,
        unknown_is_proved, any_verdict, only_steps_are_compared, questions_are_not_compared,
    )
}  # fmt: skip


# -- the bridge to TVM -------------------------------------------------------------------------------------------------


def _read_wrongly(patch: Patch, change: Callable[[Any], Any]) -> None:
    """What TVM printed is read as something else."""
    from verified_tir.interop.tvm import reading
    from verified_tir.ir.node import IRError

    kept = reading.parse

    def parse(text: str, *rest: Any) -> Any:
        module = kept(text, *rest)
        try:
            made = tuple((name, rewrite(f, change)) for name, f in module.functions)
        except IRError:
            return module
        return type(module)(made)

    reading.read_text.cache_clear()
    patch.setattr(reading, "parse", parse)


def division_truncates(patch: Patch) -> None:
    def change(n: Any) -> Any:
        if isinstance(n, Binary) and n.op in ("floordiv", "floormod"):
            return Binary("truncdiv" if n.op == "floordiv" else "truncmod", n.a, n.b)
        return None

    _read_wrongly(patch, change)


def minimum_lost(patch: Patch) -> None:
    _read_wrongly(patch, lambda n: n.a if isinstance(n, Binary) and n.op == "min" else None)


def casts_dropped(patch: Patch) -> None:
    _read_wrongly(patch, lambda n: n.value if isinstance(n, Cast) and n.value.dtype is n.dtype else None)


def predicates_dropped(patch: Patch) -> None:
    _read_wrongly(patch, lambda n: replace(n, predicate=TRUE) if isinstance(n, Block) else None)


def initialisation_dropped(patch: Patch) -> None:
    _read_wrongly(patch, lambda n: replace(n, init=None) if isinstance(n, Block) else None)


def comparison_inclusive(patch: Patch) -> None:
    _read_wrongly(patch, lambda n: Binary("le", n.a, n.b) if isinstance(n, Binary) and n.op == "lt" else None)


def arms_exchanged(patch: Patch) -> None:
    def change(n: Any) -> Any:
        return Select(n.condition, n.false_value, n.true_value) if isinstance(n, Select) else None

    _read_wrongly(patch, change)


def strides_ignored(patch: Patch) -> None:
    """Views over the data of another buffer begin where that begins."""

    def change(n: Any) -> Any:
        return replace(n, strides=(), elem_offset=IntImm(n.elem_offset.dtype, 0)) if isinstance(n, Buffer) else None

    _read_wrongly(patch, change)


def remainders_of_maps(patch: Patch) -> None:
    from verified_tir.interop.tvm import layouts

    patch.setitem(layouts._BINARY, "FloorMod", lambda a, b: np.asarray(a) % (np.asarray(b) + 1))


def padding_of_maps(patch: Patch) -> None:
    from verified_tir.interop.tvm import layouts

    kept = layouts._padding
    patch.setattr(layouts, "_padding", lambda value: 3 if isinstance(kept(value), int) else kept(value))


def always_the_same(patch: Patch) -> None:
    from verified_tir.interop.tvm import judge

    patch.setattr(judge, "same_program", lambda *_: True)


def alike_but_for_names(patch: Patch) -> None:
    """Programs whose functions are called alike are the same."""
    from verified_tir.validate import pairs

    patch.setattr(pairs, "same_meaning", lambda *_: True)


TVM: dict[str, Fault] = {
    f.__name__: f
    for f in (
        division_truncates, minimum_lost, casts_dropped, predicates_dropped, initialisation_dropped,
        comparison_inclusive, arms_exchanged, strides_ignored, remainders_of_maps, padding_of_maps, always_the_same,
        alike_but_for_names,
    )
}  # fmt: skip
