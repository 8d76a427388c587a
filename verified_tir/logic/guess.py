"""Where the kernel asks for a guess: untrusted, replaceable, and never believed.

A fact about an element needs the iteration that stored to it; a store that is to be overwritten needs the instance that
does so; an induction needs a property that is worth trying.  Finding them is search, which has no place here.  Whoever
searches gives terms, and no more than that they are terms of the sorts that are asked for is taken from him: what is
said with them is either an instance of what holds for all values, or is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verified_tir.logic.formula import Term, subterms

_guessers: dict[str, Callable[..., Any]] = {}


def consult(question: str, guesser: Callable[..., Any]) -> None:
    """Ask this one from now on (the package does so when it is imported).

    :param question: ``address`` or ``properties``.
    """
    _guessers[question] = guesser


def solve_address(
    address: tuple[Term, ...], target: tuple[Term, ...], unknowns: list[Term], given: tuple[Term, ...] = ()
) -> tuple[dict[Term, Term], set[Term]] | None:
    """Terms for ``unknowns`` with which ``address`` might be ``target``, and the unknowns on which it does not depend;
    ``None`` if nothing is found.

    :param given: what is known of the unknowns.
    """
    found = _guessers["address"](address, target, unknowns, given) if "address" in _guessers else None
    if found is None:
        return None
    values = {u: found[0][u] for u in unknowns if u in found[0]}
    if len(values) < len(unknowns) or any(type(t) is not type(u) or t.sort != u.sort for u, t in values.items()):
        return None
    return values, {u for u in unknowns if u in found[1]}


def properties(value: Term, defined: Term, chosen: bool) -> list[tuple[str, Term]]:
    """Formulas in ``value`` and ``defined``, and nothing else that is unknown, that may be invariants of an element;
    each with a name for people.

    (A formula that spoke of an iteration's variable as well would be proved of this iteration's store, and believed of
    all others.)

    :param chosen: what is stored to the element is chosen from several values.
    """
    found = _guessers["properties"](value, defined, chosen) if "properties" in _guessers else []
    return [(str(name), holds) for name, holds in found if _speaks_of(holds, value, defined)]


def _speaks_of(holds: Term, value: Term, defined: Term) -> bool:
    if type(holds) is not type(value) or holds.sort != defined.sort:
        return False
    return all(t in (value, defined) for t in subterms(holds) if t.op in ("var", "app"))
