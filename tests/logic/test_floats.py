"""The lemma path for floats: what it proves is true.

A wrong proof here would make everything that stands on it wrong, so each of its moves is attacked: premises that do not
follow, equations that mention each other, facts put into their own hypotheses, leaves that are generalised away, and
the identities that hold for numbers and not for floats.
"""

from __future__ import annotations

import pytest

from tests.logic.terms import Question, below, is_nan, minus, plus, prove_by_lemma, times
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted

SOLVER = Solver()
IMPATIENT = Solver(budget=20_000)  # for questions that may take long and need no answer
I, J, N = (f.var(name, f.INT) for name in "ijn")
P = f.var("p", f.BOOL)
ONE = f.integer(1)


def variables(sort: str = "F32") -> list[Term]:
    return [f.var(name, sort) for name in ("a", "b", "c")]


A, B, C = variables()
ZERO, MINUS = f.floating("F32", 0), f.negative_zero("F32")
NAN = f.not_a_number("F32")


def smaller(a: Term, b: Term) -> Term:
    return f.ite(below(a, b), a, b)


def larger(a: Term, b: Term) -> Term:
    return f.ite(below(b, a), a, b)


# ---------------------------------------------------------------------------------- identities and their near-misses


def true_claims(sort: str) -> dict[str, Question]:
    a, b, _ = variables(sort)
    zero, negative, one = f.floating(sort, 0), f.negative_zero(sort), _one(sort)
    number = f.not_(is_nan(a))
    finite = f.and_(number, f.not_(f.fp("fp.isInfinite", f.BOOL, a)))
    return {
        "adding -0.0": ((), f.eq(plus(a, negative), a)),
        "adding 0.0 to what is not -0.0": ((f.ne(a, negative),), f.eq(plus(a, zero), a)),
        "subtracting 0.0": ((), f.eq(minus(a, zero), a)),
        "multiplying by 1.0": ((), f.eq(times(a, one), a)),
        "a sum commutes": ((), f.eq(plus(a, b), plus(b, a))),
        "a == a for numbers": ((number,), f.fp("fp.eq", f.BOOL, a, a)),
        "a - a = 0.0 if finite": ((finite,), f.eq(minus(a, a), zero)),
        "0.0 + 0.0": ((f.eq(a, zero),), f.eq(plus(a, a), zero)),
        "a NaN stays": ((is_nan(a),), f.eq(plus(a, b), f.not_a_number(sort))),
        "min of what is ordered": ((below(a, b),), f.and_(f.eq(smaller(a, b), a), f.eq(smaller(b, a), a))),
        "min(a, NaN) = NaN": ((is_nan(b),), f.eq(smaller(a, b), b)),
        "min(NaN, b) = b": ((is_nan(a),), f.eq(smaller(a, b), b)),
        "max(NaN, b) = b": ((is_nan(a),), f.eq(larger(a, b), b)),
        "not (a < b) is b <= a for numbers": (
            (number, f.not_(is_nan(b))),
            f.eq(f.not_(below(a, b)), f.fp("fp.leq", f.BOOL, b, a)),
        ),
        "identity is IEEE equality for numbers": ((number, f.eq(a, b)), f.fp("fp.eq", f.BOOL, a, b)),
    }


def false_claims(sort: str) -> dict[str, Question]:
    a, b, c = variables(sort)
    zero, negative, one = f.floating(sort, 0), f.negative_zero(sort), _one(sort)
    number = f.not_(is_nan(a))
    return {
        "adding 0.0": ((), f.eq(plus(a, zero), a)),
        "adding 0.0 to numbers": ((number,), f.eq(plus(a, zero), a)),
        "adding 0.0 to what is == 0.0": ((f.fp("fp.eq", f.BOOL, a, zero),), f.eq(plus(a, zero), a)),
        "subtracting -0.0": ((), f.eq(minus(a, negative), a)),
        "times 0.0": ((), f.eq(times(a, zero), zero)),
        "times 0.0, of numbers": ((number,), f.eq(times(a, zero), zero)),
        "times 0.0, of positive numbers": ((below(zero, a),), f.eq(times(a, zero), zero)),
        "times 0.0, IEEE": ((), f.fp("fp.eq", f.BOOL, times(a, zero), zero)),
        "a - a = 0.0": ((), f.eq(minus(a, a), zero)),
        "a - a = 0.0, of numbers": ((number,), f.eq(minus(a, a), zero)),
        "a == a": ((), f.fp("fp.eq", f.BOOL, a, a)),
        "IEEE equality is identity": ((f.fp("fp.eq", f.BOOL, a, b),), f.eq(a, b)),
        "IEEE equality of both is identity of sums": ((f.fp("fp.eq", f.BOOL, a, b),), f.eq(plus(a, c), plus(b, c))),
        "(a + b) - a = b": ((), f.eq(minus(plus(a, b), a), b)),
        "a sum associates": ((), f.eq(plus(plus(a, b), c), plus(a, plus(b, c)))),
        "a sum associates, of positive numbers": (
            (below(zero, a), below(zero, b), below(zero, c)),
            f.eq(plus(plus(a, b), c), plus(a, plus(b, c))),
        ),
        "fma is a product and a sum": ((), f.eq(f.fp("fp.fma", sort, a, b, c), plus(times(a, b), c))),
        "min commutes": ((), f.eq(smaller(a, b), smaller(b, a))),
        "min commutes, of numbers": ((number, f.not_(is_nan(b))), f.eq(smaller(a, b), smaller(b, a))),
        "max(b, NaN) = b": ((is_nan(a),), f.eq(larger(b, a), b)),
        "min is below both": ((), f.fp("fp.leq", f.BOOL, smaller(a, b), b)),
        "not (a < b) is b <= a": ((), f.eq(f.not_(below(a, b)), f.fp("fp.leq", f.BOOL, b, a))),
        "0.0 - a is its negative": ((), f.eq(minus(zero, a), times(a, f.fp("fp.sub", sort, negative, one)))),
        "the zeros are one": ((f.fp("fp.isZero", f.BOOL, a), f.fp("fp.isZero", f.BOOL, b)), f.eq(a, b)),
        "abs of -0.0": ((), f.eq(f.fp("fp.abs", sort, a), f.ite(below(a, zero), minus(zero, a), a))),
    }  # fmt: skip


def _one(sort: str) -> Term:
    exponent, significand = f.FLOAT_SORTS[sort]
    return f.floating(sort, ((1 << (exponent - 1)) - 1) << (significand - 1))


@pytest.mark.parametrize("claim", true_claims("F32"))
@pytest.mark.parametrize("sort", ["F16", "F32"])
def test_what_is_true_is_proved_by_a_lemma(sort: str, claim: str) -> None:
    given_, goal = true_claims(sort)[claim]
    assert isinstance(SOLVER.prove(given_, goal), Proved)
    for part in goal.args if goal.op == "and" else (goal,):
        assert prove_by_lemma(SOLVER, given_, part) is not None


@pytest.mark.parametrize("claim", false_claims("F32"))
@pytest.mark.parametrize("sort", ["F16", "BF16"])
def test_what_is_false_is_refuted(sort: str, claim: str) -> None:
    given_, goal = false_claims(sort)[claim]
    assert prove_by_lemma(SOLVER, given_, goal) is None
    assert isinstance(SOLVER.prove(given_, goal), Refuted)


# -------------------------------------------------------------------------------------------------- the three moves


def load(*indices: Term, name: str = "m") -> Term:
    return f.app(name, indices, "F32")


NO_MINUS = f.ne(load(I), MINUS)
KEPT = f.eq(plus(load(I), ZERO), load(I))


def test_premises_that_follow_are_discharged() -> None:
    inside = (f.le(f.integer(0), I), f.lt(I, N))
    fact = f.implies(f.lt(I, f.add(N, ONE)), NO_MINUS)
    assert prove_by_lemma(SOLVER, (*inside, fact), KEPT) is not None
    nested = f.implies(f.lt(I, N), f.implies(f.le(f.integer(-1), I), f.and_(P, NO_MINUS)))
    assert prove_by_lemma(SOLVER, (*inside, nested), KEPT) is not None


@pytest.mark.parametrize(
    "given_",
    [
        (f.implies(f.lt(I, N), NO_MINUS),),  # nothing says that i < n
        (f.lt(N, I), f.implies(f.lt(I, N), NO_MINUS)),
        (f.le(I, N), f.implies(f.lt(I, N), NO_MINUS)),
        (f.lt(I, N), f.implies(f.lt(I, N), f.implies(f.lt(I, J), NO_MINUS))),
        (f.lt(I, N), f.implies(f.lt(I, N), f.or_(P, NO_MINUS))),
        (f.implies(P, NO_MINUS), f.implies(f.not_(P), f.eq(load(J), ZERO))),
        (f.implies(P, f.lt(I, N)), f.implies(f.lt(I, N), NO_MINUS)),
        (f.implies(below(A, B), NO_MINUS),),  # a premise about floats
        (below(A, B), f.implies(below(B, A), NO_MINUS)),
        (f.implies(NO_MINUS, NO_MINUS),),
        (f.implies(NO_MINUS, P), P),
        (f.implies(f.not_(NO_MINUS), P), f.not_(f.not_(P))),
    ],
    ids=str,
)
def test_premises_that_do_not_follow_are_not(given_: tuple[Term, ...]) -> None:
    assert prove_by_lemma(SOLVER, given_, KEPT) is None
    assert not isinstance(SOLVER.prove(given_, KEPT), Proved)


def test_equations_are_put_in() -> None:
    one = _one("F32")
    for given_, goal in [
        ((f.eq(A, plus(B, C)),), f.eq(plus(A, A), plus(plus(B, C), A))),
        ((f.eq(A, B), f.eq(B, C)), f.eq(plus(A, ONE_F), plus(C, ONE_F))),
        ((f.eq(A, B), f.eq(C, A)), f.eq(f.app("g", (B,), "F32"), f.app("g", (C,), "F32"))),
        ((f.eq(load(I), one),), f.eq(times(load(I), A), A)),
        ((f.eq(load(I), load(J)), f.eq(load(J), MINUS)), f.eq(plus(A, load(I)), A)),
        ((f.eq(A, NAN),), f.eq(plus(A, B), NAN)),
    ]:
        assert isinstance(SOLVER.prove(given_, goal), Proved), goal


ONE_F = _one("F32")


@pytest.mark.parametrize(
    ("given_", "goal"),
    [
        # a term that mentions another variable that is replaced, or each other
        ((f.eq(A, plus(B, ONE_F)), f.eq(B, plus(A, ONE_F))), f.eq(A, plus(B, B))),
        ((f.eq(A, plus(B, ZERO)), f.eq(B, plus(A, ZERO))), f.eq(plus(A, ZERO), plus(C, ZERO))),
        ((f.eq(A, times(B, B)), f.eq(B, C)), f.eq(A, times(B, A))),
        # an equation that replaces nothing
        ((f.eq(A, plus(A, ZERO)),), f.eq(A, ZERO)),
        ((f.eq(plus(A, B), plus(B, C)),), f.eq(A, C)),
        # the second equation for a variable is not forgotten, and not believed of another
        ((f.eq(A, B), f.eq(A, C)), f.eq(plus(B, ZERO), C)),
        # IEEE equality is not an equation
        ((f.fp("fp.eq", f.BOOL, A, MINUS),), f.eq(plus(B, A), B)),
        ((f.fp("fp.eq", f.BOOL, A, B),), f.eq(f.app("g", (A,), "F32"), f.app("g", (B,), "F32"))),
        ((f.fp("fp.eq", f.BOOL, A, ZERO),), f.eq(f.fp("fp.from_fp", "F64", A), f.floating("F64", 0))),
        # of another element, function, or size
        ((f.eq(load(I), MINUS),), f.eq(plus(A, load(J)), A)),
        ((f.eq(load(I), MINUS),), f.eq(plus(A, load(f.add(I, ONE))), A)),
        ((f.eq(load(I), MINUS),), f.eq(plus(A, load(I, name="other")), A)),
        ((f.ne(A, MINUS),), f.eq(plus(f.app("g", (A,), "F32"), ZERO), f.app("g", (A,), "F32"))),
        ((f.eq(A, B),), f.eq(f.app("g", (A,), "F32"), f.app("h", (B,), "F32"))),
        # a negated or alternative equation
        ((f.not_(f.eq(A, MINUS)),), f.eq(plus(B, A), B)),
        ((f.or_(f.eq(A, MINUS), f.eq(A, ZERO)),), f.eq(plus(B, A), B)),
        ((f.ite(P, f.eq(A, MINUS), f.eq(A, ZERO)),), f.eq(plus(B, A), B)),
    ],
    ids=str,
)
def test_equations_say_no_more_than_they_say(given_: tuple[Term, ...], goal: Term) -> None:
    assert prove_by_lemma(SOLVER, given_, goal) is None
    assert isinstance(SOLVER.prove(given_, goal), Refuted)
    assert isinstance(SOLVER.prove(given_, f.FALSE), Refuted)


def test_facts_are_put_in() -> None:
    chosen = f.ite(f.lt(I, N), A, B)
    assert prove_by_lemma(SOLVER, (f.lt(I, N),), f.eq(chosen, A)) is not None
    assert prove_by_lemma(SOLVER, (P,), f.eq(f.ite(f.not_(P), A, B), B)) is not None
    assert prove_by_lemma(SOLVER, (f.not_(P),), f.eq(f.ite(P, A, B), B)) is not None
    assert prove_by_lemma(SOLVER, (P, f.ite(P, NO_MINUS, f.eq(A, B))), KEPT) is not None


@pytest.mark.parametrize(
    ("given_", "goal"),
    [
        ((f.lt(I, N),), f.eq(f.ite(f.lt(N, I), A, B), A)),
        ((f.le(I, N),), f.eq(f.ite(f.lt(I, N), A, B), A)),
        ((f.not_(P),), f.eq(f.ite(P, A, B), A)),
        ((f.or_(P, f.lt(I, N)),), f.eq(f.ite(P, A, B), A)),
        # a fact about floats under a condition that is not known
        ((f.ite(P, f.eq(A, B), f.TRUE),), f.eq(plus(A, C), plus(B, C))),
        # put into itself a fact would be `true ⟹ …`, or nothing
        ((f.implies(below(A, B), f.lt(I, N)), f.lt(I, N)), below(A, B)),
        ((f.implies(f.lt(I, N), below(A, B)),), below(A, B)),
        ((f.eq(P, below(A, B)),), below(A, B)),
        ((f.eq(P, below(A, B)), f.not_(P)), below(A, B)),
        ((f.eq(f.var("q", f.BOOL), f.var("r", f.BOOL)), f.implies(f.var("q", f.BOOL), below(A, B))), below(A, B)),
    ],
    ids=str,
)
def test_facts_say_no_more_than_they_say(given_: tuple[Term, ...], goal: Term) -> None:
    assert prove_by_lemma(SOLVER, given_, goal) is None
    assert isinstance(SOLVER.prove(given_, goal), Refuted)
    assert isinstance(SOLVER.prove(given_, f.FALSE), Refuted)


def test_an_integer_goal_is_proved_without_floats_or_not_here() -> None:
    given_ = (f.implies(f.lt(I, N), NO_MINUS), f.lt(I, N))
    assert isinstance(prove_by_lemma(SOLVER, given_, f.le(I, N)), Proved)
    assert prove_by_lemma(SOLVER, given_, f.lt(I, J)) is None
    assert prove_by_lemma(SOLVER, (below(A, A),), f.lt(I, J)) is None  # floats that contradict themselves are not seen


def test_conditions_on_floats_are_conditions_without_them() -> None:
    contradictory = (below(A, B), f.or_(f.not_(below(A, B)), f.lt(I, N)))
    assert isinstance(prove_by_lemma(SOLVER, contradictory, f.lt(I, N)), Proved)
    assert prove_by_lemma(SOLVER, (f.or_(f.not_(below(B, A)), f.lt(I, N)), below(A, B)), f.lt(I, N)) is None
    whole = f.ite(below(A, B), I, J)
    assert isinstance(prove_by_lemma(SOLVER, (f.lt(whole, N), below(A, B)), f.lt(I, N)), Proved)
    assert prove_by_lemma(SOLVER, (f.lt(whole, N),), f.lt(I, N)) is None


def load(index: Term, name: str = "A@1") -> Term:
    return f.app(name, (index,), "F32")


def test_congruence() -> None:
    same = (f.eq(J, f.mul(I, f.integer(2))),)
    two = f.add(I, I)
    for left, right in (
        (load(J), load(two)),
        (plus(load(J), A), plus(load(two), A)),
        (below(load(J), times(A, load(I))), below(load(two), times(A, load(I)))),
        (f.ite(below(load(J), A), load(J), B), f.ite(below(load(two), A), load(two), B)),
    ):
        found = prove_by_lemma(SOLVER, same, f.eq(left, right))
        assert isinstance(found, Proved) and found.how == "congruence"
        assert not isinstance(prove_by_lemma(SOLVER, (), f.eq(left, right)), Proved)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (load(I), load(I, "A@2")),
        (plus(load(I), A), plus(load(I), B)),
        (plus(load(I), A), minus(load(I), A)),
        (minus(load(I), load(J)), minus(load(J), load(I))),
        (f.ite(f.lt(I, J), A, B), f.ite(f.lt(J, I), A, B)),
        (load(I), load(f.add(I, ONE))),
    ],
    ids=str,
)
def test_congruence_takes_the_same_operations_on_equal_arguments_only(left: Term, right: Term) -> None:
    assert not isinstance(prove_by_lemma(SOLVER, (f.lt(I, J),), f.eq(left, right)), Proved)


def test_a_contradiction_after_replacing_proves_no_more_than_before() -> None:
    """The hypotheses become ``false`` when facts are put in: so they were contradictory, which is a proof."""
    contradictory = (f.ite(P, f.eq(A, NAN), f.eq(A, ZERO)), f.fp("fp.eq", f.BOOL, A, A), P)
    assert SOLVER.contradictory(contradictory)
    assert isinstance(SOLVER.prove(contradictory, below(B, C)), Proved)
    harmless = (f.ite(P, f.eq(A, NAN), f.eq(A, ZERO)), f.fp("fp.eq", f.BOOL, A, A), f.not_(P))
    assert isinstance(SOLVER.prove(harmless, f.FALSE), Refuted)
    assert isinstance(SOLVER.prove(harmless, below(B, C)), Refuted)


def test_leaves_are_generalised_alike_everywhere() -> None:
    """Whatever is not a float operation becomes a variable; the same thing the same one, other things other ones."""
    x, y = load(I), load(f.add(I, ONE))
    assert prove_by_lemma(SOLVER, (f.ne(x, MINUS),), f.eq(plus(x, ZERO), x)) is not None
    assert prove_by_lemma(SOLVER, (f.ne(y, MINUS),), f.eq(plus(x, ZERO), x)) is None
    assert prove_by_lemma(SOLVER, (), f.eq(plus(x, y), plus(y, x))) is not None
    assert prove_by_lemma(SOLVER, (), f.eq(plus(x, y), plus(x, x))) is None
    # names that look like the ones the lemma uses
    leaves = [f.var(f"leaf{k}", "F32") for k in range(3)]
    assert prove_by_lemma(SOLVER, (), f.eq(plus(leaves[1], leaves[0]), plus(leaves[0], leaves[1]))) is not None
    assert prove_by_lemma(SOLVER, (f.ne(leaves[0], MINUS),), f.eq(plus(leaves[1], ZERO), leaves[1])) is None
    assert prove_by_lemma(SOLVER, (below(leaves[2], leaves[1]),), below(leaves[1], leaves[2])) is None
    # an integer or truth value inside a float operation is a leaf as well
    whole = f.fp("fp.from_int", "F32", I)
    assert prove_by_lemma(SOLVER, (), f.eq(plus(whole, MINUS), whole)) is not None
    assert prove_by_lemma(IMPATIENT, (), f.eq(plus(whole, ONE_F), whole)) is None
    assert prove_by_lemma(IMPATIENT, (), f.eq(plus(whole, f.fp("fp.from_int", "F32", J)), whole)) is None
    five = f.fp("fp.from_int", "F32", f.integer(5))
    assert prove_by_lemma(SOLVER, (), f.eq(five, f.floating("F32", 0x40A00000))) is not None
    pattern = f.fp("fp.from_bits", "F32", I)
    assert prove_by_lemma(SOLVER, (), f.eq(plus(pattern, MINUS), pattern)) is not None
    assert prove_by_lemma(IMPATIENT, (), f.eq(plus(pattern, ZERO), pattern)) is None


def test_a_term_shared_many_times_is_seen_once() -> None:
    shared = A
    for _ in range(60):
        shared = plus(shared, shared)
    assert prove_by_lemma(SOLVER, (), f.fp("fp.isNaN", f.BOOL, plus(shared, NAN))) is not None


# -------------------------------------------------------------------------------------------------------- alternatives


def test_alternatives_that_the_integers_exclude() -> None:
    """``i < 3 or a == 0.0``, within other facts: of use where i is at least 3, and only there."""
    either = f.or_(f.lt(I, f.integer(3)), f.fp("fp.eq", f.BOOL, A, ZERO))
    claim = f.eq(plus(B, A), B)
    rest = (f.ne(B, MINUS),)
    for known in (either, f.implies(f.lt(f.integer(0), I), either), f.and_(f.le(J, I), either)):
        proved = prove_by_lemma(SOLVER, (f.le(f.integer(3), I), f.lt(f.integer(0), J), f.le(J, I), known, *rest), claim)
        assert isinstance(proved, Proved)
        assert prove_by_lemma(SOLVER, (f.le(f.integer(2), I), known, *rest), claim) is None
        assert isinstance(SOLVER.prove((f.le(f.integer(2), I), f.lt(f.integer(0), I), known, *rest), claim), Refuted)


def test_alternatives_about_floats_stay_alternatives() -> None:
    several = f.or_(f.lt(I, f.integer(3)), f.fp("fp.eq", f.BOOL, A, ZERO), f.eq(A, NAN))
    given = (f.le(f.integer(3), I), several, f.ne(B, MINUS))
    assert prove_by_lemma(SOLVER, given, f.eq(plus(B, A), B)) is None
    found = prove_by_lemma(SOLVER, given, f.or_(f.eq(plus(B, A), B), f.eq(A, NAN)))
    assert isinstance(found, Proved)
    neither = (f.or_(P, f.fp("fp.eq", f.BOOL, A, ZERO)), f.ne(B, MINUS))
    assert prove_by_lemma(SOLVER, neither, f.eq(plus(B, A), B)) is None  # nothing is known of p
    assert isinstance(prove_by_lemma(SOLVER, (f.not_(P), *neither), f.eq(plus(B, A), B)), Proved)
