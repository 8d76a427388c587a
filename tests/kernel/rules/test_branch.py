"""Branches appear, go, move and merge."""

from __future__ import annotations

from tests.kernel.programs import AB, buffer, gives, load, program, refused, variable
from verified_tir.ir.sugar import binary
from verified_tir.schedule import moves

ABN = AB + ", n: T.int32"


def test_introduce() -> None:
    f = program("A[0] = 1", ABN)
    n = variable(f, "n")
    gives(f, moves.introduce((), n > 0), "if n > 0:\n    A[0] = 1\nelse:\n    A[0] = 1")
    refused(f, moves.introduce((), binary("gt", 4 // n, 0)), "safety: 4 // n: no division by zero (Refuted)")
    refused(f, moves.introduce((), load(buffer(f, "A"), 0) > 0), "safety: A[0] > 0 is defined (Refuted)")


def test_introduce_around_several() -> None:
    f = program("A[0] = 1\nA[1] = 2\nA[2] = 3", ABN)
    n = variable(f, "n")
    both = "    A[1] = 2\n    A[2] = 3\n"
    gives(f, moves.introduce((1,), n > 0, 2), f"A[0] = 1\nif n > 0:\n{both}else:\n{both}".rstrip())
    gives(
        f,
        moves.introduce((0,), n > 0, 3),
        "if n > 0:\n    A[0] = 1\n" + both + "else:\n    A[0] = 1\n" + both.rstrip(),
    )
    refused(f, moves.introduce((1,), n > 0, 3), "there are no 2 statements after this one")
    refused(f, moves.introduce((), n > 0, 2), "there are no 1 statements after this one")
    loaded = load(buffer(f, "A"), 0) > 0  # true of what the first statement stores, and defined only then
    refused(f, moves.introduce((0,), loaded, 2), "safety: A[0] > 0 is defined (Refuted)")
    gives(f, moves.introduce((1,), loaded, 2), f"A[0] = 1\nif A[0] > 0:\n{both}else:\n{both}".rstrip())


def test_trim() -> None:
    text = "if A[0] > 0:\n    B[0] = 1"
    gives(program(text + "\nelse:\n    pass"), moves.reshape((), "trim"), text)
    refused(program(text), moves.reshape((), "trim"), "no branch of the form")
    refused(program(text + "\nelse:\n    B[0] = 2"), moves.reshape((), "trim"), "no branch of the form")


def test_merge() -> None:
    text = "if A[0] > 0:\n    B[0] = 1\nelse:\n    B[0] = {}"
    gives(program(text.format(1)), moves.merge(()), "B[0] = 1")
    refused(program(text.format(2)), moves.merge(()), "not a branch with the same statement on both sides")


def test_decide() -> None:
    text = "for i in range(3):\n    if i < {}:\n        A[i] = 1\n    else:\n        A[i] = 2"
    gives(program(text.format(3)), moves.decide((0,), True), "for i in range(3):\n    A[i] = 1")
    gives(program(text.format(0)), moves.decide((0,), False), "for i in range(3):\n    A[i] = 2")
    refused(program(text.format(2)), moves.decide((0,), True), "bijection: the branch is always taken here (Refuted)")
    refused(program(text.format(3)), moves.decide((0,), False), "bijection: the branch is always taken here (Refuted)")


def test_decide_by_what_was_stored() -> None:
    text = "A[0] = 1\n{}\nif A[0] == 1:\n    B[0] = 1"
    gives(program(text.format("A[1] = 2")), moves.decide((2,), True), "A[0] = 1\nA[1] = 2\nB[0] = 1")
    refused(program(text.format("A[B[0]] = 2")), moves.decide((2,), True), "the branch is always taken here")


def test_hoist() -> None:
    text = "for i in range(3):\n    if n > 0:\n        A[i] = 1"
    gives(program(text, ABN), moves.hoist(()), "if n > 0:\n    for i in range(3):\n        A[i] = 1")
    depends = text.replace("n > 0", "i > 0")
    refused(program(depends, ABN), moves.hoist(()), "the condition depends on i")
    unsafe = text.replace("n > 0", "4 // n > 0").replace("3", "n")
    refused(program(unsafe, ABN), moves.hoist(()), "safety: 4 // n: no division by zero (Refuted)")
    written = text.replace("n > 0", "A[0] > 0")
    refused(program(written, ABN), moves.hoist(()), "the body writes what bounds or guards read")


def test_sink() -> None:
    text = "if A[0] > 0:\n    for i in range({}):\n        {}[i] = 1"
    gives(program(text.format(3, "B")), moves.sink(()), "for i in range(3):\n    if A[0] > 0:\n        B[i] = 1")
    refused(program(text.format(3, "A")), moves.sink(()), "the body writes what bounds or guards read")
    bounds = text.replace("A[0] > 0", "n > 0").format("4 // n", "B")
    refused(program(bounds, ABN), moves.sink(()), "safety: 4 // n: no division by zero (Refuted)")


def test_reshape() -> None:
    both = "if A[0] > 0 and A[1] > 0:\n    B[0] = 1"
    nested = "if A[0] > 0:\n    if A[1] > 0:\n        B[0] = 1"
    gives(program(both), moves.reshape((), "nest"), nested)
    gives(program(nested), moves.reshape((), "unnest"), both)
    gives(program("if A[0] > 0:\n    B[0] = 1"), moves.reshape((), "negate"),
          "if not A[0] > 0:\n    pass\nelse:\n    B[0] = 1")  # fmt: skip
    refused(program(both.replace("and", "or")), moves.reshape((), "nest"), "no branch of the form")
    refused(program(nested + "\n    else:\n        B[0] = 2"), moves.reshape((), "unnest"), "no branch of the form")
