"""The search for facts may say what it likes: nothing of it is believed.

A hostile search asks for every fact of every element that it can get hold of, with every term that it can make up, and
hands back all formulas that it knows of.  What is false stays unproved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.kernel.programs import buffer, program, why
from tests.kernel.test_definitely_initialised import ILLEGAL
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir import outside
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Seq
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Known, Prover
from verified_tir.kernel.induction import DEFINED, value_of
from verified_tir.kernel.memory import Element, Entered, Entry, Ran, Version
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'
FILLED = "for i in range(4):\n    A[i] = X[i]\n"
ASSUMED = "for i in range(4):\n    T.assume(A[i] == n)\n"


def after(text: str) -> Context:
    """What is known where a program ends."""
    func = program(text, PARAMS)
    where = begin(func, Entry(definite=True))
    where.execute(func.body)
    return where


def element(where: Context, name: str, index: int) -> Element:
    return where.load_from(where.memory, buffer(where.func, name), (f.integer(index),), None)


def here(where: Context) -> Known:
    return Prover(Solver()).known(where, tuple(where.path))


def everything(known: Known, e: Element) -> Iterator[Term]:
    """Whatever the rules say of an element."""
    yield from known.event(e)
    yield from known.suppose(e)
    run = known.run(e)
    yield from known.frame(e)
    if run is not None:
        yield from known.frame(e, known.event(run.older))
    for k in range(0 if run is None else len(run.aliasing)):
        yield from known.reaching_definition(e, k)
        for name, holds in tried(e):
            yield from known.invariant(e, name, holds, k)
    for name, holds in tried(e):
        yield from known.invariant(e, name, holds)
    known.uninitialised(e.version)
    yield from known.initialised(e)
    for j, r in enumerate(known.ended(e)):
        for k in range(len(r.assumed) + len(r.safety)):
            yield from known.instantiate(e, j, k, {v: f.integer(1) for v in r.inner})


def tried(e: Element) -> list[tuple[str, Any]]:
    """Properties, and what is none."""
    value = value_of(e.value.sort)
    found: list[Any] = [
        DEFINED,
        f.FALSE,
        f.not_(DEFINED),
        f.eq(value, value),
        f.eq(e.value, value),
        e.defined,
        value,
        None,
    ]
    found += [f.eq(value, f.var("n", f.INT)), f.le(f.integer(0), value)] if e.value.sort == f.INT else []
    return [("is so", holds) for holds in found]


def test_of_what_another_place_has_been_through_nothing_is_said() -> None:
    """Of another function's run, and of a statement that has not run here: that it was safe is no fact."""
    func = program(FILLED + "for i in range(8):\n    B[0] = A[0] // X[0]", PARAMS)
    assert isinstance(func.body, Seq)
    where = begin(func, Entry(definite=True))
    where.execute(func.body.stmts[0])
    other, later = after(FILLED), where.fork()
    later.execute(func.body.stmts[1])
    assert list(everything(here(later), element(later, "B", 0)))
    for foreign in (element(other, "A", 1), element(later, "B", 0)):
        assert list(everything(here(where), foreign)) == []
        assert here(where).older(foreign) is None
    assert list(everything(here(where), element(where, "A", 1)))


def test_an_element_is_as_the_logic_knows_it() -> None:
    where = after(FILLED)
    e, other = element(where, "A", 1), element(where, "A", 7)
    forged = Element(e.version, e.buffer, e.address, other.value, other.defined)
    view = Element(e.version, buffer(where.func, "B"), e.address, e.value, e.defined)
    for x in (forged, view, e.value, None):
        assert here(where).event(x) == () == here(where).frame(x)  # type: ignore[arg-type]


class Lie:
    """Equal to ``seems``, and otherwise what it is said to be."""

    def __init__(self, seems: object, **parts: object) -> None:
        self.seems = seems
        self.__dict__.update(parts)

    def __hash__(self) -> int:
        return hash(self.seems)

    def __eq__(self, other: object) -> bool:
        return True


class Address(tuple[Term, ...]):
    """Some indices, equal to all others."""

    seems: tuple[Term, ...]

    def __hash__(self) -> int:
        return hash(self.seems)

    def __eq__(self, other: object) -> bool:
        return True


def believed(known: Known, facts: Iterable[object], goal: Term) -> bool:
    """Whether something is proved by what is known of some facts."""
    return isinstance(known.solver.prove((*known.base, *known.chosen(facts)), goal), Proved)


def test_an_element_is_not_what_it_says_that_it_is_equal_to() -> None:
    where = after("for i in range(4):\n    A[i] = 5\n")
    e, other, known = element(where, "A", 1), element(where, "A", 7), here(where)
    five = f.implies(DEFINED, f.eq(value_of(f.INT), f.integer(5)))
    run = known.run(e)
    assert run is not None and len(run.aliasing) == 1
    asked: Any = Lie(e, version=e.version, buffer=e.buffer, address=e.address, value=other.value, defined=other.defined)
    facts = [*known.invariant(asked, "five", five, 0), *known.frame(asked), *known.event(asked)]
    assert not facts and known.run(asked) is None and known.ended(asked) == ()
    assert not believed(known, facts, f.implies(other.defined, f.eq(other.value, f.integer(5))))
    stored = after("A[1] = 1\nA[2] = 2")
    e, known = element(stored, "A", 1), here(stored)
    address = Address((f.integer(2),))
    address.seems = e.address
    forged = Element(e.version, e.buffer, address, e.value, e.defined)
    assert known.event(forged) == () and known.older(forged) is None and known.event(e)
    untouched = after("A[1] = 1\nfor i in range(2, 4):\n    A[i] = 2\n")
    e, known = element(untouched, "A", 1), here(untouched)
    run = known.run(e)
    assert run is not None and not run.aliasing
    (same,) = known.frame(e)
    old: Any = Lie(same, op="=", args=(run.older.value, f.integer(6)), sort=f.BOOL, payload=None)
    assert not believed(known, known.frame(e, [old]), f.eq(e.value, f.integer(6)))


def test_an_element_is_seen_through_a_view_of_the_program() -> None:
    where = after("A[1] = n")
    a, known = buffer(where.func, "A"), here(where)
    bytes_ = Buffer("A", a.data, DType.parse("uint8"), a.shape, a.strides, a.elem_offset, a.axis_separators)
    e = where.element(where.memory[a.data], bytes_, (f.integer(3),))
    facts = (*known.event(e), *known.event(element(where, "A", 3)))
    assert not believed(known, facts, f.le(f.integer(0), e.value))
    with pytest.raises(TypeError):
        Version(a.data, Entered(), 7)  # type: ignore[call-arg]


def test_one_store_is_meant_by_a_number() -> None:
    """The element is 1 since the first store, where that ran; which the second did in any case."""
    where = after("for i in range(4):\n    if n > 0:\n        A[i] = 1\n    A[i] = A[i]\n")
    e, known = element(where, "A", 1), here(where)
    one = f.implies(DEFINED, f.eq(value_of(f.INT), f.integer(1)))

    class Number:
        def __init__(self, *values: int) -> None:
            self.values = list(values)

        def __index__(self) -> int:
            return self.values.pop(0)

    since: list[Any] = [Number(0, 1), Number(1, 0)]
    facts = [t for k in since for t in known.invariant(e, "one", one, k)]
    assert not believed(known, facts, f.implies(e.defined, f.eq(e.value, f.integer(1))))


def test_blocks_and_versions_are_what_they_are() -> None:
    where = after('A[1] = 1\nfor i in range(4):\n    B[i] = T.undef("int32")\n')
    a, b, known = element(where, "A", 1), element(where, "B", 1), here(where)
    seems: Any = Lie(b.version, block=b.version.block, event=Entered(), serial=b.version.serial)
    known.uninitialised(seems)
    assert not known.is_initialised(b.version) and not known.initialised(b)

    class Blocks(frozenset[Any]):
        def __or__(self, other: Any) -> Any:
            return other

    both = after('for i in range(4):\n    A[i] = 1\n    B[i] = T.undef("int32")\n')
    a, b, known = element(both, "A", 1), element(both, "B", 1), here(both)
    for e in (a, b):
        older = known.older(e)
        assert older is not None and not known.uninitialised(older.version)
    assert known.uninitialised(a.version, Blocks({b.version.block}))
    assert not known.initialised(b) and not known.uninitialised(a.version) and known.initialised(a)


def test_what_is_chosen_was_shown_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what the search makes up, nor what holds of other premises, nor at another place."""
    where = after(FILLED)
    e = element(where, "A", 1)
    known, wrong = here(where), Known(Solver(), where, (f.FALSE,), [])
    false = wrong.frame(e)
    shown = known.event(e)
    assert false and shown
    elsewhere = after(FILLED)
    foreign = here(elsewhere).event(element(elsewhere, "A", 1))
    said = [f.FALSE, e.defined, "true", None, 3, *false, *shown, *foreign]
    monkeypatch.setitem(outside._answers, "facts", lambda *_: said)
    assert known.look_up((e.value,)) == shown
    inner = Known(Solver(), where, (*known.base, f.FALSE), [], known)
    inner.frame(e)
    assert known.look_up((e.value,)) == shown, "what holds inside does not hold outside"


def test_an_instance_is_one_of_this_run_at_values_of_its_loops() -> None:
    where = after(ASSUMED)
    e = element(where, "A", 1)
    known, n = here(where), where.env[where.func.params[-1]].value
    (run,) = known.ended(e)
    assert len(run.assumed) == 1
    (i,) = run.inner
    (said,) = known.instantiate(e, 0, 0, {i: f.integer(1)})
    assert said is f.implies(f.TRUE, f.eq(e.value, n)) or e.value in f.subterms(said)
    for values in ({n: f.integer(1)}, {i: f.TRUE}, {i: "1"}, {i: None}):
        (left,) = known.instantiate(e, 0, 0, values)  # type: ignore[arg-type]
        assert i in f.subterms(left) and n in f.subterms(left), "it speaks of an arbitrary iteration still"
    with pytest.raises(IndexError):
        known.instantiate(element(where, "B", 1), 0, 0, {})


@pytest.mark.parametrize("values", [f.TRUE, None, "i", f.integer(1)])
def test_a_witness_is_of_the_right_sort(monkeypatch: pytest.MonkeyPatch, values: Any) -> None:
    where = after(FILLED)
    e = element(where, "A", 1)
    monkeypatch.setitem(outside._answers, "address", lambda a, x, unknowns, g: (dict.fromkeys(unknowns, values), set()))
    known = here(where)
    right = isinstance(values, Term) and values.sort == f.INT
    assert bool(known.reaching_definition(e, 0)) is right
    assert known.reaching_definition(element(where, "A", 2), 0) == () or right


def test_blocks_that_are_not_defined_throughout_are_not_in_the_set() -> None:
    text = (
        't = T.alloc_buffer((8,), "int32")\nfor i in range(4):\n    A[i] = t[i]\n    B[i] = A[i]\n    X[i] = X[i + 1]'
    )
    func = program(text, PARAMS)
    where = begin(func, Entry(definite=True))
    for place, _, inner in where.places(func.body):
        if place != (0,):
            continue
        inner.execute(func.body.body)  # type: ignore[attr-defined]
        blocks = {name: buffer(func, name).data for name in "ABX"}
        local = next(d for d in inner.memory if d not in {b.data for b in func.buffers})
        for n in range(4):
            for some in itertools.combinations([*blocks.values(), local], n):
                known = here(inner)
                assert not any(known.uninitialised(where.memory[data]) for data in blocks.values())
                for name, data in blocks.items():
                    known.uninitialised(inner.memory[data], frozenset(some))
                    defined = known.initialised(element(inner, name, 1))
                    assert name == "X" or not defined
        known = here(inner)
        assert known.uninitialised(inner.memory[blocks["X"]]), "where it was before is not known yet"
        known.uninitialised(where.memory[blocks["X"]])
        assert not known.uninitialised(inner.memory[blocks["X"]])


MADE: dict[int, tuple[object, dict[Element, None]]] = {}
"""The elements that each table of functions was asked for."""


@pytest.fixture
def hostile_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hostile search is consulted, and hears of every element that is looked at."""
    make = Context.element

    def noted(self: Context, *place: Any) -> Element:
        e = make(self, *place)
        MADE.setdefault(id(self.functions), (self.functions, {}))[1][e] = None
        return e

    monkeypatch.setattr(Context, "element", noted)
    monkeypatch.setitem(outside._answers, "facts", hostile)


def hostile(known: Known, roots: tuple[Term, ...]) -> list[Any]:
    """Everything about everything, without a guard: asked in the midst of an induction, too, as long as it ends."""
    found: list[Any] = [f.FALSE, *roots, *itertools.chain(*known.context.held_facts.values())]
    if known.supposed is not None and known.outer is not None and known.outer.supposed is not None:
        return found
    for e in list(MADE.get(id(known.context.functions), ((), {}))[1])[-12:]:
        if ("asked", e) not in known.notes:
            known.notes["asked", e] = True
            known.notes.setdefault("found", []).extend(everything(known, e))
            event = e.version.event
            if isinstance(event, Ran):
                known.uninitialised(e.version, frozenset(event.memory))
    return found + known.notes.get("found", [])


def meaning(func: PrimFunc) -> str:
    found = verify_program(func, Prover(Solver()))
    return why(found) if isinstance(found, (NoMatch, Unproved)) else ""


@pytest.mark.usefixtures("hostile_search")
@pytest.mark.parametrize("name", ILLEGAL)
def test_what_is_false_stays_unproved(name: str) -> None:
    assert "a branch on undef" in meaning(parse_func(ILLEGAL[name]))


FALSE = {
    "an earlier value": "A[0] = 5\nA[0] = 6\nif A[0] == 6:\n    B[100] = 1",
    "what another iteration stores": FILLED + "if A[1] != X[0]:\n    B[100] = 1",
    "an assumption of another iteration": ASSUMED + "if A[4] != n:\n    B[100] = 1",
    "a divisor of later": "for i in range(2):\n    B[0] = 7 // X[0]",
    "what the second of two stores left": "A[1] = 7\nfor i in range(4):\n    if n > 0:\n        A[i] = 1\n"
    "    if n < 5:\n        A[i] = 2\nB[T.Select(n > 0, 0, A[1] - 7)] = 1",
    "a sum that is negative": "A[0] = 0\nfor i in range(4):\n    A[0] = A[0] - 1\nB[A[0] + 3] = 1",
}  # fmt: skip


@pytest.mark.usefixtures("hostile_search")
@pytest.mark.parametrize("name", FALSE)
def test_no_branch_is_taken_for_dead(name: str) -> None:
    assert meaning(program(FALSE[name], PARAMS)) != ""


@pytest.mark.parametrize("name", FALSE)
def test_attempts_are_made_with_what_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With whatever formulas a question is to be tried, those that were shown here are all that counts."""

    def attempts(known: Known, goal: Term, given: tuple[Term, ...], *_: object) -> Iterator[Any]:
        yield (f.FALSE, goal, *given, *map(f.not_, given)), (), False
        yield [*hostile(known, (goal,)), "true", None, 3], (), "quick"
        inner = Known(known.solver, known.context, (f.FALSE,), [])
        yield hostile(inner, (goal,)), (), False

    monkeypatch.setitem(outside._answers, "attempts", attempts)
    assert meaning(program(FALSE[name], PARAMS)) != ""


def test_without_a_search_the_kernel_proves_less(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = program("A[0] = 5\nB[A[0]] = 1", PARAMS)
    assert meaning(stored) == ""
    monkeypatch.delitem(outside._answers, "facts")
    assert "undef" in meaning(stored)
    assert meaning(program("B[0] = 1", PARAMS)) == ""
    monkeypatch.delitem(outside._answers, "attempts")
    assert meaning(program("for i in range(8):\n    B[i] = 1", PARAMS)) != "", "nobody says what is to be asked"
