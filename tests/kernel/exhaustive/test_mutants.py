"""The enumeration notices a kernel that asks too little.

Each mutant drops or weakens one thing that the kernel does; some family must then hold a program on which the mutant
accepts a step and the interpreter disagrees.  A mutant that nobody notices is a question that no grammar needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.exhaustive import family as families
from tests.kernel.exhaustive.campaign import FAMILIES
from tests.kernel.exhaustive.family import Exploration, Family, explore, plain_solver
from verified_tir.elaborate import claims
from verified_tir.ir.outside import shown
from verified_tir.ir.stmt import SKIP, For, Seq
from verified_tir.kernel import access, context, entry, facts, obligation, race_free, reaching_definitions, theorem
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.rules import (
    bind,
    call,
    common,
    insert,
    last_write,
    reassociate,
    recompute,
    reduction,
    reorder,
    rewrite,
    skeleton,
    stage,
)
from verified_tir.logic import formula as f

Patch = pytest.MonkeyPatch
BY_NAME: dict[str, Family] = {family.name: family for family in FAMILIES}


def nothing(*_: object, **__: object) -> Iterator[Any]:
    """No questions."""
    return iter(())


def never(*_: object, **__: object) -> bool:
    return False


def no_blocks(*_: object, **__: object) -> set[Any]:
    """Nothing is read."""
    return set()


def all_of_them(known: object, before: object, stmt: object, invariants: Any, *_: object, **__: object) -> Any:
    """Every store keeps them."""
    return invariants


def untouched(*asked: Any) -> reaching_definitions.Run | None:
    """No store touches the element."""
    run = reaching_definitions.ran(*asked)
    return run and replace(run, aliasing=())


def always(*_: object, **__: object) -> bool:
    return True


def without(name: str, claim: str = "") -> Callable[[Patch], None]:
    """Questions of that name (with that in their claim) are not asked."""

    def mutate(patch: Patch) -> None:
        original = obligation.discharge

        def lenient(prover: Any, questions: Iterable[Question], since: int | None = None) -> Any:
            return original(prover, map(waived, questions), since)

        def waived(q: Question) -> Question:
            return replace(q, goal=f.TRUE) if q.name == name and claim in shown(q.claim) else q

        for module in (obligation, theorem, race_free, entry, claims):
            patch.setattr(module, "discharge", lenient)

    return mutate


def setting(owner: object, name: str, value: object) -> Callable[[Patch], None]:
    """One function of the kernel replaced by another."""
    return lambda patch: patch.setattr(owner, name, value)


def both(*mutations: Callable[[Patch], None]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        for m in mutations:
            m(patch)

    return mutate


def changes_unseen(*modules: object) -> Callable[[Patch], None]:
    return both(*[setting(m, "changes", never) for m in modules])


def bounds_after_versions(patch: Patch) -> None:
    """The bounds of a loop are read from the memory that its body has changed."""
    original = context.Context.enter

    def enter(self: Any, stmt: Any, step: int) -> Any:
        if isinstance(stmt, For):
            self.ran(stmt)
            self.bind_loop(stmt)
            return stmt.body
        return original(self, stmt, step)

    patch.setattr(context.Context, "enter", enter)


def nothing_executes(patch: Patch) -> None:
    """A loop or branch that ran left memory as it was."""
    original = context.Context.execute

    def execute(self: Any, stmt: Any) -> None:
        if not isinstance(stmt, Seq) and isinstance(stmt, For):
            return
        original(self, stmt)

    patch.setattr(context.Context, "execute", execute)


def unsafe_is_safe(*modules: object) -> Callable[[Patch], None]:
    return both(*[setting(m, "safe_questions", nothing) for m in modules])


def first_order_only(patch: Patch) -> None:
    """A licence asks only about writes of the first iteration."""
    original = race_free.conflicts

    def half(xs: Any, ys: Any) -> Any:
        return (p for p in original(xs, ys) if p[0].write)

    patch.setattr(race_free, "conflicts", half)


def never_ran(context: Any, loop: Any, now: Any) -> Any:
    """No iteration of a loop came before this one."""
    return context, SKIP


def flat_views(patch: Patch) -> None:
    """Views are told apart by their indices."""
    patch.setattr(context.Context, "several_views", never)


MUTANTS: dict[str, tuple[Callable[[Patch], None], tuple[str, ...]]] = {
    "bounds after versions": (bounds_after_versions, ("bounds read",)),
    "loops leave memory alone": (nothing_executes, ("invariants", "facts")),
    "views by their indices": (flat_views, ("pair", "facts")),
    "stores never touch": (setting(facts, "ran", untouched), ("invariants", "facts")),
    "invariants always kept": (setting(facts, "kept", all_of_them), ("float invariants",)),
    "statements that conflict change places": (setting(reorder, "no_dependence", nothing), ("pair",)),
    "iterations that conflict change their order": (setting(reorder, "no_dependence", nothing), ("two-loop nests",)),
    "bounds may change": (changes_unseen(reorder), ("pair", "one loop", "two loops")),
    "guards may change": (changes_unseen(reorder), ("guards between",)),
    "conditions may change": (changes_unseen(reorder), ("moved conditions",)),
    "value may change (bind)": (changes_unseen(bind), ("names", "names gone")),
    "middle anywhere": (without("bijection", "is an old one"), ("one loop",)),
    "any bounds are equal": (without("bijection"), ("neighbours", "two loops")),
    "negative extents join": (without("bijection", "is run"), ("neighbours",)),
    "any loop runs once": (without("bijection", "as itself"), ("one loop",)),
    "iterations invented": (without("bijection", "is an old one"), ("two-loop nests", "one-loop nests")),
    "iterations twice": (without("bijection", "run twice"), ("one-loop nests", "two-loop nests")),
    "iterations lost": (without("bijection", "is run"), ("two-loop nests", "one-loop nests")),
    "iterations disguised": (without("bijection", "as itself"), ("two-loop nests", "one-loop nests")),
    "no race freedom": (without("race"), ("marked loops",)),
    "arguments overlap (call)": (without("call", "do not overlap"), ("calls",)),
    "arguments fold (call)": (without("call", "address the same element"), ("calls",)),
    "arguments end early (call)": (without("call", "may be accessed"), ("calls",)),
    "pointers to anywhere (call)": (setting(call, "_address_taken", never), ("pointers",)),
    "half of race freedom": (first_order_only, ("marked loops",)),
    "unsafe is safe (rewrite)": (unsafe_is_safe(rewrite), ("values", "conditions")),
    "unsafe is safe (insert)": (unsafe_is_safe(insert), ("in and out",)),
    "unsafe is safe (bind)": (unsafe_is_safe(bind), ("names",)),
    "unsafe is safe (shared)": (unsafe_is_safe(common), ("moved conditions",)),
    "bounds unsafe (sink)": (setting(skeleton, "evaluated_safely", nothing), ("moved conditions",)),
    "anything equals": (without("equal"), ("values",)),
    "any condition": (without("bijection", "the branch is always"), ("branches", "facts")),
    "no-op unasked (insert)": (without("no-op", "inserted"), ("in and out",)),
    "no-op unasked (erase)": (without("no-op", "erased"), ("in and out",)),
    "dead stores are read": (without("dead-store", "no later read sees"), ("dead stores",)),
    "dead stores survive": (without("dead-store", "certainly overwritten"), ("dead stores",)),
    "values survive": (without("scope"), ("allocated",)),
    "elements share a place": (without("layout", "to the same place"), ("storage", "compaction")),
    "elements leave the shape": (without("layout", "within the new shape"), ("storage", "relayout", "compaction")),
    "padding anywhere": (without("layout", "exactly where"), ("relayout",)),
    "what never ran runs again": (without("recompute", "has run before"), ("recomputed",)),
    "what was overwritten runs again": (without("dependence", "the write and the write"), ("recomputed",)),
    "inputs that changed": (without("dependence", "the read and the write"), ("recomputed",)),
    "what reads its own past runs again": (without("recompute", "before it reads it"), ("recomputed",)),
    "stores of the producer's other runs": (
        setting(access, "lexicographic_less", lambda *_: f.FALSE),
        ("recomputed",),
    ),
    "stores of earlier iterations": (setting(last_write, "earlier_iterations", never_ran), ("recomputed",)),
    "unsafe is safe (recompute)": (setting(skeleton, "evaluated_safely", nothing), ("recomputed",)),
    "values may change (recompute)": (changes_unseen(recompute), ("by memory",)),
    "accesses outside the region": (without("stage", "in the region"), ("staged",)),
    "accesses past the copy": (without("dependence", "misses the region"), ("staged",)),
    "the copy is not up to date": (setting(stage, "happens_before", lambda stmt, a, b: f.FALSE), ("staged",)),
    "an earlier iteration overwrites it": (setting(access, "lexicographic_less", lambda _: f.FALSE), ("staged",)),
    "two places for an element": (without("stage", "has one place"), ("staged",)),
    "unsafe is safe (stage)": (both(unsafe_is_safe(stage), setting(stage, "evaluated_safely", nothing)), ("staged",)),
    "dead results are read": (without("dead-store", "no later read sees"), ("dead at the end",)),
    "terms outside the groups": (without("partial", "goes to one"), ("reduced",)),
    "terms in the group of another element": (without("partial", "belongs to"), ("reduced",)),
    "groups of elements out of bounds": (unsafe_is_safe(reassociate), ("reduced",)),
    "unsafe groups": (setting(reassociate, "evaluated_safely", nothing), ("reduced",)),
    "fewer groups than none": (setting(reassociate, "extents_safe", nothing), ("reduced",)),
    "sums that read themselves": (setting(reduction, "read_blocks", no_blocks), ("reduced",)),
    "sums of floats are exact": (without("rounding", "same bits"), ("float reductions",)),
    "terms that are NaN": (without("rounding", "is NaN"), ("float reductions",)),
    "zeros of both signs": (without("rounding", "is -0.0"), ("float reductions",)),
    "terms that are undefined": (without("safety", "is defined"), ("bool reductions",)),
    "unsafe is safe (reduction)": (setting(reduction, "evaluated_safely", nothing), ("bool reductions",)),
}
"""What is dropped, and the families of which one at least must notice."""


TURNS = 1000
"""So many programs of a family are tried."""
NOTICED = Path(__file__).with_name("noticed.json")
"""Family and turn that noticed each mutant; there it is looked first.  ``--update-golden`` writes it anew."""


def noticed(name: str) -> tuple[str, int] | None:
    """The first family and turn that show a step which the interpreter disagrees with."""
    for family in (BY_NAME[w] for w in MUTANTS[name][1]):
        unsound = explore(family, TURNS, look_at_refusals=10**9, stop_after=1).unsound
        if unsound:
            index = int(unsound[0].split()[0].removeprefix("#"))
            return family.name, next(turn for turn in range(TURNS) if family.index(turn) == index)
    return None


def known_to_notice(name: str) -> bool:
    """Whether the program that noticed it the last time does so again."""
    where, turn = json.loads(NOTICED.read_text(encoding="utf-8")).get(name, ("", 0))
    exploration = Exploration(BY_NAME[where], TURNS, 10**9) if where in BY_NAME else None
    return exploration is not None and bool(exploration.advance(turn, turn + 1, 1).unsound)


@pytest.mark.sample(14)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_kernel_that_asks_too_little_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    MUTANTS[name][0](monkeypatch)
    monkeypatch.setattr(families, "SOLVER", plain_solver())
    if request.config.getoption("--update-golden"):
        table = json.loads(NOTICED.read_text(encoding="utf-8")) if NOTICED.exists() else {}
        table = {n: at for n, at in (table | {name: noticed(name)}).items() if n in MUTANTS}
        NOTICED.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert known_to_notice(name) or noticed(name), f"nobody notices: {name}"


def test_the_sound_kernel_is_not_noticed_at_these_places() -> None:
    places = json.loads(NOTICED.read_text(encoding="utf-8"))
    assert places.keys() == MUTANTS.keys()
    assert [name for name in places if known_to_notice(name)] == []
