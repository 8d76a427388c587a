"""Canonical text is read back letter for letter, or refused; questions are proved in parts, and never refuted so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Verified
from tests.logic.terms import bool_terms, rounded
from tests.nightly import sample
from verified_tir.logic import formula as f
from verified_tir.logic import recheck
from verified_tir.logic.formula import Term
from verified_tir.logic.read_smtlib import NotCanonical, read
from verified_tir.logic.recheck import ask
from verified_tir.logic.smtlib import query
from verified_tir.logic.standalone import body_of, standalone

X, Y = f.var("x", f.INT), f.var("y", f.INT)
P, Q = f.var("p", "F32"), f.var("q", "F32")
HALF = f.var("h", "F16")


def terms_of_every_operation() -> list[Term]:
    """Goals in which each operation of the logic stands once."""
    g = f.app("g", (X, P), "F32")
    bits = f.fp("fp.to_bits", f.INT, P)
    floats = [
        f.fp("fp.add", "F32", P, Q), f.fp("fp.sub", "F32", P, g), f.fp("fp.mul", "F32", P, Q),
        f.fp("fp.div", "F32", P, Q), f.fp("fp.fma", "F32", P, Q, g),
        f.fp("fp.sqrt", "F32", P), f.fp("fp.abs", "F32", P), rounded("RNA", P),
        f.fp("fp.from_fp", "F32", HALF), f.fp("fp.from_int", "F32", X),
        f.fp("fp.from_bits", "F32", X),
        f.not_a_number("F32"), f.negative_zero("F32"), f.floating("F32", 0x3F800001), f.ite(f.le(X, Y), P, Q),
    ]  # fmt: skip
    integers = [
        f.bitwise("bvand", 8, X, Y), f.bitwise("bvxor", 16, X, f.integer(-3)), bits, f.sub(X, Y), f.mul(X, Y),
        f.euclid_div(X, f.integer(-4)), f.euclid_mod(X, Y), f.fp("fp.to_int", f.INT, P), f.app("g", (X,), f.INT),
        f.neg(X), f.add(f.mul(f.integer(-1), X), f.integer(-7)),
        f.fp("fp.to_bits", f.INT, f.fp("fp.from_bits", "F32", bits)),
    ]  # fmt: skip
    goals = [f.eq(g, t) for t in floats] + [f.le(t, f.integer(5)) for t in integers]
    goals += [f.fp(op, f.BOOL, P) for op in ("fp.isNaN", "fp.isInfinite", "fp.isNegative", "fp.isZero")]
    goals += [f.fp(op, f.BOOL, P, Q) for op in ("fp.eq", "fp.lt", "fp.leq")]
    goals += [
        f.TRUE,
        f.FALSE,
        f.not_(f.eq(X, Y)),
        f.or_(f.eq(X, Y), f.lt(X, Y)),
        f.implies(f.var("b", f.BOOL), f.le(X, Y)),
    ]
    return goals


@pytest.mark.parametrize("goal", terms_of_every_operation(), ids=lambda t: f"{t.op}")
def test_every_operation_is_read(goal: Term) -> None:
    shared = f.and_(goal, f.or_(goal, f.lt(X, f.integer(9))))  # with a let
    for given_terms, claim in (((), goal), ((goal,), f.le(X, X)), ((f.le(X, Y), shared), shared)):
        text = query(given_terms, claim).text
        read_given, read_goal = read(text)
        assert query(read_given, read_goal).text == text
        assert len(read_given) == len(given_terms)


@settings(max_examples=60, deadline=None)
@given(st.lists(bool_terms(3), min_size=1, max_size=3), st.booleans())
def test_random_formulas_are_read(pairs: list[tuple[Term, Term]], plain: bool) -> None:
    """Also such as the builders would have folded."""
    *hypotheses, goal = [p[plain] for p in pairs]
    text = query(tuple(hypotheses), goal).text
    assert query(*read(text)).text == text


@pytest.mark.nightly
def test_the_examples_questions_are_read(verified_examples: Verified) -> None:
    files = sorted(verified_examples.certificates.glob("obligations/*/*.smt2"))
    assert len(files) > 200
    for path in sample(files, 80, "questions"):
        _, body = body_of(path.read_text(encoding="utf-8"))
        assert query(*read(body)).text == body


GOOD = "(declare-fun x0 () Int)\n(assert (<= 0 x0))\n(assert (< x0 0))"


@pytest.mark.parametrize(
    "text",
    [
        "",
        GOOD.replace("x0", "y0"),
        GOOD.replace("(<= 0 x0)", "(>= x0 0)"),
        GOOD.replace("(<= 0 x0)", "(<= 00 x0)"),
        GOOD.replace("(<= 0 x0)", "(<= 0 x0 x0)"),
        GOOD.replace("(<= 0 x0)", "(<= 0 x1)"),
        GOOD.replace("(<= 0 x0)", "(=> (<= 0 x0))"),
        GOOD.replace("(<= 0 x0)", "(and (<= 0 x0))"),
        GOOD.replace("(<= 0 x0)", "(<= 0 (- x0))"),
        GOOD.replace("(assert (<= 0 x0))", "(assert (<= 0 x0)"),
        GOOD.replace("(assert (<= 0 x0))", "(assert (<= 0 x0)))"),
        GOOD.replace("(assert (<= 0 x0))", "(check-sat)"),
        GOOD.replace("() Int", "(Int) Int"),
        GOOD.replace("() Int", "() Real"),
        GOOD.replace("(assert (<= 0 x0))", "(assert (let ((l0 0)) (<= l0 x0)))"),
        GOOD + "\n(declare-fun x1 () Int)",
        "(assert " + "(not " * 5000 + "true" + ")" * 5001,
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    assert read(GOOD)
    with pytest.raises(NotCanonical):
        read(text)


# -- in parts ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def parts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question as a whole is not decided."""
    whole = recheck._whole
    first = [True]

    def fails_first(*args: object) -> recheck.Answer:
        if first:
            first.pop()
            return recheck.Answer("unknown", 0.0, reason="as a whole")
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(recheck, "_whole", fails_first)


ZERO = f.negative_zero("F32")
SUM = f.fp("fp.add", "F32", P, Q)
D = f.var("d", f.BOOL)


@pytest.mark.usefixtures("parts_only")
@pytest.mark.parametrize(
    ("hypotheses", "goal"),
    [
        ((f.le(f.integer(0), X), f.lt(X, Y)), f.and_(f.lt(f.integer(0), Y), f.implies(D, f.le(X, Y)))),
        ((f.implies(D, f.ne(P, ZERO)), f.lt(X, Y)), f.implies(D, f.ne(SUM, ZERO))),
        ((f.lt(X, f.integer(4)), f.implies(f.lt(X, f.integer(9)), f.eq(P, Q))), f.eq(SUM, f.fp("fp.add", "F32", Q, P))),
        ((f.FALSE,), f.le(X, Y)),
        ((), f.eq(f.app("g", (f.add(X, Y),), "F32"), f.app("g", (f.add(Y, X),), "F32"))),
    ],
)
def test_questions_are_proved_in_parts(hypotheses: tuple[Term, ...], goal: Term) -> None:
    answer = ask("z3", standalone(hypotheses, goal))
    assert (answer.verdict, answer.how) == ("unsat", "in parts")


@pytest.mark.nightly
@pytest.mark.usefixtures("parts_only")
@pytest.mark.parametrize(
    ("hypotheses", "goal"),
    [
        ((f.le(f.integer(0), X),), f.and_(f.le(f.integer(0), X), f.lt(f.integer(0), X))),
        ((), f.implies(D, f.ne(SUM, ZERO))),
        ((f.lt(X, Y), f.implies(f.lt(Y, X), f.ne(P, ZERO))), f.ne(SUM, ZERO)),
    ],
)
def test_what_is_false_is_not_proved_in_parts(hypotheses: tuple[Term, ...], goal: Term) -> None:
    """The whole question says so, when it is asked at last."""
    answer = ask("z3", standalone(hypotheses, goal))
    assert answer.verdict == "sat" and answer.how != "in parts"


def test_a_text_that_cannot_be_read_is_asked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(set-logic QF_LIA)\n(declare-fun n () Int)\n(assert (> n n))\n(check-sat)\n"
    assert ask("z3", text).verdict == "unsat"
    monkeypatch.setattr(recheck, "_whole", lambda *_: recheck.Answer("unknown", 0.0, reason="too hard"))
    answer = ask("z3", text)
    assert (answer.verdict, answer.reason) == ("unknown", "too hard")


def test_parts_that_nobody_decides_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck, "_whole", lambda *_: recheck.Answer("unknown", 0.0, reason="no time"))
    for goal in (f.le(X, Y), f.and_(f.le(X, Y), f.lt(X, Y)), f.eq(SUM, ZERO)):
        assert ask("z3", standalone((f.lt(X, Y),), goal)).verdict == "unknown"
