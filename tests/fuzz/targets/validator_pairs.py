"""Two programs that differ in a place or two, and what the validator says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from hypothesis import strategies as st

from tests.parts.near_misses import choices, divided, near_miss
from tests.parts.reference_runs import SIZES, sizes_of
from tests.parts.verdicts import WrongVerdict, assert_verdict_holds
from verified_tir.fuzz.target import Disagreement, Observed, quoted
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, IntImm, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import Assume, seq
from verified_tir.ir.sugar import const
from verified_tir.testing.programs import prim_funcs
from verified_tir.testing.scheduling import seeds
from verified_tir.validate import Report, Unknown

FEW: Final = 30
"""So few operations that every program is too large to be executed as a whole, and is evaluated on demand."""


def programs() -> st.SearchStrategy[PrimFunc]:
    """Random programs, most of them small (a mistake hides among many statements), and textbook ones."""
    small = prim_funcs(max_depth=2, max_statements=2)
    return st.one_of(small, small, prim_funcs(), seeds().map(parse_func))


def numbers() -> st.SearchStrategy[tuple[int, ...]]:
    """Which sizes to take."""
    return st.lists(st.integers(0, len(SIZES) - 1), min_size=1, max_size=3).map(tuple)


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs, and how to ask about them.

    :ivar limits: further arguments of ``validate``: few operations, say.
    """

    before: PrimFunc
    after: PrimFunc
    sizes: tuple[tuple[str, int], ...]
    limits: tuple[tuple[str, Any], ...] = ()

    def check(self, observed: Observed) -> None:
        """The verdict is so."""
        observed.count("programs")
        note(observed, judged(self.before, self.after, dict(self.sizes), dict(self.limits)))

    def as_test(self, name: str) -> str:
        """The two programs as text, and the assertion."""
        given = "".join([f", {key}={value!r}" for key, value in self.limits])
        return (
            f'"""{"Found by a campaign: the validator is wrong about two programs."}"""\n\n'
            "from verified_tir import parse_func\n"
            "from tests.parts.verdicts import assert_verdict_holds\n\n"
            f"BEFORE = {quoted(script(self.before))}\n"
            f"AFTER = {quoted(script(self.after))}\n\n\n"
            f"def {name}() -> None:\n"
            f"    assert_verdict_holds(parse_func(BEFORE), parse_func(AFTER), sizes={dict(self.sizes)!r}{given})\n"
        )


def judged(before: PrimFunc, after: PrimFunc, sizes: dict[str, int], limits: dict[str, Any], **more: Any) -> Report:
    """The validator's report, which holds.

    :raises Disagreement: if it does not.
    """
    try:
        return assert_verdict_holds(before, after, sizes=sizes, **limits, **more)
    except WrongVerdict as wrong:
        shown = f"{wrong.message}\nbefore:\n{script(before)}\nafter:\n{script(after)}\nat {sizes}"
        raise Disagreement(wrong.kind, "validate", shown) from wrong


def note(observed: Observed, report: Report) -> None:
    """Count a verdict."""
    verdict = report.verdict
    vacuous = getattr(verdict, "vacuous", False)
    observed.count("undecided" if isinstance(verdict, Unknown) else type(verdict).__name__.lower())
    observed.cover("verdict", "vacuous" if vacuous else type(verdict).__name__)


def assuming(func: PrimFunc, number: int) -> PrimFunc:
    """Now and then, the program under an assumption about an element of an argument, which few arguments meet."""
    places = [b for b in func.buffers if b.dtype.lanes == 1 and not b.dtype.is_bool and _has_first(b)]
    if number >= 4 or not places:
        return func
    b = places[number % len(places)]
    first = Load(b, tuple([const(0, e.dtype) for e in b.shape]))
    return func.with_body(seq(Assume(Binary("gt" if number % 2 else "eq", first, const(2, b.dtype))), func.body))


def _has_first(b: Buffer) -> bool:
    return all(isinstance(e, IntImm) and e.value > 0 for e in b.shape)


def pairs() -> st.SearchStrategy[Pair]:
    """Pairs of programs; now and then the same one, or few operations, or serial execution."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Pair:
        before = assuming(draw(programs()), draw(st.integers(0, 29)))
        chosen = draw(choices())
        if draw(st.integers(0, 14)) == 14:
            before, after = divided(before, chosen[1])
        else:
            after = near_miss(before, chosen)
        sizes = sizes_of(before, draw(numbers()))
        limits = draw(st.sampled_from(((), (), (), (("most_operations", FEW),), (("fast", False),))))
        return Pair(before, after, tuple(sizes.items()), limits)

    return drawn()
