"""Labels, attributes and annotations come and go; nothing is owed for them."""

from __future__ import annotations

from tests.kernel.programs import accepted, gives, program, refused
from verified_tir.ir.script import parse_func, script
from verified_tir.kernel.rules.annotate import Annotate, Attributes, Label, RemoveLabels, Unwrap


def test_label_and_unwrap() -> None:
    gives(program("A[0] = 1"), Label((), "b"), 'with T.sblock("b"):\n    A[0] = 1')
    gives(accepted(program("A[0] = 1"), Label((), "b")), Unwrap(()), "A[0] = 1")
    gives(program('with T.attr("", "pragma", 1):\n    A[0] = 1'), Unwrap(()), "A[0] = 1")
    refused(program("A[0] = 1"), Unwrap(()), "neither a label nor an attribute")


def test_a_block_that_means_something_does_not_go() -> None:
    text = 'for i in range(4):\n    with T.sblock("b"):\n        vi = T.axis.spatial(4, i)\n        A[vi] = 1'
    refused(program(text), Unwrap((0,)), "neither a label")


def test_remove_labels_flattens() -> None:
    inner = accepted(program("A[0] = 1\nA[1] = 2\nB[0] = 3"), Label((0,), "x"), Label((), "y"))
    gives(inner, RemoveLabels(), "A[0] = 1\nA[1] = 2\nB[0] = 3")


def test_a_label_around_several_statements() -> None:
    f = program("A[0] = 1\nA[1] = 2\nB[0] = 3")
    both = 'with T.sblock("b"):\n    A[0] = 1\n    A[1] = 2\nB[0] = 3'
    gives(f, Label((0,), "b", 2), both)
    gives(accepted(f, Label((0,), "b", 2)), Unwrap((0,)), "A[0] = 1\nA[1] = 2\nB[0] = 3")
    whole = accepted(f, Label((0,), "b", 3))
    gives(whole, Unwrap(()), "A[0] = 1\nA[1] = 2\nB[0] = 3")
    refused(f, Label((1,), "b", 3), "there are no 2 statements after this one")
    refused(program("A[0] = 1"), Label((), "b", 2), "there are no 1 statements after this one")


def test_annotate() -> None:
    f = program("for i in range(4):\n    A[i] = 1")
    marked = accepted(f, Annotate((), (("hint", 1),)))
    assert 'for i in range(4, annotations={"hint": 1}):' in script(marked) or "hint" in script(marked)
    gives(marked, Annotate((), ()), "for i in range(4):\n    A[i] = 1")
    refused(f, Annotate((0,), (("hint", 1),)), "it has no annotations")


def test_attributes() -> None:
    f = parse_func('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    T.func_attr({"x": 1})\n    A[0] = 1\n')
    assert accepted(f, Attributes(())).attrs == ()
    assert accepted(f, Attributes(())).body is f.body
