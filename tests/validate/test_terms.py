"""The table of terms: equal rows get one number, different ones never; constants keep their types and signs."""

import numpy as np
import pytest

from verified_tir.ir.dtype import BOOL, FLOAT16, FLOAT32, INT32, DType
from verified_tir.validate.terms import MAY_NAN, MAY_NEGATIVE_ZERO, Terms, TooManyTerms

UINT32 = DType.parse("uint32")


def test_numbers_are_identity():
    terms, known = Terms(), {}
    rng = np.random.default_rng(3)
    code = terms.code("add", FLOAT32)
    for size in (1, 10, 5000, 20000, 300):  # with repetitions inside one call, and growth in between
        a, b = rng.integers(0, 90, size), rng.integers(0, 90, size)
        ids, new = terms.intern(code, a, b)
        fresh = {pair for pair in zip(a.tolist(), b.tolist(), strict=True) if pair not in known}
        for pair, term, is_new in zip(
            zip(a.tolist(), b.tolist(), strict=True), ids.tolist(), new.tolist(), strict=True
        ):
            assert known.setdefault(pair, term) == term
            assert is_new == (pair in fresh)
    assert len(set(known.values())) == len(known)
    sequence = terms.sequence("input:0", FLOAT32, 10000)
    more, _ = terms.intern(code, np.arange(200), 7)
    assert not set(more.tolist()) & set(sequence.tolist())
    assert (terms.sequence("input:0", FLOAT32, 10000) == sequence).all()
    again, new = terms.intern(code, a, b)
    assert not new.any() and (again == ids).all()


def test_constants_of_one_value_differ_by_type_and_sign():
    terms = Terms()
    zeros = [
        terms.constant(FLOAT32, 0.0), terms.constant(FLOAT32, -0.0), terms.constant(FLOAT16, 0.0),
        terms.constant(INT32, 0), terms.constant(UINT32, 0), terms.constant(BOOL, False),
    ]  # fmt: skip
    assert len(set(zeros)) == len(zeros)
    nan = terms.constant(FLOAT32, float("nan"))
    assert nan == terms.constant(FLOAT32, -float("nan"))
    assert terms.flags[zeros[1]] == MAY_NEGATIVE_ZERO and terms.flags[nan] == MAY_NAN and terms.flags[zeros[0]] == 0


def test_codes_know_type_and_signedness():
    terms = Terms()
    a, b = terms.constant(INT32, 1), terms.constant(INT32, 2)
    found = [int(terms.intern(terms.code("lt", t), a, b)[0]) for t in (INT32, UINT32, FLOAT32)]
    assert len(set(found)) == 3


def test_values_survive():
    terms = Terms()
    for dtype, value in ((FLOAT32, -1.5), (FLOAT16, 65504.0), (DType.parse("uint64"), 2**64 - 1), (INT32, -(2**31))):
        assert terms.value(terms.constant(dtype, value)) == value


def test_a_full_table_says_so():
    with pytest.raises(TooManyTerms):
        Terms(limit=1000).intern(5, np.arange(5000))
