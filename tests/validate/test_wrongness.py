"""Each way to be wrong: the right verdict, and that the validator, broken that way, gives a wrong one.

The second half is what the first is worth: a test that holds for a broken validator too tests nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.validate.test_validate import HEAD, INTS, program, store
from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.ir.stmt import Assume, seq
from verified_tir.ir.visit import rewrite
from verified_tir.validate import (
    Different,
    Equal,
    EqualOverReals,
    Unknown,
    concrete,
    decide,
    normal,
    numbers,
    operators,
    validate,
    validator,
)
from verified_tir.validate import compare as compare_module
from verified_tir.validate.events import Events
from verified_tir.validate.normal import Normaliser
from verified_tir.validate.terms import MAY_UNDEF, Terms

FLOATS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
Patch = pytest.MonkeyPatch


def one_zero(patch: Patch) -> None:
    constant = Terms.constant
    patch.setattr(
        Terms, "constant", lambda self, dtype, v: constant(self, dtype, 0.0 if v == 0 and dtype.is_float else v)
    )


def one_sign(patch: Patch) -> None:
    """Operators without signedness."""
    code = Terms.code

    def plain(self: Terms, op: str, dtype: DType) -> int:
        return code(self, op.replace("uint", "int"), DType("int", dtype.bits) if dtype.code == "uint" else dtype)

    patch.setattr(Terms, "code", plain)


def never_undef(patch: Patch) -> None:
    patch.setattr(operators, "MAY_UNDEF", 0)


def undef_is_a_value(patch: Patch) -> None:
    patch.setattr(operators, "UNDEF_ID", -7)
    patch.setattr(operators, "MAY_UNDEF", 0)


def bits_of_nan(patch: Patch) -> None:
    facts = operators._facts

    def known(op, dtype, a, b, c):
        found = facts(op, dtype, a, b, c)
        return found & np.uint8(0xFF ^ MAY_UNDEF) if op == "reinterpret" else found

    patch.setattr(operators, "_facts", known)


def backwards(patch: Patch) -> None:
    """An element that is undef after may be anything before."""
    compare = compare_module.compare
    patch.setattr(validator, "compare", lambda terms, a, b, old, new: compare(terms, b, a, new, old))


def no_undefined_behaviour(patch: Patch) -> None:
    patch.setattr(Events, "note", lambda *_: None)


def wrapping_addresses(patch: Patch) -> None:
    fit = numbers.fit
    patch.setattr(numbers, "fit", lambda dtype, exact, *, index: (fit(dtype, exact, index=index)[0], None))


def no_modulus(patch: Patch) -> None:
    def add(total, monomial, coefficient, modulus):
        total[monomial] = total.get(monomial, 0) + coefficient

    patch.setattr(normal, "_add", add)


def reals_are_bits(patch: Patch) -> None:
    patch.setattr(decide, "same_summands", lambda *_: False)
    patch.setattr(decide, "Normaliser", lambda terms, undefined, *, reals: Normaliser(terms, undefined, reals=True))


def assumptions_are_ignored(patch: Patch) -> None:
    run = concrete.run

    def unassuming(func, arguments, **more):
        return run(rewrite(func, lambda n: seq() if isinstance(n, Assume) else None), arguments, **more)

    patch.setattr(concrete, "run", unassuming)


@dataclass(frozen=True)
class Way:
    """``breaks`` makes the validator wrong about whether ``after`` refines ``before``; ``right`` tests the verdict."""

    breaks: Callable[[Patch], None]
    before: str
    after: str
    right: Callable[[object], bool]
    params: str = FLOATS


def is_(*kinds: type) -> Callable[[object], bool]:
    return lambda verdict: isinstance(verdict, kinds)


def as_integers(verdict: object) -> bool:
    return isinstance(verdict, Equal) and verdict.how.get("integers") == 1


UNDEF = 'T.undef("int32")'
DOUBTFUL = f"T.Select(A[0] > 0, A[1], {UNDEF})"
LONG = 'A: T.Buffer((4,), "int64"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int8")'

WAYS = {
    "zeros of both signs merged": Way(one_zero, store("T.float32(0)"), store("T.float32(-0.0)"), is_(Different)),
    "an operator without signedness": Way(
        one_sign,
        'B[0] = T.Select(T.Cast("int32", A[0]) < 5, 1, 0)',
        'B[0] = T.Select(T.Cast("uint32", A[0]) < T.uint32(5), 1, 0)',
        is_(Different), LONG,
    ),
    "a division without signedness": Way(
        one_sign,
        'B[0] = T.Cast("int32", A[0]) // 3',
        'B[0] = T.Cast("int32", T.Cast("uint32", A[0]) // T.uint32(3))',
        is_(Different), LONG,
    ),
    "undef - undef": Way(undef_is_a_value, store("0"), store(f"{UNDEF} - {UNDEF}"), is_(Different), INTS),
    "one undef for two uses": Way(
        undef_is_a_value, store("0"), f"x: T.let[T.int32] = {UNDEF}\nB[0] = x - x", is_(Different), INTS
    ),
    "undef perhaps, dropped": Way(never_undef, store("0"), store(f"{DOUBTFUL} - {DOUBTFUL}"), is_(Different), INTS),
    "undef perhaps, in a product with zero": Way(
        never_undef, store("0"), store(f"{DOUBTFUL} * (A[2] - A[2])"), is_(Different), INTS
    ),
    "undef after for a value before": Way(backwards, store("A[3]"), store('T.undef("float32")'), is_(Different)),
    "a NaN's payload": Way(
        bits_of_nan,
        'C[0] = 0',
        'C[0] = T.reinterpret("int32", A[0]) - T.reinterpret("int32", A[0])',
        is_(Different), FLOATS + ', C: T.Buffer((1,), "int32")',
    ),
    "a before without any meaning": Way(
        no_undefined_behaviour, "B[4] = A[0]", store("T.float32(2)"), lambda v: isinstance(v, Equal) and v.vacuous
    ),
    "undefined behaviour of after": Way(
        no_undefined_behaviour, store("A[0]"), "B[0] = A[0]\nB[4] = A[0]", is_(Different)
    ),
    "addresses that wrap in int32": Way(
        wrapping_addresses, store("A[0]"),
        "for i in range(1):\n    B[(i + 2147483647) + 1 - 2147483647 - 1] = A[0]", is_(Different), INTS,
    ),
    "integer sums not modulo 2**32": Way(no_modulus, store("A[0] * 65536 * 65536"), store("0"), as_integers, INTS),
    "float sums reordered": Way(
        reals_are_bits, store("(A[0] + A[1]) + A[2]"), store("A[0] + (A[1] + A[2])"), is_(EqualOverReals)
    ),
    "a witness that violates an assumption": Way(
        assumptions_are_ignored, "T.assume(A[0] == 7)\nB[0] = A[0]", store("7"), is_(Equal), INTS
    ),
}  # fmt: skip


def judged(way: Way) -> object:
    return validate(program(way.before, way.params), program(way.after, way.params)).verdict


@pytest.mark.parametrize("name", WAYS)
def test_a_way_to_be_wrong(name: str, monkeypatch: Patch) -> None:
    way = WAYS[name]
    assert way.right(judged(way)), judged(way)
    way.breaks(monkeypatch)
    assert not way.right(judged(way)), f"a validator that is broken this way passes: {judged(way)}"


def test_what_is_not_broken_is_the_same_program() -> None:
    """Beside each refusal: the program itself is accepted, whatever it contains."""
    for way in WAYS.values():
        assert isinstance(validate(program(way.before, way.params), program(way.before, way.params)).verdict, Equal)
        assert isinstance(validate(program(way.after, way.params), program(way.after, way.params)).verdict, Equal)


def test_opaque_calls_have_memory() -> None:
    """What a call reads, and that it may write: moved past a store, repeated, or given another pointer."""
    call = 'T.evaluate(T.call_extern("int32", "touch", B.data))'
    same, moved = f"B[0] = A[0]\n{call}", f"{call}\nB[0] = A[0]"
    assert isinstance(validate(program(same, FLOATS), program(same, FLOATS)).verdict, Equal)
    for one, other in (
        (same, moved),
        (call, f"{call}\n{call}"),
        (call, call.replace("B.data", "A.data")),
        (call, "B[0] = B[0]"),
    ):
        assert isinstance(validate(program(one, FLOATS), program(other, FLOATS)).verdict, Unknown), (one, other)


def test_an_address_that_is_not_decided_is_not_taken_for_another() -> None:
    """A gather at undecided addresses: never equal to one at others."""
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")'
    gather = "B[0] = C[A[0] % 4]"
    for other in ("B[0] = C[(A[0] + 1) % 4]", "B[0] = C[A[1] % 4]", "B[0] = C[0]"):
        assert isinstance(validate(program(gather, params), program(other, params)).verdict, Different)
    assert not isinstance(validate(program(gather, params), program(gather, params)).verdict, Different)


def test_nothing_is_different_without_a_witness() -> None:
    """Terms that nobody can tell apart, in a program that cannot be run, are unknown."""
    call = 'T.evaluate(T.call_extern("int32", "touch", B.data))'
    left, right = f"{call}\nB[0] = A[0] * A[1] + A[0] * A[2]", f"{call}\nB[0] = A[0] * (A[1] + A[2])"
    assert isinstance(validate(program(left, FLOATS), program(right, FLOATS)).verdict, Unknown)


def test_a_size_at_which_all_is_empty_is_no_equality() -> None:
    """At n = 0 everything is equal; what differs at 1 must be found."""
    text = (
        HEAD.format(params='A: T.Buffer(("n",), "int32"), n: T.int32') + "    for i in range(n):\n        A[i] = {}\n"
    )
    one, two = parse_func(text.format("i")), parse_func(text.format("i + 1"))
    assert isinstance(validate(one, two, sizes={"n": 0}).verdict, Equal)
    assert isinstance(validate(one, two, sizes={"n": 1}).verdict, Different)
