"""Objects that are not what they seem: nothing of them makes a theorem, and nothing crashes.

Rules are drawn with fields of all sorts, of their types and of others; whatever the kernel accepts is run.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import pickle
import random
import types
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernel.programs import take
from tests.nets.values import ALL_RULES, Anything, Drawer, Impostor, Several, Text, Whole, fields_of
from tests.nightly import WHOLE
from verified_tir.elaborate.claims import verify_program
from verified_tir.elaborate.meaning import has_meaning
from verified_tir.ir import outside
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.exact import field_readers
from verified_tir.ir.expr import Binary, Call, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import at
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import SKIP, For, Seq, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules import RULES
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.theorem import Rewrite, apply, licensed, reflexive
from verified_tir.logic import formula as f
from verified_tir.logic import smtlib
from verified_tir.logic.formula import Term
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.solver import INTEGER_BUDGET as BUDGET
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.semantics.interpreter import refines, run

FUNC = parse_func("""
@T.prim_func
def f(A: T.Buffer((4, "n"), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "int32"), k: T.int32):
    n = T.int32()
    t = T.alloc_buffer((4,), "float32", scope="local")
    for i in range(4):
        with T.block("b"):
            t[i] = A[i, 0] + T.float32(1)
        if i < k:
            B[i] = t[i]
    for j in T.parallel(4):
        B[j] = B[j] * T.float32(2)
    x = k + 1
    C[0] = T.max(x, 3)
    for i in range(2):
        for j in range(3):
            C[0] = C[0] + i * j
""")
OTHER = parse_func("""
@T.prim_func
def g(X: T.Buffer((4,), "float32"), m: T.int32):
    V = T.decl_buffer((2,), "float32", data=X.data)
    for i in range(2):
        T.assume(X[i] == T.float32(0))
        V[i] = T.float32(1)
""")
VALUES = np.array([1, 2.5, -0.0, np.inf, np.nan, 1e30], "float32")
DRAWS = 40_000 if WHOLE else 120
PROVER = Prover(Solver(budget=100_000))


def given(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a, b = rng.choice(VALUES, (4, 2)), rng.choice(VALUES, 4)
    return {"A": a, "B": b, "C": np.array([7], "int32"), "k": (0, 2, 4)[seed]}


BEFORE = [(g, run(FUNC, g)) for g in map(given, range(3))]


def agree(theorem: Refines) -> None:
    """What was accepted does the same; after a change of layout, of an assumption or of a type nothing is compared."""
    if theorem.relation or theorem.before is not FUNC or theorem.after is FUNC:
        return
    for arguments, before in BEFORE:
        after = run(theorem.after, arguments, check_races=True)
        assert not refines(before, after) and not after.findings


@pytest.mark.parametrize("kind", ALL_RULES, ids=lambda k: k.__name__)
def test_rules_with_fields_of_all_sorts(kind: type) -> None:
    rng = random.Random(kind.__name__)
    theorem = reflexive(FUNC)
    drawer = Drawer(FUNC, OTHER, [theorem, reflexive(OTHER)], rng)
    names = list(fields_of(kind))
    for turn in range(DRAWS):
        rule = drawer.rule(kind)
        if names and turn % 2:
            values = {name: getattr(rule, name) for name in names}
            name = rng.choice(names)
            values[name] = drawer.forged(values[name])
            rule = kind(**values)
        found = apply(rule, theorem, PROVER)
        assert isinstance(found, (Refines, NoMatch, Unproved))
        if isinstance(found, Refines):
            agree(found)


@pytest.mark.parametrize("kind", ALL_RULES, ids=lambda k: k.__name__)
def test_what_looks_like_a_rule_is_none(kind: type) -> None:
    theorem = reflexive(FUNC)
    drawer = Drawer(FUNC, OTHER, [theorem], random.Random(1))
    rule = drawer.rule(kind)
    subclass: Any = type("Sub", (kind,), {"rewrite": lambda *_: Anything(), "__slots__": ()})
    sub = object.__new__(subclass)
    for field in fields_of(kind):
        object.__setattr__(sub, field, getattr(rule, field))
    blank = object.__new__(kind)
    for forged in (sub, Impostor(kind), dataclasses.asdict(rule), kind, None):
        assert isinstance(apply(forged, theorem, PROVER), NoMatch)  # type: ignore[arg-type]
    if fields_of(kind):
        assert isinstance(apply(blank, theorem, PROVER), NoMatch)


def test_records_within_rules_are_of_exactly_their_classes() -> None:
    theorem = reflexive(FUNC)
    drawer = Drawer(FUNC, OTHER, [theorem], random.Random(2))
    records = {LayoutMap, NewLoop, Arguments}
    seen = set()
    for kind in ALL_RULES:
        rule = drawer.rule(kind)
        for name in fields_of(kind):
            for record in records:
                value = getattr(rule, name)
                if type(value) is record:
                    seen.add(record)
                    fields = {n: getattr(value, n) for n in fields_of(record)}
                    sub = object.__new__(type("Sub", (record,), {"__slots__": ()}))
                    for n, v in fields.items():
                        object.__setattr__(sub, n, v)
                    for forged in (sub, object.__new__(record), fields, tuple(fields.values()), Impostor(record)):
                        forgery = dataclasses.replace(rule, **{name: forged})
                        assert isinstance(apply(forgery, theorem, PROVER), NoMatch)
    assert {LayoutMap, Arguments} <= seen


def test_numbers_of_numpy_are_no_numbers_of_a_program() -> None:
    theorem = reflexive(FUNC)
    for forged in (np.int64(0), np.float64(0), np.bool_(True), 0.0, "0"):
        assert isinstance(take(moves.swap((0, 0), forged), theorem), NoMatch)  # type: ignore[arg-type]
        assert isinstance(apply(Same((forged,), FUNC.body), theorem, PROVER), NoMatch)  # type: ignore[arg-type]
    assert isinstance(apply(Same((), FUNC.body), theorem, PROVER), Refines)
    three = const(3)  # that it is there makes no difference
    for forged in (np.int64(3), np.float32(3), Fraction(3), 3.0, "3", Anything()):
        with pytest.raises((IRError, TypeError)):
            IntImm(three.dtype, forged)  # type: ignore[arg-type]


def test_values_of_subclasses_become_plain() -> None:
    made = apply(Same(Several((0, 0)), at(FUNC.body, (0, 0)), ((Text("key"), Whole(1)),)), reflexive(FUNC), PROVER)
    assert isinstance(made, Refines)
    (step,) = made.derivation
    assert type(step.rule.path) is tuple and step.rule.path == (0, 0)  # type: ignore[attr-defined]
    ((key, value),) = step.rule.attrs  # type: ignore[attr-defined]
    assert type(key) is str and type(value) is int
    x = Var(Text("x"), const(0).dtype, Whole(2**70))
    assert type(x.name) is str and type(x.uid) is int
    b = Buffer.declare("b", (4,))
    store = Store(b, const(1.0, "float32"), (const(0),))
    made_of = Seq(Several((store, store)))
    assert type(made_of.stmts) is tuple and made_of.stmts == (store, store)
    with pytest.raises(IRError):
        Load(b, Several((const(1), const(2))))  # it says that it is empty


def test_nodes_are_made_by_their_classes_only() -> None:
    b = FUNC.buffers[1]
    blank = [object.__new__(k) for k in (IntImm, Var, Store, Seq, For, Buffer, Load)]
    forged = object.__new__(IntImm)
    object.__setattr__(forged, "type", const(0).dtype)
    object.__setattr__(forged, "value", Whole(2**40))
    for node in (*blank, forged, Anything(), Impostor(IntImm), Impostor(Store)):
        uses: list[Callable[[], object]] = [
            lambda node=node: Seq((node,)),  # type: ignore[misc]
            lambda node=node: Load(b, (node,)),  # type: ignore[misc]
            lambda node=node: Store(b, node, (const(0),)),  # type: ignore[misc]
            lambda node=node: FUNC.with_body(node),  # type: ignore[misc]
        ]
        for use in uses:
            with pytest.raises((IRError, TypeError, AttributeError)):
                use()
        theorem = reflexive(FUNC)
        drawer = Drawer(FUNC, OTHER, [theorem], random.Random(3))
        for kind in ALL_RULES:
            rule = drawer.rule(kind)
            for name in fields_of(kind):
                if isinstance(getattr(rule, name), Node):
                    assert isinstance(apply(dataclasses.replace(rule, **{name: node}), theorem, PROVER), NoMatch)


def test_nodes_are_copied_as_themselves_and_not_pickled() -> None:
    for node in (FUNC, FUNC.body, FUNC.buffers[0], const(3), const(3).dtype):
        assert copy.copy(node) is copy.deepcopy(node) is node
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="pickled"):
                pickle.dumps(node, protocol)
    plain = Erase((0,))
    assert pickle.loads(pickle.dumps(plain)) == plain
    rule = moves.fission((0, 0), 1)(FUNC)
    assert isinstance(apply(rule, reflexive(FUNC), PROVER), Refines)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pickle.dumps(rule)


# -- solvers, provers, verdicts ----------------------------------------------------------------------------------------

FALSE = moves.swap((0,), 0)


def test_solvers_are_made_of_nothing_from_outside() -> None:
    """What a solver remembers is what it found out itself, and Z3 is the one that this package imports."""
    with pytest.raises(TypeError):
        Solver(statistics=Anything())  # type: ignore[call-arg]
    for options in ({"lemmas": []}, {"_memo": {}}, {"_busy": set()}, {"throughout": Anything()}):
        with pytest.raises(TypeError):
            Prover(Solver(), **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        VerdictStore(_shared={})  # type: ignore[call-arg]
    for options in ({"_unsat": set()}, {"kept": 0}, {"notes": {}}):
        with pytest.raises(TypeError):
            VerdictStore(**options)  # type: ignore[arg-type]
    for place, name in ((Solver(), "prove"), (Prover(Solver()), "prove"), (VerdictStore(), "proved")):
        with pytest.raises(AttributeError):
            setattr(place, name, lambda *_, **__: Proved())


def test_provers_of_other_classes_prove_nothing() -> None:
    class Believer(Solver):  # type: ignore[misc]
        def prove(self, *_: object, **__: object) -> Any:
            return Proved()

    class Store(VerdictStore):  # type: ignore[misc]
        def proved(self, text: str, budget: int) -> bool:
            return True

    class BelievingProver(Prover):  # type: ignore[misc]
        def prove(self, *_: object, **__: object) -> Any:
            return Proved(), ()

    theorem = reflexive(FUNC)
    block = frozenset({FUNC.buffers[1].data})
    stores = [Solver(store=s) for s in (Store(), Anything(), Impostor(VerdictStore), {}, None)]  # type: ignore[arg-type]
    solvers = [Believer(), Impostor(Solver), Anything(), None, *stores]
    provers = [BelievingProver(Solver()), Impostor(Prover), Anything(), None, Proved(), Unknown("?")]
    for prover in (*provers, *[Prover(s) for s in solvers]):  # type: ignore[arg-type]
        for ask in (
            lambda p: apply(FALSE, theorem, p),
            lambda p: licensed(theorem, block, p),
            lambda p: verify_program(FUNC, p),
        ):
            with pytest.raises(TypeError):
                ask(prover)


class Others(frozenset):  # type: ignore[type-arg]
    """Lies within every set, and has none of what it is gone through."""

    def __le__(self, other: object) -> bool:
        return True

    def __contains__(self, other: object) -> bool:
        return False


class Mimic(type):
    """A class of classes that are equal to every other; ``like`` is the one that they are taken for."""

    like: type

    def __hash__(cls) -> int:
        return hash(cls.like)

    def __eq__(cls, other: object) -> bool:
        return True


@pytest.mark.parametrize("kind", ALL_RULES, ids=lambda k: k.__name__)
def test_classes_that_are_equal_to_a_rules_are_none(kind: type) -> None:
    def leads_anywhere(self: object, before: PrimFunc, entry: object) -> Rewrite:
        return Rewrite(before.with_body(SKIP), ())

    forged = Mimic("Forged", (), {"like": kind, "path": (), "__dataclass_fields__": {}, "rewrite": leads_anywhere})
    assert isinstance(apply(forged(), reflexive(FUNC), PROVER), NoMatch)


def test_classes_that_are_equal_to_a_stores_or_a_verdicts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Mimic("Store", (), {"like": VerdictStore, "proved": lambda *_: True, "kept": 0})()
    with pytest.raises(TypeError):
        apply(FALSE, reflexive(FUNC), Prover(Solver(store=store)))
    for kind in (Unknown, Refuted):
        verdict = Mimic("Verdict", (Proved,), {"like": kind})()
        monkeypatch.setitem(outside._answers, "attempt", lambda *_, verdict=verdict: verdict)
        assert type(Solver().prove((), f.FALSE)) is Unknown


def test_what_is_kept_is_kept_of_exact_values_only() -> None:
    """No object that is equal to a type, a class or a text is what something is remembered under."""
    int16 = DType("int", 16, 3)

    class Wide:
        code, bits, lanes, is_int, scalar = "int", 16, 3, True, int16
        min_value, max_value = -(2**40), 2**40

        def __hash__(self) -> int:
            return hash(int16)

        def __eq__(self, other: object) -> bool:
            return True

    wide: Any = Wide()
    operand: Any = types.SimpleNamespace(dtype=wide)
    for attempt in (
        lambda: Binary("sub", operand, operand),
        lambda: Call(int16, "abs", (operand,)),
    ):
        with pytest.raises((IRError, TypeError)):
            attempt()
    x = Var.fresh("x", int16)
    assert Binary("sub", x, x).dtype is int16 and Call(int16, "abs", (x,)).dtype is int16
    with pytest.raises(TypeError):
        nodes_of(FUNC, Mimic("Loop", (), {"like": type("Asked", (), {})}))
    with pytest.raises(IRError):
        field_readers(Mimic("Fields", (), {"like": type("Read", (), {}), "__dataclass_fields__": {}}))


def test_a_text_is_what_it_says_and_not_what_it_equals(tmp_path: Path) -> None:
    """What Z3 finds unsatisfiable is remembered, in memory and on disk, of the characters that it read."""
    x = f.var("x", f.INT)
    true, false = (query((), f.le(x, top)).text for top in (f.add(x, f.ONE), f.ZERO))

    class Disguised(str):
        """Equal to what is not proved, and says something else to whoever asks."""

        says: str

        def __hash__(self) -> int:
            return hash(false)

        def __eq__(self, other: object) -> bool:
            return True

        def __str__(self) -> str:
            return self.says

        def __format__(self, spec: str) -> str:
            return self.says

        def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
            return self.says.encode()

    for folder, says, text in itertools.product((None, tmp_path), (true, false), (true, "(assert false)")):
        disguised = Disguised(text)
        disguised.says = says
        for store in (VerdictStore(folder), VerdictStore(folder)):  # the second one finds what the first one left
            store.proved(disguised, BUDGET)
            Solver(store=store).ask(Script(disguised, {}))
            store.check(disguised, BUDGET, "Solver", 10**6)
            assert not store.proved(false, BUDGET)
            assert not isinstance(Solver(BUDGET, store).prove((), f.le(x, f.ZERO)), Proved)
            store.check(true, BUDGET, "Solver", 10**6)


@pytest.mark.parametrize(
    ("op", "sort", "payload"),
    [
        ("or false))) (assert false) (assert (and (or", f.BOOL, None),
        ("f", "Bool) (assert false) (declare-fun y () Bool", None),
        ("fp.roundToIntegral", "F32", "RNE x0) x0) (= x0"),
        ("fp.abs\n", f.BOOL, None), ("fp.abs;", f.BOOL, None), ("|not|", f.BOOL, None), ("", "", ""),
        ("f0", f.BOOL, None), ("x0", f.BOOL, None), ("l0", f.BOOL, None), ("true", f.BOOL, None),
        ("const", f.BOOL, 2), ("const", f.INT, 7654321),
        ("fp.abs", "Int) (x0", None), ("fp.from_bits", "F32", ("a",)), ("var", "Real", "x"),
    ],
)  # fmt: skip
def test_no_name_ends_an_assertion(op: str, sort: str, payload: str | None) -> None:
    """A search that may make terms cannot make one whose text says more than one term."""
    a = f.var("a", "F32") if op.startswith("fp.") else f.var("p", f.BOOL)
    for args in ((a,), ()):
        with pytest.raises(TypeError):
            f.make(op, args, sort, payload)


@pytest.mark.parametrize("op", ["=>", "<=", "<", "=", "not", "+", "-", "*", "div", "mod", "ite", "bvand"])
def test_operations_have_so_many_operands(op: str) -> None:
    """``true => true => false`` is false, and what was taken for ``true => true`` would be true."""
    x, y, p = f.var("x", f.INT), f.var("y", f.INT), f.var("p", f.BOOL)
    right = {"=>": 2, "not": 1, "ite": 3}.get(op, 2)
    for args in itertools.product((x, y), (x, y), (x, y), (x, y)):
        for operands in [(p,) * n for n in range(5) if n != right] + [args[:n] for n in range(5) if n != right]:
            for sort in (f.BOOL, f.INT):
                with pytest.raises(TypeError):
                    f.make(op, operands, sort, 8 if op == "bvand" else None)


def test_operands_are_terms() -> None:
    for wrong in (Impostor(Term), "true", None, 1, (f.TRUE,)):
        with pytest.raises((TypeError, AttributeError)):
            f.make("not", (wrong,), f.BOOL)  # type: ignore[arg-type]


class Operands(tuple[Term, ...]):
    """Shows the same, until it is asked again."""

    __slots__ = ()


def test_terms_are_made_of_exact_values() -> None:
    parts: list[tuple[Any, ...]] = [
        (Text("not"), (f.FALSE,), f.BOOL), ("not", Several((f.FALSE,)), f.BOOL), ("var", (), Text(f.BOOL), "p"),
        ("not", Operands((f.var("of nobody else", f.BOOL),)), f.BOOL),
        ("const", (), f.INT, Whole(7919)), ("var", (), f.INT, Text("x")), ("var", (), f.INT, ("value", Anything())),
    ]  # fmt: skip
    for wrong in parts:
        with contextlib.suppress(TypeError):  # one that is there already may be found
            t = f.make(*wrong)
            assert type(t.op) is type(t.sort) is str and type(t.args) is tuple
            assert type(t.payload) in (int, str, type(None))
    with pytest.raises(AttributeError):  # one that is nothing gets nowhere
        f.not_(Term())
    assert f.integer(7919).payload == 7919


@pytest.mark.parametrize("name", ["op", "a", "type"])
def test_no_field_is_given_twice(name: str) -> None:
    with pytest.raises(TypeError):
        Binary("add", const(1), const(2), **{name: const(3)})  # type: ignore[arg-type]


def test_a_program_has_a_meaning_if_it_is_one() -> None:
    for forged in (Impostor(PrimFunc), Anything(), None):
        with pytest.raises(TypeError):
            prove_program(forged, PROVER, Entry())  # type: ignore[arg-type]
        assert not has_meaning(forged)  # type: ignore[arg-type]


def test_theorems_from_elsewhere_are_none() -> None:
    for forged in (Impostor(Refines), object.__new__(Refines), Anything(), FUNC, None, reflexive):
        with pytest.raises(TypeError):
            apply(Same((), FUNC.body), forged, PROVER)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            licensed(forged, frozenset(), PROVER)  # type: ignore[arg-type]
    for forged_program in (Impostor(type(FUNC)), Anything(), None, "def f(): pass"):
        with pytest.raises(TypeError):
            reflexive(forged_program)  # type: ignore[arg-type]
    theorem = reflexive(FUNC)
    for blocks in (
        Others({FUNC.buffers[1].data}),
        frozenset({"B"}),
        frozenset({Var.fresh("B")}),
        frozenset({Impostor(Var)}),
    ):
        with pytest.raises(TypeError):
            licensed(theorem, blocks, PROVER)  # type: ignore[arg-type]


def test_the_set_of_rules_does_not_grow() -> None:
    assert isinstance(RULES, frozenset) and smtlib is not None
    for kind in RULES:
        assert dataclasses.fields(kind) is not None and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
