"""Guessing inverses of addresses.

Nothing here is trusted: the caller proves that the guess is one (``a(h(x)) = x`` and ``h(x)`` in the domain are
premises
of the fact, and that only the witness touches x is an obligation).
"""

from __future__ import annotations

from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def solve_address(
    address: tuple[Term, ...], target: tuple[Term, ...], unknowns: list[Term], given: tuple[Term, ...] = ()
) -> tuple[dict[Term, Term], set[Term]] | None:
    """Terms for ``unknowns`` in terms of ``target`` such that ``address`` becomes ``target``, or ``None``.

    An unknown that the address does not determine takes the value that ``given`` demands of it, or its lower bound if
    that is named there; those are returned too.
    """
    solution: dict[Term, Term] = {}
    pending = list(zip(address, target, strict=True))
    _split_digits(pending, set(unknowns))
    _merge_quotients(pending)
    remainders = [(a.args[0], x) for a, x in pending if a.op == "mod"]
    _solve_all(pending, unknowns, solution)
    _solve_all(remainders, unknowns, solution)  # if nothing else says what e of e mod c is: perhaps itself, as of lanes
    loose = {u for u in unknowns if u not in solution}
    for u in unknowns:
        if u in loose:
            value = _demanded(u, loose, given)
            if value is None:
                return None
            solution[u] = f.replace(value, solution)
    return solution, loose


def _solve_all(pending: list[tuple[Term, Term]], unknowns: list[Term], solution: dict[Term, Term]) -> None:
    """What is solved of some equations goes from them, and is in the solution."""
    if all(u in solution for u in unknowns):
        return
    for _ in range(len(unknowns) + 1):
        progress = False
        for a, x in list(pending):
            if _solve(a, x, unknowns, solution):
                pending.remove((a, x))
                progress = True
        if all(u in solution for u in unknowns) or not progress:
            break


def _demanded(u: Term, loose: set[Term], given: tuple[Term, ...]) -> Term | None:
    """``t`` where ``u = t`` is given, else ``low`` where ``low <= u`` is."""
    for g in given:
        if g.op == "=" and u in g.args:
            other = g.args[1] if g.args[0] is u else g.args[0]
            if loose.isdisjoint(f.subterms(other)):
                return other
    return next((g.args[0] for g in given if g.op == "<=" and g.args[1] is u), None)


def _split_digits(pending: list[tuple[Term, Term]], unknowns: set[Term]) -> None:
    """``8 * (e div c) + v = x``, as fused loops of tiles have it: quotients, remainders and unknowns are the digits of
    x, that of the largest multiple first."""
    for a, x in list(pending):
        linear = _linear(a)
        if linear is None or a in linear:
            continue
        parts = [(k, t) for t, k in linear.items() if t is not None and not unknowns.isdisjoint(f.subterms(t))]
        compound = [t for _, t in parts if t not in unknowns]
        if not compound or any(t.op not in ("div", "mod") for t in compound) or any(k <= 0 for k, _ in parts):
            continue
        pending.remove((a, x))
        rest = f.sub(x, _sum({t: k for t, k in linear.items() if (k, t) not in parts}))
        for k, t in sorted(parts, key=lambda part: -part[0]):
            pending.append((t, f.floordiv(rest, f.integer(k))))
            rest = f.floormod(rest, f.integer(k))


def _merge_quotients(pending: list[tuple[Term, Term]]) -> None:
    """``e div c`` and ``e mod c`` together determine e."""
    for a, x in list(pending):
        if a.op != "div":
            continue
        for b, y in list(pending):
            if b.op == "mod" and b.args == a.args:
                pending.append((a.args[0], f.add(f.mul(x, a.args[1]), y)))
                _merge_quotients_at(pending)
                return


def _merge_quotients_at(pending: list[tuple[Term, Term]]) -> None:
    """Once more, for maps that split twice."""
    seen = {a for a, _ in pending}
    for a, x in list(pending):
        if a.op == "div":
            for b, y in list(pending):
                if b.op == "mod" and b.args == a.args and a.args[0] not in seen:
                    pending.append((a.args[0], f.add(f.mul(x, a.args[1]), y)))
                    _merge_quotients_at(pending)
                    return


def _linear(t: Term) -> dict[Term | None, int] | None:
    """``t`` as a sum of integer multiples of atoms (``None`` stands for 1)."""
    if t.op == "const":
        return {None: f.value_of(t)}
    if t.op in ("+", "-"):
        left, right = _linear(t.args[0]), _linear(t.args[1])
        if left is None or right is None:
            return None
        sign = 1 if t.op == "+" else -1
        for atom, k in right.items():
            left[atom] = left.get(atom, 0) + sign * k
        return left
    if t.op == "*" and t.args[0].op == "const":
        inner = _linear(t.args[1])
        return None if inner is None else {a: k * f.value_of(t.args[0]) for a, k in inner.items()}
    return {t: 1}


def _sum(parts: dict[Term | None, int]) -> Term:
    total = f.integer(parts.get(None, 0))
    for atom, k in parts.items():
        if atom is not None and k:
            total = f.add(total, f.mul(f.integer(k), atom))
    return total


def _solve_product(linear: dict[Term | None, int], x: Term, unknowns: list[Term], solution: dict[Term, Term]) -> bool:
    """``e * m + v = x`` with unknowns in e and at most one besides, v: e is the quotient by m, v the remainder."""
    free = set(unknowns)
    products = [t for t in linear if t is not None and t.op == "*" and not free.isdisjoint(f.subterms(t))]
    others = [t for t in linear if t is not None and t in free]
    known = {t: k for t, k in linear.items() if t not in products and t not in others}
    if len(products) != 1 or len(others) > 1 or any(linear[t] != 1 for t in (*products, *others)):
        return False
    inside, factor = products[0].args
    if not free.isdisjoint(f.subterms(factor)):
        inside, factor = factor, inside
    if not free.isdisjoint(f.subterms(factor)) or any(
        t is not None and not free.isdisjoint(f.subterms(t)) for t in known
    ):
        return False
    rest = f.sub(x, _sum(known))
    for v in others:
        solution[v] = f.floormod(rest, factor)
    return _solve(inside, f.floordiv(rest, factor), unknowns, solution)


def _solve(a: Term, x: Term, unknowns: list[Term], solution: dict[Term, Term]) -> bool:
    """One equation: with one unknown left, isolate it; with several, peel them off by falling coefficient."""
    linear = _linear(f.replace(a, solution))
    if linear is None:
        return False
    if _solve_product(linear, x, unknowns, solution):
        return True
    open_ones = [(k, u) for u, k in linear.items() if u is not None and u in unknowns and k]
    if not open_ones:
        return True
    known = {u: k for u, k in linear.items() if u is None or u not in unknowns}
    if any(u is not None and any(v in f.subterms(u) for v in unknowns) for u in known):
        return False
    rest = f.sub(x, _sum(known))
    if len(open_ones) == 1 and open_ones[0][0] < 0:
        k, u = open_ones[0]
        solution[u] = f.floordiv(f.neg(rest), f.integer(-k))
        return True
    open_ones.sort(key=lambda pair: -abs(pair[0]))
    for k, u in open_ones:
        if k < 0:
            return False
        solution[u] = f.floordiv(rest, f.integer(k))
        rest = f.floormod(rest, f.integer(k)) if k > 1 else f.sub(rest, solution[u])
    return True
