"""A refusal marks the statement that is to blame, in the program as the user wrote it."""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError
from verified_tir.elaborate.blocks import expand, place_as_written
from verified_tir.ir.find import places_of
from verified_tir.ir.paths import at
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Seq, Store
from verified_tir.schedule.claims import in_words

BLOCK = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.sblock("s"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                {init}
            {update}
"""
GOOD = {"init": "B[v] = 0.0", "update": "B[v] = B[v] + A[v, r]"}


def marked(text: str, *steps: str) -> str:
    """The line that is marked."""
    with pytest.raises(ScheduleError) as raised:
        exec("\n".join(steps), {"s": Schedule(text)}) if steps else Schedule(text)
    (line,) = [x for x in str(raised.value).splitlines() if "# <-- here" in x]
    return line.partition("#")[0].strip()


def test_under_an_initialisation() -> None:
    assert marked(BLOCK.format(**GOOD | {"update": "B[v] = B[v] + A[v, r + 1]"})) == "B[v] = B[v] + A[v, r + 1]"
    assert marked(BLOCK.format(**GOOD | {"init": "B[v] = A[v, 8]"})) == "B[v] = A[v, 8]"


@pytest.mark.parametrize("inside", ["B[v] = B[v] + A[v, r]", "if r < 4:\n                B[v] = B[v] + A[v, r]"])
@pytest.mark.parametrize("where", ["", "T.where(i < 3)\n            "])
@pytest.mark.parametrize("init", ["B[v] = 0.0", "B[v] = 0.0\n                B[v] = 1.0"])
def test_each_store_of_a_block_is_found_again(inside: str, where: str, init: str) -> None:
    body = parse_func(BLOCK.format(init=init, update=where + inside)).body
    stores = {s.value: p for p, s in places_of(body, Store, lambda _: True)}
    expanded = list(places_of(expand(body), Store, lambda _: True))
    assert len(expanded) == len(stores)
    assert [place_as_written(body, path) for path, _ in expanded] == list(stores.values())
    for path, _ in expanded:
        for k in range(len(path)):
            at(body, place_as_written(body, path[:k]))  # a statement, whatever is around it
    assert not isinstance(body, Seq)


def test_steps_without_a_place_of_their_own() -> None:
    text = BLOCK.format(**GOOD)
    assert marked(text, 's.split("k", [2, 2])') == "for i, k in T.grid(4, 8):"
    assert marked(text, 's.set_scope("A", "shared")') == "B[i] = B[i] + A[i, k]"
    assert marked(text, 's.split("k", [2, 4])', 's.reorder("k_1", "k_0")') == "B[i] = B[i] + A[i, k_0 * 4 + k_1]"


@pytest.mark.parametrize(
    ("name", "claim", "words"),
    [
        ("safety", "A[i + (1)]: in bounds", "A[i + (1)] lies within the bounds of A"),
        ("safety", "x: an index that is undef (a hint)", "no index of x is undefined (a hint)"),
        ("equal", "T.float32(0.0) equals B[i]", "T.float32(0.0) has the same bits as B[i], which it replaces"),
        (
            "equal",
            "x equals B[i] (int8 must hold it)",
            "x has the same bits as B[i], which it replaces (int8 must hold it)",
        ),
        ("bijection", "every old iteration of (i) is run", "each iteration of loop i is still made after the step"),
        ("race", "anything else", "anything else"),
    ],
)
def test_claims_in_words(name: str, claim: str, words: str) -> None:
    assert in_words(name, claim) == words
