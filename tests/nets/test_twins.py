"""Names mean nothing, and views and calls add nothing: whatever is asked of the kernel again has the same verdict.

What is asked: every program and every rule of the acceptance suite, of the examples and of the cases that must be
rejected, also what tactics only try.  A few of them here, all of them with ``VTIR_TESTS=all``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from tests.nets.corpus import Case, of_the_book, of_the_examples, run, that_must_be_rejected
from tests.nets.derivations import mirror, recorded
from tests.nets.twins import Name, Twins, outlined, viewed, without_views
from tests.nightly import sample
from verified_tir import Schedule, ScheduleError
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import parse_func

CASES = [*that_must_be_rejected(), *of_the_examples(), *of_the_book()]
ODD = ["B!x", "C@1", "(assert", "B.def", "Β", "В", "", " ", '"', "a\nb", "\\", "|", "let", "|a b|", "𝔅", "B̈", "A", "i"]


def one_by_one() -> Name:
    """The odd names in turn, whatever the name was."""
    numbers = count()
    return lambda name: ODD[next(numbers) % len(ODD)]


NAMES: dict[str, Callable[[], Name]] = {
    "exclamation": lambda: lambda name: f"{name}!x",
    "version": lambda: lambda name: f"{name}@1",
    "primed": lambda: lambda name: f"{name}'",
    "all the same": lambda: lambda name: "B",
    "empty": lambda: lambda name: "",
    "text of a solver": lambda: lambda name: f'(assert false) "|{name}\\\n',
    "odd": one_by_one,
}


def in_turn() -> list[tuple[str, Case]]:
    """Each case with one kind of names."""
    return [(list(NAMES)[k % len(NAMES)], case) for k, case in enumerate(sample(CASES, 24, 1))]


@pytest.mark.parametrize(("kind", "case"), in_turn(), ids=lambda v: v if isinstance(v, str) else v[0])
def test_names_mean_nothing(kind: str, case: Case) -> None:
    with recorded() as events:
        run(case[1])
    name = NAMES[kind]()
    found = mirror(events, lambda: Twins(name))
    assert not found.differences, "\n\n".join(found.differences)
    assert not found.refused_more and not found.refused_otherwise and not found.passed_over
    assert found.asked == len([e for e in events if hasattr(e, "result") and getattr(e, "blocks", ()) is not None])


@pytest.mark.parametrize("case", sample(CASES, 16, 2), ids=lambda c: c[0])
def test_views_add_nothing(case: Case) -> None:
    """What is about a whole block is refused where it has a view; nothing else is, and nothing more is accepted."""
    with recorded() as events:
        run(case[1])
    found = mirror(events, lambda: Twins(views=True))
    assert not found.differences, "\n\n".join(found.differences)
    others = [r for r in found.refused_more if not any(r[1].endswith(e) or e in r[1] for e in ABOUT_BLOCKS)]
    assert not others, others


ABOUT_BLOCKS = (
    "has other views or strides; they would have to move with it",
    "no allocation of the form that",
    "is used",
    "on the arguments",  # a call of what a statement does is a call on whole buffers
    "is not declared here",  # an assumption over the view
    "accessible",  # padding that was promised inaccessible belongs to the parameter, and is known where that is read
)
"""Reasons for which a program with views may be refused: rules that move a block ask that it has one view."""


@pytest.mark.parametrize("case", sample(CASES, 16, 3), ids=lambda c: c[0])
def test_calls_add_nothing(case: Case) -> None:
    with recorded() as events:
        run(case[1])
    found = mirror(events, lambda: Twins(outlined=True))
    assert not found.differences, "\n\n".join(found.differences)
    assert not found.refused_otherwise


RACES = {
    "parallel": "for i in T.parallel(4):\n        B[0] = A[i]",
    "vectorized": "for i in T.vectorized(4):\n        B[i // 2] = A[i]",
    "threads": 'for i in T.thread_binding(4, thread="threadIdx.x"):\n        B[i % 3] = A[i]',
    "shared": 'for i in T.thread_binding(4, thread="threadIdx.x"):\n'
    '        X = T.alloc_buffer((1,), "float32", scope="shared")\n        X[0] = A[i]\n        B[i] = X[0]',
    "local from outside": 'X = T.alloc_buffer((4,), "float32", scope="local")\n'
    '    for i in T.thread_binding(4, thread="threadIdx.x"):\n        X[i] = A[i]\n        B[i] = X[i]',
    "shared from outside of blocks": 'X = T.alloc_buffer((4,), "float32", scope="shared")\n'
    '    for i in T.thread_binding(4, thread="blockIdx.x"):\n        X[i] = A[i]\n        B[i] = X[i]',
    "local that another thread stored": 'X = T.alloc_buffer((1,), "float32", scope="local")\n'
    '    for i in T.thread_binding(4, thread="threadIdx.x"):\n        if i > 0:\n            B[i] = X[0]\n'
    "        X[0] = A[i]",
    "local behind the threads": 'X = T.alloc_buffer((4,), "float32", scope="local")\n'
    '    for i in T.thread_binding(4, thread="threadIdx.x"):\n        X[i] = A[i]\n    B[0] = X[3]',
    "local of a thread": 'for i in T.thread_binding(4, thread="threadIdx.x"):\n'
    '        X = T.alloc_buffer((1,), "float32", scope="local")\n        X[0] = A[i]\n        B[i] = X[0]',
    "each its own element": "for i in T.parallel(4):\n        B[i] = A[i]",
}
FINE = {"local from outside", "shared from outside of blocks", "local of a thread", "each its own element"}
"""Memory from outside that each thread, or thread block, has of its own, is allocated in their loop."""


@pytest.mark.sample(5)
@pytest.mark.parametrize("case", RACES)
def test_races_through_views_and_calls(case: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    {RACES[case]}\n'
    func = parse_func(text)
    assert structural_equal(without_views(viewed(func))[0], func)
    for program, name in ((func, None), (viewed(func), None), (outlined(func), "f"), (outlined(viewed(func)), "f")):
        if case in FINE:
            Schedule(program, name=name, cache=False)
        else:
            with pytest.raises(ScheduleError, match=r"no (two iterations|iteration) of the"):
                Schedule(program, name=name, cache=False)


@pytest.mark.parametrize("kind", ["parallel", "vectorize", "bind"])
@pytest.mark.parametrize("view", [False, True])
def test_marks_are_asked_for_through_views(kind: str, view: bool) -> None:
    def marked(index: str) -> None:
        func = parse_func(
            "@T.prim_func\n"
            f'def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
            f"    for i in range(4):\n        B[{index}] = B[{index}] + A[i]\n"
        )
        s = Schedule(viewed(func) if view else func, cache=False)
        if kind == "bind":
            s.bind("i", "threadIdx.x")
        else:
            getattr(s, kind)("i")

    marked("i")
    with pytest.raises(ScheduleError, match="element of B"):
        marked("i // 2")
