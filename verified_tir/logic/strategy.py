"""The search for proofs: what is asked, in which parts, and in which order.

Nothing here is trusted: a question is proved by the steps of its :class:`Deduction`, or not at all.

What is not connected with the goal is left out first.  A conjunction without floats is asked as a whole, and then, as
any other, in its parts.  Floats and hard operations on integers are hidden first, since that suffices wherever the same
is computed of the same (``generalise``).  Z3 decides pure float questions quickly and mixed ones slowly.  So a goal
about floats is then split into an integer part and an IEEE lemma, where givens are of the form ``P ⟹ Q`` with P free of
floats:

1. every such P that follows from the integer givens makes its Q a given, and so does ``P or Q`` if ``not P`` follows;
2. given equations ``x = t`` of floats replace x by t, and boolean terms known to be true become true;
3. what is left is generalised (every maximal term that is not a float operation is hidden), and that lemma is asked
   once: its canonical text is the same wherever it occurs.

Last, the question is asked as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from verified_tir.logic import formula as f
from verified_tir.logic.cases import in_cases
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.divisions import has_many_divisions, work_out
from verified_tir.logic.formula import FLOAT_SORTS, Term, subterms
from verified_tir.logic.generalise import Hidden
from verified_tir.logic.names import has_bits, has_floats, names_in
from verified_tir.logic.partly_known import is_hard
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict

if TYPE_CHECKING:
    from verified_tir.logic.solver import Solver

WITHOUT_FLOATS = Hidden(floats=True)


def attempt(solver: Solver, question: Deduction, small: tuple[Term, ...], quick: bool) -> Verdict:
    """The verdict on a solver's question, with what it took."""
    counts = solver.statistics
    queries, cached, solving = counts.queries, counts.cached, counts.solving
    counts.trivial += question.proved
    verdict = search(question, small if not counts.only_verdicts else (), quick, counts.only_verdicts)
    how = verdict.how
    if counts.queries == queries:
        how = "trivial" if counts.cached == cached else "cached"
    elif how in ("trivial", "cached"):  # of its last part
        how = "z3"
    return replace(verdict, seconds=counts.solving - solving, how=how)


def search(d: Deduction, small: tuple[Term, ...] = (), quick: bool = False, only_verdict: bool = False) -> Verdict:
    """The verdict on a question.

    :param small: terms with which a refutation is sought small first.
    :param quick: leave a question about floats unknown where no lemma proves it.
    :param only_verdict: nobody reads the values of a refutation, so some of the unknowns may have none.
    """
    if d.proved:
        return Proved(how="trivial")
    near = relevant(d.given, d.goal)
    if d.goal.op == "and":
        return _conjunction(d, near, small, quick, only_verdict)
    verdict = _decide(d, near, quick)
    if only_verdict and isinstance(verdict, Refuted):
        return _with_what_is_apart(d, near, verdict)
    if len(near) < len(d.given) and not isinstance(verdict, Proved):
        verdict = _decide(d, d.given, quick)
    if isinstance(verdict, Refuted):
        for bound in (4, 8, 16, 64) if small else ():
            limits = [f.and_(f.le(f.integer(-bound), t), f.le(t, f.integer(bound))) for t in small]
            found = _decide(d, (*d.given, *limits), quick)
            if isinstance(found, Refuted):
                return found
    return verdict


def _with_what_is_apart(d: Deduction, near: tuple[Term, ...], verdict: Refuted) -> Verdict:
    """The verdict on a question that is refuted where the givens are those near the goal.

    The others have no symbol in common with these: a model of them and one of these are one of all.
    """
    others = tuple([g for g in d.given if g not in set(near)])
    return Proved() if others and isinstance(d.ask(others, f.FALSE), Proved) else verdict


def _conjunction(
    d: Deduction, near: tuple[Term, ...], small: tuple[Term, ...], quick: bool, only_verdict: bool
) -> Verdict:
    verdict: Verdict = Unknown("its parts are to be asked") if has_floats(d.goal) else _decide(d, near, quick)
    if isinstance(verdict, Proved):
        return verdict
    if only_verdict and isinstance(verdict, Refuted):
        return _with_what_is_apart(d, near, verdict)
    for part in d.goal.args:
        verdict = d.ask(d.given, part, search=lambda question: search(question, small, quick, only_verdict))
        if not isinstance(verdict, Proved):
            return verdict
    return Proved()


def _decide(d: Deduction, given: tuple[Term, ...], quick: bool) -> Verdict:
    roots = *given, d.goal
    if any(has_floats(t) for t in roots):
        proved = by_lemma(d, given)
        if proved is not None:
            return proved
        if quick:
            return Unknown("it is not decided without the floats, and no float lemma applies")
    elif any(map(has_bits, roots)):
        verdict = d.ask(*partly_known(d, given))
        if isinstance(verdict, Proved):
            return verdict
    if has_many_divisions(d.goal):
        d.ask(given, work_out(d, given))
        if d.proved:
            return Proved(how="divisions")
    return d.ask(given, d.goal)


def partly_known(d: Deduction, given: tuple[Term, ...]) -> tuple[tuple[Term, ...], Term, Hidden]:
    """The question with facts about its hard operations, and these hidden."""
    facts = [t for hard in subterms(*given, d.goal) for t in d.facts(hard)]
    return (*given, *facts), d.goal, Hidden(operations={t for t in subterms(*given, d.goal, *facts) if is_hard(t)})


def relevant(given: tuple[Term, ...], goal: Term) -> tuple[Term, ...]:
    """The givens connected to the goal through shared variables and functions.  Dropping the others loses no proof
    that does not rest on a contradiction among them."""
    names = [names_in(g) for g in given]
    reached = {*names_in(goal)}
    chosen = [False] * len(given)
    grew = True
    while grew:
        grew = False
        for k, own in enumerate(names):
            if not chosen[k] and (own & reached or not own):
                chosen[k] = grew = True
                reached |= own
    return tuple(g for g, c in zip(given, chosen, strict=True) if c)


# -- floats ------------------------------------------------------------------------------------------------------------


def by_lemma(d: Deduction, given: tuple[Term, ...]) -> Proved | Refuted | None:
    """A proof without knowing of floats, by cases, or by a lemma about floats alone; a case in which the goal is false;
    or ``None``."""
    goal = d.goal
    verdict = d.ask(given, goal, WITHOUT_FLOATS, search)
    if isinstance(verdict, Proved):
        return Proved(how="congruence") if has_floats(goal) else verdict
    if not has_floats(goal):
        return None
    cases = in_cases(d, given)
    if isinstance(cases, Refuted):
        return cases
    if cases and isinstance(d.ask((*given, *cases), goal, WITHOUT_FLOATS, search), Proved):
        return Proved(how="cases")
    known = _discharged(d, given)
    hypotheses = [h for h in known if has_floats(h)]
    facts = {h: f.TRUE for h in known if not has_floats(h) and h.op != "const"}
    facts |= {h.args[0]: f.FALSE for h in facts if h.op == "not"}
    for _ in range(3):
        equal = {**facts, **_equations(hypotheses)}
        if not equal:
            break
        equations = [h for h in hypotheses if _is_equation(h)]
        goal, *hypotheses = d.substitute(equal, [goal, *[h for h in hypotheses if not _is_equation(h)]])
        hypotheses += equations
    if d.proved:
        return Proved(how="lemma")
    rest = [h for h in hypotheses if not _is_equation(h)]
    lemma = None
    for conversions_too in (True, False):  # first a lemma about floats alone
        weaker, lemma = lemma, _lemma(rest, goal, conversions_too)
        if lemma != weaker and isinstance(d.ask(lemma[0], goal, Hidden(values=lemma[1])), Proved):
            return Proved(how="lemma")
    return None


def _discharged(d: Deduction, given: Iterable[Term]) -> list[Term]:
    """The givens, part by part, without the premises that follow from the integer givens, and without the alternatives
    that these exclude."""
    plain = tuple(g for g in given if not has_floats(g))
    known: list[Term] = []
    pending = list(given)[::-1]
    while pending:
        h = pending.pop()
        if h.op == "and":
            pending.extend(reversed(h.args))
            continue
        rest = resolved(d, h)
        if rest is h:
            if h.op == "=>" and not has_floats(h.args[0]):
                d.ask(plain, h.args[0], search=search)
            elif h.op == "or" and has_floats(h) and not all(has_floats(a) for a in h.args):
                d.ask(plain, f.and_(*[f.not_(a) for a in h.args if not has_floats(a)]), search=search)
            rest = resolved(d, h)
        (known if rest is h else pending).append(rest)
    return known


def resolved(d: Deduction, t: Term) -> Term:
    """A disjunction (or an implication, which is one) without the alternatives that cannot be."""
    equal: dict[Term, Term] = {}
    if t.op == "=>" and d.knows(t.args[0]):
        equal[t.args[0]] = f.TRUE
    if t.op in ("or", "=>"):
        equal |= {p: f.FALSE for p in (t.args if t.op == "or" else t.args[1:]) if d.knows(f.not_(p))}
    return d.substitute(equal, [t])[0] if equal else t


def _is_equation(h: Term) -> bool:
    return h.op == "=" and h.args[0].sort in FLOAT_SORTS and _direct(h) is not None


def _direct(h: Term) -> tuple[Term, Term] | None:
    a, b = h.args
    if a.op in ("var", "app") and a not in set(subterms(b)):
        return a, b
    if b.op in ("var", "app") and b not in set(subterms(a)):
        return b, a
    return None


def _equations(hypotheses: list[Term]) -> dict[Term, Term]:
    found: dict[Term, Term] = {}
    for h in hypotheses:
        if _is_equation(h):
            pair = _direct(h)
            if pair is not None:
                found.setdefault(*pair)
    return found


def _lemma(hypotheses: list[Term], goal: Term, conversions_too: bool) -> tuple[tuple[Term, ...], frozenset[Term]]:
    """The hypotheses that share something with the goal; and the leaves of these, float or free of floats.

    :param conversions_too: a float made from an integer is a leaf itself, and not the integer in it.
    """
    leaves: set[Term] = set()
    seen: set[Term] = set()

    def visit(root: Term) -> None:
        stack = [root]
        while stack:
            t = stack.pop()
            if t in seen or t.op == "const":
                continue
            seen.add(t)
            if t.op in ("app", "var") or not has_floats(t) or (conversions_too and _converts_an_integer(t)):
                leaves.add(t)
            else:
                stack.extend(t.args)

    visit(goal)
    pending = list(hypotheses)
    chosen: list[Term] = []
    while True:
        reach = {t for t in leaves if t.sort in FLOAT_SORTS}
        near = [h for h in pending if reach & set(subterms(h))]
        if not near:
            break
        for h in near:
            visit(h)
            pending.remove(h)
        chosen.extend(near)
    return tuple(chosen), frozenset(leaves)


def _converts_an_integer(t: Term) -> bool:
    return t.op in ("fp.from_int", "fp.from_bits") and t.args[0].op != "const"
