"""Theorems, which only the kernel makes.

``Refines(before, after, relation, reassociated)`` says: on every pair of entry memories related by ``relation``, if
``before`` runs without undefined behaviour then so does ``after``, and every parameter's elements, read through the
relation, end up at least as defined and with the same bits; or, for blocks in ``reassociated``, with those of some
order of the same terms (see ``open_bits``).

What a theorem says is kept by this module and not by the object that stands for it: there is nothing in the object that
could be changed, copied or forged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, final
from weakref import WeakKeyDictionary

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Discharged, ParameterMap
from verified_tir.kernel.step import Rewrite, Rule


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One applied rule: what it was, the program it gave, and the obligations that were proved for it."""

    rule: Rule
    after: PrimFunc
    obligations: tuple[Discharged, ...]
    made: Rewrite
    """All that the rule computed."""


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """What a theorem says, and how it was derived."""

    start: PrimFunc
    """The program that the derivation began with; ``before`` is that with the axioms that were put in front of it."""
    before: PrimFunc
    after: PrimFunc
    definite: bool
    relation: tuple[ParameterMap, ...] = ()
    paddings: tuple[Padding, ...] = ()
    reassociated: frozenset[Var] = frozenset()
    derivation: tuple[Step, ...] = ()
    licences: Mapping[Var, frozenset[Var]] = field(default_factory=dict)
    """The licensed blocks of ``after``, each with those of ``start`` whose reductions go on in it."""
    proved_by: frozenset[str] = frozenset()
    """The solvers that were asked, by name and version, and whether verdicts that lay on a disk were used."""

    @property
    def entry(self) -> Entry:
        """The assumptions under which ``after`` is looked at."""
        return self.entry_of(self.paddings, self.licences)

    def entry_of(self, paddings: tuple[Padding, ...], licensed: Iterable[Var]) -> Entry:
        """The same with other padding and licences.  The arrays of the first program count as passed: their extents are
        checked at the call."""
        return Entry(paddings, definite=self.definite, shapes=self.start.buffers, licensed=frozenset(licensed))


_STATEMENTS: WeakKeyDictionary[Refines, Statement] = WeakKeyDictionary()


@final
class Refines:
    """A theorem.  Made by the kernel only; every attribute is read-only."""

    __slots__ = ("__weakref__",)

    def __init__(self, *_: object) -> None:
        raise TypeError("a theorem is made by the kernel: use reflexive() and apply()")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a theorem does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a theorem does not change")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("Refines cannot be subclassed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a theorem cannot be pickled: prove it again")

    def __copy__(self) -> Refines:
        return self

    def __deepcopy__(self, memo: object) -> Refines:
        return self

    @property
    def before(self) -> PrimFunc:
        return statement_of(self).before

    @property
    def after(self) -> PrimFunc:
        return statement_of(self).after

    @property
    def relation(self) -> tuple[ParameterMap, ...]:
        """Layout changes of parameters, in the order in which they were made."""
        return statement_of(self).relation

    @property
    def paddings(self) -> tuple[Padding, ...]:
        """What is assumed of the padding of the parameters of ``after``."""
        return statement_of(self).paddings

    @property
    def reassociated(self) -> frozenset[Var]:
        """Blocks of the first program whose float reductions were put into another order; empty means equal bits."""
        return statement_of(self).reassociated

    @property
    def derivation(self) -> tuple[Step, ...]:
        return statement_of(self).derivation

    @property
    def definite(self) -> bool:
        """Whether it is a theorem about arguments of definite values only (but for padding declared otherwise)."""
        return statement_of(self).definite

    @property
    def licensed(self) -> frozenset[Var]:
        """Blocks of ``after`` whose float reductions may be put into another order."""
        return frozenset(statement_of(self).licences)

    @property
    def proved_by(self) -> frozenset[str]:
        """The solvers that were asked, by name and version, and whether verdicts that lay on a disk were used."""
        return statement_of(self).proved_by

    @property
    def entry(self) -> Entry:
        """The assumptions under which ``after`` is looked at."""
        return statement_of(self).entry

    def __repr__(self) -> str:
        return f"<theorem: {self.before.name} ⊑ {self.after.name}, {len(self.derivation)} steps>"


def statement_of(theorem: Refines) -> Statement:
    """What a theorem says.

    :raises TypeError: for whatever the kernel has not made.
    """
    found = _STATEMENTS.get(theorem) if type(theorem) is Refines else None
    if found is None:
        raise TypeError("this is not a theorem: the kernel has not made it")
    return found


def _made(statement: Statement) -> Refines:
    """The theorem that says so.  For ``kernel.theorem`` only."""
    theorem: Refines = object.__new__(Refines)
    _STATEMENTS[theorem] = statement
    return theorem
