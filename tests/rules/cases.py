"""Rules on programs as a strategy.

A case is a program and a chain of rules; the last one is on trial, those before prepare it.  From a family it is
drawn as the number of a program and the number of a rule; smaller numbers lead to plainer words of the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.rules.families import BY_NAME
from tests.rules.family import Chain, Family
from tests.rules.programs_for_rules import FITTING, fitting
from tests.rules.random_programs import programs
from tests.rules.random_rules import RULES, application
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import For, Stmt
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.testing.scheduling.seeds import SEEDS, seed

PLACED: Final[dict[str, tuple[Callable[[Path], Rule | RuleBuilder], type[Stmt]]]] = {
    "unroll": (moves.unroll, For),
    "dead at the end": (partial(Erase, dead_at_end=True), Stmt),
}
"""Rules that need nothing but a place, besides those of ``random_rules``."""
SYMBOLIC: Final = frozenset({"symbolic"})
"""Seeds whose buffers have no constant extents."""

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

WINDOW: Final = 6
"""How many of a program's rules one case tries."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class RuleCase:
    """A program and chains of rules for it, each to be tried by itself.

    :ivar family: where it comes from.
    :ivar sizes: for symbols, with which it is worth running.
    """

    family: str
    func: PrimFunc
    chains: tuple[Chain, ...]
    sizes: tuple[int, ...] = (0, 1, 2, 3)
    index: int = -1
    """The number of the program in its family."""

    def __repr__(self) -> str:
        rules = "\n".join(" then ".join(map(str, chain)) for chain in self.chains)
        return f"RuleCase({self.family!r})\n{script(self.func)}\n{rules}"


def rule_cases(families: Sequence[str] = ()) -> SearchStrategy[RuleCase]:
    """Programs with rules for them, applied whether they fit or not.

    :param families: names of families, ``random`` (any place of any program) and ``fitting`` among them; all of them
        unless given; ``textbook`` is any place of a textbook program.
    """
    return _rule_cases(tuple(families) or (*BY_NAME, *("random", "fitting") * 4, *("textbook",) * 30))


@st.composite
def textbook(draw: DrawFn) -> str:
    """A textbook program of very small constant extents."""
    name = draw(st.sampled_from([name for name in SEEDS if name not in SYMBOLIC]))
    n, m, k = (draw(st.sampled_from((3, 2, 4, 1))) for _ in range(3))
    return seed(name, draw(st.sampled_from(("int32", "float32"))), n, m, k, draw(st.sampled_from((1, 2, 0))))


@st.composite
def _rule_cases(draw: DrawFn, families: tuple[str, ...]) -> RuleCase:
    name = draw(st.sampled_from(families))
    if name in ("random", "fitting", "textbook"):
        return _random(draw, name)
    family = BY_NAME[name]
    while True:
        made = _of_family(family, draw(st.integers(0, family.size - 1)), draw(st.integers(0, 255)))
        if made is not None:
            return made


def _of_family(family: Family, index: int, first: int) -> RuleCase | None:
    made = family.at(index)
    if made is None or not made[1]:
        return None
    func, rules = made
    start = first % len(rules)
    chosen = [*rules[start:], *rules[:start]][:WINDOW]
    chains = tuple(rule if isinstance(rule, tuple) else (rule,) for rule in chosen)
    return RuleCase(family.name, func, chains, family.sizes, index)


def _applied(draw: Any, name: str, func: PrimFunc) -> Rule | RuleBuilder | None:
    """A rule at some place, or ``None`` if there is none for it."""
    if name not in PLACED:
        return application(draw, name, func)
    rule, kind = PLACED[name]
    found = [path for path, _ in places(func.body, lambda s: isinstance(s, kind))]
    return rule(draw(st.sampled_from(found))) if found else None


def _random(draw: Any, name: str) -> RuleCase:
    if name == "fitting":
        func, rule = draw(fitting(draw(st.sampled_from(list(FITTING)))))
        return RuleCase(name, func, ((rule,),), (0, 1, 2))
    func = expand_blocks(parse_func(draw(textbook()))) if name == "textbook" else draw(programs(callees=True))
    found = [_applied(draw, draw(st.sampled_from((*RULES, *PLACED))), func) for _ in range(3)]
    return RuleCase(name, func, tuple((rule,) for rule in found if rule is not None), (0, 1, 2))
