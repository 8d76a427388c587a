"""Inaccessible elements of any width: also of one byte, and when only one byte of an access is closed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.programs import function, load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.stmt import DeclBuffer, Evaluate, Stmt
from verified_tir.semantics.interpreter import UndefinedBehaviour, run


@pytest.mark.parametrize("dtype", ["int8", "bool", "int16", "float64"])
def test_a_closed_element_is_neither_read_nor_written(dtype: str) -> None:
    a = Buffer.declare("A", (4,), dtype)
    closed = {"A": np.arange(4) == 2}
    bodies: list[Stmt] = [Evaluate(load(a, 2)), store(a, 0, 2)]
    for body in bodies:
        with pytest.raises(UndefinedBehaviour) as caught:
            run(function([a], body), {"A": np.zeros(4, dtype)}, inaccessible=closed)
        assert (caught.value.kind, caught.value.indices) == ("inaccessible", (2,))
    run(function([a], store(a, 0, 3)), {"A": np.zeros(4, dtype)}, inaccessible=closed)


@pytest.mark.parametrize(("closed", "word"), [(0, 0), (3, 0), (4, 1), (7, 1)])
def test_one_closed_byte_closes_the_words_around_it(closed: int, word: int) -> None:
    a = Buffer.declare("A", (8,), "int8")
    words = Buffer.declare("W", (2,), "int32", data=a.data)
    shut = {"A": np.arange(8) == closed}
    with pytest.raises(UndefinedBehaviour):
        run(
            function([a], DeclBuffer(words, Evaluate(load(words, word)))),
            {"A": np.zeros(8, np.int8)},
            inaccessible=shut,
        )
    run(
        function([a], DeclBuffer(words, Evaluate(load(words, 1 - word)))),
        {"A": np.zeros(8, np.int8)},
        inaccessible=shut,
    )
