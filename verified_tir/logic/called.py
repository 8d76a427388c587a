"""How the program calls the unknowns of a question: for what people read.  Nothing is decided by it."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import walk
from verified_tir.logic import formula as f
from verified_tir.logic.verdict import Obligation

_UNNAMED = frozenset({"again", "call", "held", "lane", "may_run", "undef", "x"})
"""What the logic calls unknowns that are not variables of a program."""


def called(obligation: Obligation, *programs: PrimFunc) -> dict[str, str]:
    """The integer variables of a question, by their names in the logic.

    A second one of the same name belongs to a second iteration, and has a prime.

    :param programs: the programs that it is about: what only their buffers are called is not a variable.
    """
    mentioned = {t.payload for t in f.subterms(obligation.goal, *obligation.given) if t.op == "var" and t.sort == f.INT}
    numbered = [str(name).rpartition("!") for name in mentioned]
    nodes = {n for func in programs for n in walk(func)}
    own = {n.name for n in nodes if isinstance(n, Var) and n.dtype.code != "handle"}
    unnamed = (_UNNAMED | {n.name for n in nodes if isinstance(n, Buffer)}) - own
    names: dict[str, str] = {}
    for name, mark, number in sorted((n for n in numbered if n[1]), key=lambda parts: int(parts[2])):
        if name not in unnamed:
            seen = sum(other.rstrip("'") == name for other in names.values())
            names[f"{name}{mark}{number}"] = name + "'" * seen
    return names
