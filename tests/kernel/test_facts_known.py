"""What is known of memory at a place, asked of :class:`Known` itself.

Whoever searches asks such questions, and may ask others than the search of this package does: whatever he asks, what he
is told is true there, and it is all that he is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.kernel.programs import PROVER, buffer, program
from tests.kernel.test_facts_forged import Lie, after, believed, element, here
from verified_tir.ir import outside
from verified_tir.ir.paths import Path
from verified_tir.kernel.begin import begin, context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Known, Prover
from verified_tir.kernel.induction import DEFINED, Invariant, Supposed, value_of
from verified_tir.kernel.memory import Element, Entered, Entry, Ran, Version, moment
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Proved
from verified_tir.semantics.encode import in_range

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'
NOT_NEGATIVE = f.implies(DEFINED, f.le(f.integer(0), value_of(f.INT)))
COPY_OF_X = "for i in range(4):\n    A[i] = X[i]\n"


def at(text: str, path: Path = (), *, definite: bool = True) -> Context:
    """What is known at a place of a program."""
    return context_at(program(text, PARAMS), path, Entry(definite=definite))


def n_of(where: Context) -> Term:
    return where.env[where.func.params[-1]].value


def local(where: Context, index: int) -> Element:
    """An element of the buffer ``t``."""
    return element(where, "t", index)


def claims(prover: Prover) -> set[str]:
    assert all(isinstance(lemma.verdict, Proved) for lemma in prover.lemmas)
    return {lemma.obligation.claim for lemma in prover.lemmas}


# -- the place --------------------------------------------------------------------------------------------------------


def test_a_question_is_tried_until_it_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was proved with some facts stays proved, though it is not without them."""
    where = after("A[1] = 5")
    e = element(where, "A", 1)

    def attempts(known: Known, *_: object) -> Iterator[Any]:
        yield (), (), True
        yield known.event(e), (), True
        yield (), (), True

    monkeypatch.setitem(outside._answers, "attempts", attempts)
    verdict, used = Prover(PROVER.solver).prove(where, (), f.eq(e.value, f.integer(5)))
    assert isinstance(verdict, Proved) and f.and_(e.defined, f.eq(e.value, f.integer(5))) in used
    assert not isinstance(Prover(PROVER.solver).prove(where, (), f.eq(e.value, f.integer(6)))[0], Proved)


def test_what_was_found_is_kept_while_the_place_is_the_same() -> None:
    prover, where = Prover(PROVER.solver), after("A[1] = 5")
    path, e = tuple(where.path), element(where, "A", 1)
    branch = (*path, f.lt(f.integer(0), n_of(where)))
    inside = prover.known(where, branch)
    assert prover.known(where, branch) is inside
    outside_of_it = prover.known(where, path)
    assert inside.outer is outside_of_it is prover.known(where, path) and outside_of_it.outer is None
    facts = outside_of_it.event(e)
    assert facts and inside.chosen(facts) == facts, "what holds in any case holds in the branch"
    x = element(where, "X", 1)
    assert not inside.is_initialised(x.version) and inside.initialised(x) == ()
    assert not outside_of_it.uninitialised(x.version) and inside.initialised(x) == (x.defined,)
    assert prover.known(where.fork(), branch) is not inside


def test_what_is_plainly_true_is_no_lemma() -> None:
    prover = Prover(PROVER.solver)
    known = prover.known(after("A[1] = 5"), ())
    n = n_of(known.context)
    assert known.follows(f.TRUE, "true") and claims(prover) == set()
    assert known.follows(f.lt(n, f.integer(5)), "false") is False and claims(prover) == set()
    assert known.follows(f.or_(f.lt(n, f.integer(5)), f.lt(f.integer(3), n)), "small or large")
    assert claims(prover) == {"small or large"}


# -- events -----------------------------------------------------------------------------------------------------------


def test_what_an_event_says_of_an_element_of_its_block() -> None:
    """The value that was stored there, the older one elsewhere; of integers always, in which range they lie."""
    where = after("A[1] = n")
    known, n = here(where), n_of(where)
    for index in (1, 2):
        e = element(where, "A", index)
        older = known.older(e)
        assert older is not None
        unchanged = f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))
        said = f.and_(e.defined, f.eq(e.value, n)) if index == 1 else unchanged
        assert known.event(e) == (said, in_range(e.value, e.buffer.dtype))
    where = at("t = T.alloc_buffer((8,), 'int32')\nA[1] = t[1]", (0,))
    e = local(where, 1)
    assert here(where).event(e) == (f.not_(e.defined), in_range(e.value, e.buffer.dtype))


def test_a_byte_that_was_stored_is_no_element_of_a_wider_type() -> None:
    """The byte V[1] lies in A[0]; A[1] is counted from the same place, in another unit."""
    where = at("V = T.decl_buffer((32,), 'int8', data=A.data)\nV[1] = T.int8(7)\nB[0] = A[1]", (0, 1))
    for index in (0, 1):
        e = element(where, "A", index)
        assert here(where).event(e) == (in_range(e.value, e.buffer.dtype),)
    v = element(where, "V", 1)
    assert here(where).event(v) == (f.and_(v.defined, f.eq(v.value, f.integer(7))), in_range(v.value, v.buffer.dtype))


def test_what_holds_of_a_sum_in_any_order_may_be_used() -> None:
    func = program("B[0] = B[0] + A[0]", 'A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")')
    where = begin(func, Entry(licensed=frozenset({buffer(func, "B").data})))
    where.execute(func.body)
    ((held, facts),) = where.held_facts.items()
    known = here(where)
    assert facts and known.chosen(facts) == ()
    assert known.held(held) == facts == known.chosen(facts)
    assert known.held(f.TRUE) == ()


# -- elements that are none -------------------------------------------------------------------------------------------


def test_of_a_forged_element_nothing_is_known_of_an_initialised_block() -> None:
    where = after(COPY_OF_X)
    known, e = here(where), element(where, "X", 1)
    assert known.uninitialised(e.version) == frozenset()
    assert known.initialised(replace(e, defined=f.FALSE)) == ()
    assert known.initialised(e) == (e.defined,)


def test_what_was_assumed_of_one_element_is_not_said_of_another() -> None:
    where = after("for i in range(8):\n    T.assume(A[i] == i)")
    known, e, other = here(where), element(where, "A", 2), element(where, "A", 6)

    def assumed(x: Element, iteration: int = 2) -> list[Term]:
        found: list[Term] = []
        for j, run in enumerate(known.ended(x)):
            (i,) = run.inner
            loads = [t for t in f.subterms(run.assumed[0].condition) if t.payload == e.value.payload]
            found += [t for load in loads for t in known.instantiate(x, j, 0, {i: f.integer(iteration)}, load)]
        return found

    forged = replace(e, value=other.value, defined=other.defined)
    assert known.ended(forged) == () and not assumed(forged)
    assert believed(known, assumed(e), f.eq(e.value, f.integer(2)))
    assert not believed(known, assumed(e), f.eq(other.value, f.integer(2)))
    assert not believed(known, assumed(e, 6), f.eq(e.value, f.integer(6)))


def test_what_was_assumed_is_said_of_the_element_by_its_own_name() -> None:
    """Where A[n] is A[2], so that what is asked of A[n] need not be seen through the equality."""
    where = after("for i in range(8):\n    T.assume(A[i] == 3)")
    known, n = here(where), n_of(where)
    e = where.load_from(where.memory, buffer(where.func, "A"), (n,), None)
    (run,) = known.ended(e)
    (i,) = run.inner
    (load,) = {t for t in f.subterms(run.assumed[0].condition) if t.payload == e.value.payload}
    (said,) = known.instantiate(e, 0, 0, {i: f.integer(2)}, load)
    assert said is f.implies(f.eq(f.integer(2), n), f.and_(f.eq(e.value, f.integer(3)), e.defined))


@pytest.mark.parametrize(("index", "ran"), [(2, True), (5, False), (9, False)])
def test_what_was_assumed_where_nothing_ran_is_not_known(index: int, *, ran: bool) -> None:
    where = after("for i in range(8):\n    if i < 4:\n        T.assume(A[i] == 3)")
    known, e = here(where), element(where, "A", index)
    (run,) = known.ended(e)
    (i,) = run.inner
    facts = known.instantiate(e, 0, 0, {i: f.integer(index)})
    assert believed(known, facts, f.eq(e.value, f.integer(3))) is ran


def test_an_iteration_that_has_not_been_reached_was_not_safe() -> None:
    """``5 // X[7]`` comes later, and perhaps not at all."""
    text = "for i in range(8):\n    A[i] = 5 // X[i]"
    on_the_way, at_end = at(text, (0,)), after(text)
    assert here(on_the_way).run(element(on_the_way, "A", 1)) is not None
    assert here(on_the_way).ended(element(on_the_way, "A", 1)) == ()
    assert len(here(at_end).ended(element(at_end, "A", 1))) == 1


def test_a_load_of_another_block_is_not_the_element() -> None:
    where = after("for i in range(8):\n    T.assume(A[i] == X[i])")
    known, e = here(where), element(where, "A", 2)
    (run,) = known.ended(e)
    (i,) = run.inner
    condition = run.assumed[0].condition
    (loaded,) = {t for t in f.subterms(condition) if t.payload == element(where, "X", 2).value.payload}
    three = f.eq(element(where, "A", 3).value, element(where, "X", 3).value)
    namesake = f.var(str(e.value.payload), f.INT)
    for load in (None, loaded, namesake):
        facts = known.instantiate(e, 0, 0, {i: f.integer(3)}, load)
        assert believed(known, facts, three)


# -- statements that ran ----------------------------------------------------------------------------------------------


def test_a_run_is_looked_at_once() -> None:
    """Its witnesses, and what was asked of them, are of one arbitrary run."""
    where = after(COPY_OF_X)
    known, e = here(where), element(where, "A", 1)
    run = known.run(e)
    assert run is not None and known.run(e) is run
    assert known.reaching_definition(e, 0)


def test_a_parameter_that_nobody_wrote_has_no_reaching_definition() -> None:
    where = after(COPY_OF_X)
    known, e = here(where), element(where, "X", 1)
    assert known.run(e) is None and known.reaching_definition(e, 0) == () == known.frame(e)


# -- induction --------------------------------------------------------------------------------------------------------


def test_what_an_induction_supposes_it_supposes_of_its_own_moments() -> None:
    """Neither of what was there before it, nor of what another walk makes, nor of an element that is none."""
    where = at("A[1] = n\nA[2] = n")
    first, second = where.func.body.stmts  # type: ignore[attr-defined]
    before, begun = element(where, "A", 1), moment()
    where.execute(first)
    elsewhere = where.fork()
    elsewhere.execute(second)
    e, foreign = element(where, "A", 1), element(elsewhere, "A", 1)
    defined = Invariant("is defined", DEFINED, frozenset({e.version.block}))
    outer = here(where)
    known = Known(PROVER.solver, where, outer.base, [], outer, Supposed(defined, begun, moment()))
    assert known.suppose(e) == (e.defined,) == known.chosen((e.defined,))
    for other in (before, foreign, replace(e, defined=f.FALSE)):
        assert known.suppose(other) == ()
    assert outer.suppose(e) == () == outer.chosen((e.defined,))


def test_what_holds_since_a_store_needs_one_that_ran() -> None:
    """Iterations of a ``while`` loop are not told apart, so none is that of the store; it may have held before."""
    where = after("A[0] = 5\nwhile X[0] > 0:\n    X[0] = X[0] - 1\n    A[0] = 5")
    known, e, five = here(where), element(where, "A", 0), f.implies(DEFINED, f.eq(value_of(f.INT), f.integer(5)))
    run = known.run(e)
    assert run is not None and run.witnesses == (None,)
    assert known.invariant(e, "is five", five, 0) == ()
    before, now = (f.implies(x.defined, f.eq(x.value, f.integer(5))) for x in (run.older, e))
    assert known.invariant(e, "is five", five) == (f.implies(before, now),)


@pytest.mark.parametrize("premise", [True, False])
def test_what_is_given_where_the_question_stands_is_given_to_the_induction(*, premise: bool) -> None:
    where = after("A[0] = 0\nfor i in range(8):\n    A[0] = n")
    given = (f.le(f.integer(0), n_of(where)),) if premise else ()
    known = Prover(PROVER.solver).known(where, (*where.path, *given))
    assert bool(known.invariant(element(where, "A", 0), "is not negative", NOT_NEGATIVE)) is premise


def test_the_hypothesis_is_supposed_whoever_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone shows that a maximum with what is not negative is not: nothing need be looked up at the store."""

    def facts(known: Known, roots: tuple[Term, ...]) -> tuple[Term, ...]:
        assert known.supposed is None, "what the hypothesis shows is asked with it alone"
        elements = [known.context.element_of(t) for t in f.subterms(*roots)]
        return tuple(t for e in elements if e is not None for t in known.event(e))

    monkeypatch.setitem(outside._answers, "facts", facts)
    where = after("A[0] = 0\nfor i in range(8):\n    A[0] = T.max(A[0], X[i])")
    e = element(where, "A", 0)
    assert here(where).invariant(e, "is not negative", NOT_NEGATIVE)


@pytest.mark.parametrize(("first", "kept"), [("1", True), ("n", False)])
def test_lemmas_of_an_induction_are_those_of_its_success(first: str, *, kept: bool) -> None:
    """That the inner loop leaves X[0] as it is, is found on the way; if the induction fails, it serves nothing."""
    inner = "    for j in range(1, 4):\n        X[j] = n\n"
    text = f"A[0] = 0\nfor i in range(4):\n    X[0] = {first}\n{inner}    A[0] = X[0]"
    prover, where = Prover(PROVER.solver), after(text)
    known = prover.known(where, tuple(where.path))
    assert bool(known.invariant(element(where, "A", 0), "is not negative", NOT_NEGATIVE)) is kept
    found = claims(prover)
    assert any(c.startswith("the store to A") and "keeps the invariant" in c for c in found) is kept, found
    assert ("no instance of the store to X writes the element" in found) is kept, found


# -- initialised blocks -----------------------------------------------------------------------------------------------

BOTH = "for i in range(4):\n    A[i] = X[i]\n    B[i] = A[i]\n"


def test_blocks_that_a_run_initialises_are_known_together() -> None:
    where = after(BOTH)
    a, b, known = element(where, "A", 1), element(where, "B", 1), here(where)
    for e in (a, b, element(where, "X", 1)):
        assert known.uninitialised((known.older(e) or e).version) == frozenset()
    assert not known.is_initialised(b.version)
    assert known.uninitialised(a.version, frozenset({b.version.block})) == frozenset()
    assert known.is_initialised(b.version) and known.initialised(b) == (b.defined,)


def test_nothing_is_initialised_by_itself_if_arguments_may_be_undefined() -> None:
    for definite in (True, False):
        where = at(BOTH, definite=definite)
        known, e = here(where), element(where, "A", 1)
        assert known.uninitialised(e.version) == (frozenset() if definite else {e.version.block})
        assert known.initialised(e) == ((e.defined,) if definite else ())


def test_of_a_version_that_is_made_up_no_block_is_initialised() -> None:
    where = after(BOTH)
    known, a, b = here(where), buffer(where.func, "A").data, buffer(where.func, "B").data
    made_up = Version(a, Entered())
    assert known.uninitialised(made_up) == {a}
    assert known.uninitialised(made_up, frozenset({b})) == {a, b}
    assert not known.is_initialised(made_up)


ITSELF = """
t = T.alloc_buffer((8,), "int32")
for i in range(4):
    if X[0] > 0:
        t[i] = t[7 - i]
"""


def test_a_run_that_is_made_up_is_none_of_this_program() -> None:
    """It swaps what t and X were before: then t would be initialised, as it is computed from itself."""
    where = at(ITSELF, (0,))
    x = element(where, "X", 1)
    where.execute(where.func.body.body)  # type: ignore[attr-defined]
    t, known = local(where, 1), here(where)
    assert known.uninitialised(x.version) == frozenset()
    event = t.version.event
    assert isinstance(event, Ran)
    swapped = dict(zip(event.memory, reversed(event.memory.values()), strict=True))
    forged = dict(zip(reversed(swapped), reversed(swapped.values()), strict=True))
    assert list(forged.values()) == list(event.memory.values()) and forged[t.version.block] is x.version
    known.uninitialised(Version(t.version.block, replace(event, memory=forged)))
    assert not known.is_initialised(t.version) and known.initialised(t) == ()


def test_a_version_is_not_what_it_is_equal_to() -> None:
    where = at("t = T.alloc_buffer((8,), 'int32')\nA[1] = t[1]", (0,))
    t, known = local(where, 1), here(where)
    seems: Any = Lie(t.version, block=t.version.block, event=Entered(), serial=t.version.serial)
    known.uninitialised(seems)
    assert not known.is_initialised(t.version) and known.initialised(t) == ()


def test_a_block_is_not_what_it_is_equal_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something that is A as long as questions are asked, and t when the answers are noted."""
    text = "t = T.alloc_buffer((8,), 'int32')\nfor i in range(4):\n    A[i] = X[i]\n    t[i] = t[7 - i]"
    where = at(text, (0,))
    a, x = element(where, "A", 1), element(where, "X", 1)
    where.execute(where.func.body.body)  # type: ignore[attr-defined]
    known, written, t = here(where), element(where, "A", 1), local(where, 1)
    assert not known.uninitialised(a.version) and not known.uninitialised(x.version)
    block: Any = Lie(a.version.block)
    attempt = outside._answers["attempt"]

    def turned(*question: Any) -> Any:
        block.seems = t.version.block
        return attempt(*question)

    with monkeypatch.context() as patch:
        patch.setitem(outside._answers, "attempt", turned)
        assert known.uninitialised(written.version, frozenset({block})) == frozenset()
    assert block.seems is t.version.block
    assert not known.is_initialised(t.version) and known.initialised(t) == ()
    assert known.initialised(written) == (written.defined,)
