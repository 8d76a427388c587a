"""Programs that were proved to have a meaning: which they are, and where a program says what cannot be proved."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakSet

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, Seq
from verified_tir.kernel.begin import begin
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.region import evaluation
from verified_tir.logic.verdict import Discharged
from verified_tir.semantics.encode import Unencodable

_MEANINGFUL: WeakSet[PrimFunc] = WeakSet()


def has_meaning(func: PrimFunc) -> bool:
    """Whether :func:`prove_meaning` has proved in this process that this program has a meaning on any arguments.

    ``p ⊑ p`` is a theorem of every program p, also of one that leaves its arrays; machine code is made of those only
    that do not.
    """
    return type(func) is PrimFunc and func in _MEANINGFUL


def prove_meaning(
    func: PrimFunc, prover: Prover, entry: Entry | None = None
) -> tuple[Discharged, ...] | NoMatch | Unproved:
    """What was proved of the program, or the first thing that could not be.

    :param entry: what is assumed of the arguments; the program is remembered if that is nothing.
    """
    found = prove_program(func, prover, entry or Entry())
    match found:
        case NoMatch(where=(), reason=reason):
            return NoMatch(_inexpressible(func, entry or Entry()), reason)
        case tuple() if entry is None:
            _MEANINGFUL.add(func)
    return found


def _inexpressible(func: PrimFunc, entry: Entry) -> Path:
    """The first statement that says what has no form in the logic; that of the whole body if there is none."""
    context = begin(func, replace(entry, definite=True))
    place: Path = ()
    try:
        for path, stmt, here in context.places(func.body):
            place = path
            if not isinstance(stmt, (Seq, Block)):
                evaluation(here, stmt)
    except (Unencodable, IRError):
        return place
    return ()
