"""A derivation as data, and what it is in the kernel.

:func:`as_data` says how a theorem was derived; :func:`derive` derives it anew: every rule is read in the scope of the
program that it is applied to, and applied by the kernel, which computes the next program and every question.

The scope of a rule is what the program at its place has, numbered in the order in which its text spells it, then what
the program has that the theorem begins with, then what the layout changes so far have (their index variables stand in
declared padding).  So a rule says which loop or buffer it means by place alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from verified_tir.derivation.classes import Refines, Theorem, records
from verified_tir.derivation.codec import BadText, Quoted, Reader, Scope, Writer
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt, seq
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, ParameterMap, Refusal
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.refines import statement_of
from verified_tir.kernel.rules import RULES
from verified_tir.kernel.step import Rule
from verified_tir.kernel.theorem import apply, licensed, reflexive, without_licence
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Discharged, Unknown

LEMMA: Final = "lemma"


@final
class NotDerived(Exception):
    """A derivation that cannot be made again.

    ``step`` is the number of the rule, -1 for what comes before the first; ``undecided`` says that an obligation was
    not decided, which may be otherwise with another budget or another solver.
    """

    def __init__(self, step: int, why: str, undecided: bool = False) -> None:
        super().__init__(why)
        self.step = step
        self.undecided = undecided


@final
@dataclass(frozen=True, slots=True)
class Owed:
    """A question that was proved: ``given`` implies ``goal``.

    ``where`` says about which statement it is, of the program ``before`` or ``after`` the rule; ``None`` for what was
    proved on the way.
    """

    name: str
    claim: str
    given: tuple[Term, ...]
    goal: Term
    where: tuple[str, Path] | None


@final
@dataclass(frozen=True, slots=True)
class Applied:
    """One rule: its text, the rule, the program that it led to, and what it owed, lemmas first."""

    text: str
    rule: Rule
    after: PrimFunc
    owed: tuple[Owed, ...]


@final
@dataclass(frozen=True, slots=True)
class Derived:
    """A theorem, and how it was derived.

    :ivar written: the program as it was written.
    :ivar start: the same with its blocks expanded, with which the theorem begins.
    :ivar meaning: what was owed for the program to have a meaning.
    :ivar licences: the blocks that had a licence from the first rule on, and what was owed for it.
    :ivar given_up: how many rules were applied when the licences were given up.
    :ivar race_free: what was owed for the marked loops of the last program to run as they are marked.
    """

    written: PrimFunc
    start: PrimFunc
    theorem: Refines
    meaning: tuple[Owed, ...]
    licences: tuple[Var, ...]
    licence: tuple[Owed, ...]
    rules: tuple[Applied, ...]
    given_up: int | None
    race_free: tuple[Owed, ...]


# -- from theorems to data ---------------------------------------------------------------------------------------------


def as_data(theorem: Refines) -> Theorem:
    """How a theorem was derived.

    :raises BadText: if a part of it has no spelling.
    """
    said = statement_of(theorem)
    blocks, given_up = licences_of(theorem)
    rules: list[Quoted] = []
    now = said.start
    assumed: tuple[Stmt, ...] = ()
    relation: tuple[ParameterMap, ...] = ()
    for step in said.derivation:
        before = said.start.with_body(seq(*assumed, said.start.body))
        rules.append(Quoted(write_rule(step.rule, scope_of(now, before, relation))))
        now, assumed = step.after, (*assumed, step.made.assumed)
        relation = relation if step.made.moved is None else (*relation, step.made.moved)
    return Theorem(said.start, said.definite, blocks, tuple(rules), given_up)


def licences_of(theorem: Refines) -> tuple[tuple[Var, ...], int | None]:
    """The licences that a derivation needs, in the order of the scope, and after which rule it needs them no more.

    Licences are given once, for all rules; those that no rule used need not be given again.
    """
    said = statement_of(theorem)
    blocks = said.reassociated.union(*said.licences.values())
    given_up = None
    if blocks and not said.licences:
        given_up = 1 + max(k for k, step in enumerate(said.derivation) if step.made.reassociated)
    return tuple(v for v in Scope.of(said.start).variables if v in blocks), given_up


def scope_of(after: PrimFunc, before: PrimFunc, relation: tuple[ParameterMap, ...] = ()) -> Scope:
    """The scope of a rule that is applied to a theorem."""
    return Scope.of(*([after] if after is before else [after, before]), *relation, records=records())


def write_rule(rule: Rule, scope: Scope) -> str:
    """The text of a rule in the scope of the program that it is applied to."""
    return Writer(scope, records(), _theorems_as_data).write(rule)


def _theorems_as_data(value: Any) -> Any:
    return as_data(value) if type(value) is Refines else value


# -- from data to theorems ---------------------------------------------------------------------------------------------


def derive_program(
    written: PrimFunc, licences: str, rules: Sequence[str], given_up: int | None, prover: Prover
) -> Derived:
    """A theorem about a program on arrays of definite values, derived anew.

    :param licences: the licensed blocks, in the scope of the expanded program.
    :param rules: the texts of the rules.
    :raises NotDerived: if the program has no meaning, a text is none, the kernel refuses, or a marked loop may race.
    """
    with_meaning = _kernel(-1, verify_program, written, prover)
    if not isinstance(with_meaning, tuple):
        raise _refused(-1, with_meaning, "the program itself: ")
    start, meaning = with_meaning
    try:
        blocks = Reader(Scope.of(start)).read(licences)
        if type(blocks) is not tuple or not all(type(b) is Var for b in blocks):
            raise BadText("the licensed blocks are not variables")
        if Writer(Scope.of(start)).write(blocks) != licences:
            raise BadText("the licensed blocks are not spelled in the canonical way")
    except BadText as problem:
        raise NotDerived(-1, str(problem)) from None
    data = Theorem(start, True, blocks, tuple(Quoted(text) for text in rules), given_up)
    theorem, licence, applied = derive(data, prover)
    last = len(rules) - 1
    free = _kernel(last, prove_race_free, theorem.after, prover, theorem.entry)
    if not isinstance(free, tuple):
        raise _refused(last, free, "the loops of the last program: ")
    races = tuple(_owed(free))
    return Derived(written, start, theorem, tuple(_owed(meaning)), blocks, licence, applied, given_up, races)


def derive(data: Theorem, prover: Prover) -> tuple[Refines, tuple[Owed, ...], tuple[Applied, ...]]:
    """The theorem of a derivation, what was owed for its licences, and what each rule did.

    :raises NotDerived: if a text is not a rule, or the kernel refuses.
    """
    theorem = _kernel(-1, lambda: reflexive(data.start, definite=data.definite))
    licence: tuple[Owed, ...] = ()
    if data.licences:
        theorem, licence = _licensed(theorem, data, prover)
    applied: list[Applied] = []
    for k, quoted in enumerate(data.rules):
        if data.given_up == k:
            theorem = without_licence(theorem)
        scope = scope_of(theorem.after, theorem.before, theorem.relation)
        rule, lemmas = _read_rule(k, quoted.text, scope, prover)
        made = _kernel(k, apply, rule, theorem, prover)
        if not isinstance(made, Refines):
            raise _refused(k, made)
        theorem = made
        step = theorem.derivation[-1]
        applied.append(Applied(quoted.text, rule, theorem.after, (*lemmas, *_owed(step.obligations))))
    if data.given_up == len(data.rules):
        theorem = without_licence(theorem)
    if licences_of(theorem) != (data.licences, data.given_up):
        raise NotDerived(-1, "the licences are not those that the rules need, or are given up elsewhere")
    return theorem, licence, tuple(applied)


def _licensed(theorem: Refines, data: Theorem, prover: Prover) -> tuple[Refines, tuple[Owed, ...]]:
    """The theorem that a derivation with licences begins with."""
    blocks = frozenset(data.licences)
    checked = _kernel(-1, verify_program, data.start, prover, Entry(licensed=blocks))
    if not isinstance(checked, tuple):
        raise _refused(-1, checked, "the licences: ")
    found = _kernel(-1, licensed, theorem, blocks, prover)
    if isinstance(found, tuple):
        raise _refused(-1, found[1], "the licences: ")
    return found, tuple(_owed(checked[1]))


def _read_rule(k: int, text: str, scope: Scope, prover: Prover) -> tuple[Rule, list[Owed]]:
    """The rule of a text, and what was owed for the theorems in it, which are derived first."""
    owed: list[Owed] = []

    def derived(value: Any) -> Any:
        if type(value) is not Theorem:
            return value
        theorem, licence, rules = derive(value, prover)
        for o in (*licence, *(o for step in rules for o in step.owed)):
            owed.append(Owed(LEMMA, f"{value.start.name}: {o.claim}", o.given, o.goal, None))
        return theorem

    try:
        rule = Reader(scope, records(), derived).read(text)
        if type(rule) not in RULES:
            raise BadText("this is not a rule")
        if write_rule(rule, scope) != text:
            raise BadText("it is not spelled in the canonical way")
    except BadText as problem:
        raise NotDerived(k, str(problem)) from None
    except NotDerived as problem:
        raise NotDerived(k, f"the theorem in it: {problem}", problem.undecided) from None
    return rule, owed


def _kernel(step: int, call: Any, *arguments: Any) -> Any:
    """A call of the kernel.  Whatever data that somebody wrote brings about there is no proof, and no crash."""
    try:
        return call(*arguments)
    except Exception as problem:
        raise NotDerived(step, f"{type(problem).__name__}: {problem}") from None


def _owed(discharged: Sequence[Discharged]) -> Iterator[Owed]:
    """The lemmas that an obligation needed, and then itself."""
    for d in discharged:
        for lemma in d.lemmas:
            yield Owed(LEMMA, lemma.obligation.claim, lemma.obligation.given, lemma.obligation.goal, None)
        o = d.obligation
        yield Owed(o.name, o.claim, o.given, o.goal, (o.where, o.place))


def _refused(step: int, refusal: Refusal, what: str = "") -> NotDerived:
    """Why the kernel refused."""
    if isinstance(refusal, NoMatch):
        return NotDerived(step, f"{what}the kernel refuses: {refusal.reason}")
    undecided = isinstance(refusal.verdict, Unknown)
    word = "is not decided" if undecided else "is false"
    return NotDerived(step, f"{what}an obligation {word}: {refusal.obligation.claim}", undecided)


__all__ = [
    "LEMMA", "Applied", "Derived", "NotDerived", "Owed", "Theorem", "as_data", "derive", "derive_program",
    "licences_of", "scope_of", "write_rule",
]  # fmt: skip
