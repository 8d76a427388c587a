"""The validator: memory that each thread has for itself, but is allocated outside of the loops over threads, was one
block for all of them where no barrier is.  What a thread wrote another one found in another loop, and so with shared
memory and thread blocks.  And programs that differ in nothing but scopes of memory were the same program, whoever
shares that memory.

Finding: validator | race-missed | each thread has its own
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, validate
from verified_tir.validate.pairs import Budget, Judgement, judge
from verified_tir.validate.verdict import unplaced

HEAD = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), S: T.Buffer((4,), "int32")):
"""
THREADS = {"local": "threadIdx.x", "shared": "blockIdx.x"}
STRAY = {
    "local": "after: race between threads at x: each thread has its own, and one reads what another one wrote",
    "shared": "after: race between threads at x: each thread block has its own, and one reads what another one wrote",
}
OUTSIDE = {
    "local": "after: memory of each thread at x is used outside of the loops over them",
    "shared": "after: memory of each thread block at x is used outside of the loops over them",
}
"""What a later step has to bring into the loops, as schedules do."""


def strays(body: str, scope: str = "local", size: int = 1) -> tuple[str, ...]:
    """The races that a program has with memory of a scope, loops over threads, and none without."""
    loop = f'for i in T.thread_binding(4, thread="{THREADS[scope]}"):'
    lines = ['x = T.alloc_buffer(({},), "float32"{})', *body.replace("for i:", "{loop}").splitlines()]
    texts = [
        HEAD + "".join(f"    {line}\n" for line in lines).format(size, where, loop=how)
        for where, how in (("", "for i in range(4):"), (f', scope="{scope}"', loop))
    ]
    report = validate(*map(parse_func, texts))
    assert isinstance(report.verdict, Equal)
    assert unplaced(report.findings) or report.new_races == report.findings
    assert all(f.startswith("after: ") for f in report.findings)
    return report.findings


TWICE = """\
for k in range(2):
    for i:
        if k == 0:
            x[{0}] = A[i]
        else:
            B[i] = x[{0}]"""
TREE = """\
for k in range(2):
    for i:
        x[0] = A[i]
        for j in range(2):
            x[0] = x[0] + A[j]
        B[i] = x[0]"""
ACROSS = {
    "two loops": "for i:\n    x[0] = A[i]\nfor i:\n    B[i] = x[0]",
    "a loop around": TWICE.format(0),
    "backwards": "for i:\n    x[i] = A[i]\nfor i:\n    B[i] = x[3 - i]",
    "a condition": "for i:\n    x[0] = A[i]\nfor i:\n    if S[i] > 0:\n        x[0] = A[0]\n    B[i] = x[0]",
    "not in all": "x[0] = A[3]\nfor i:\n    if i < 2:\n        x[0] = A[0]\nfor i:\n    B[i] = x[0]",
}
BESIDE = {
    "before the loop": "x[0] = A[0]\nfor i:\n    B[i] = x[0]",
    "after the loop": "for i:\n    x[0] = A[i]\nB[0] = x[0]",
    "the same in all, and beside": "for j in range(2):\n    x[j] = A[j]\nfor i:\n    B[i] = x[0]",
}
KEPT = {
    "cells of their own": "for i:\n    x[i] = A[i]\nfor i:\n    B[i] = x[i]",
    "a loop around": TWICE.format("i"),
    "a condition": "for i:\n    x[i] = A[i]\nfor i:\n    if S[i] > 0:\n        x[i] = A[0]\n    B[i] = x[i]",
}
ALONE = {
    "one loop": "for i:\n    x[0] = A[i]\n    B[i] = x[0]",
    "a condition": "for i:\n    if S[i] > 0:\n        x[0] = A[0]\n        B[i] = x[0]",
    "outside only": "x[0] = A[0]\nB[0] = x[0]\nfor i:\n    B[i] = A[i]",
    "a tree of loops": TREE,
}


@pytest.mark.parametrize("scope", THREADS)
@pytest.mark.parametrize("name", ACROSS)
def test_what_another_one_wrote(name: str, scope: str) -> None:
    assert strays(ACROSS[name], scope, 4) == (STRAY[scope],)


@pytest.mark.parametrize("scope", THREADS)
@pytest.mark.parametrize("name", BESIDE)
def test_what_is_used_outside_of_the_loops_too(name: str, scope: str) -> None:
    assert strays(BESIDE[name], scope, 4) == (OUTSIDE[scope],)


@pytest.mark.parametrize("scope", THREADS)
@pytest.mark.parametrize("name", ALONE)
def test_what_everybody_wrote_for_himself(name: str, scope: str) -> None:
    assert strays(ALONE[name], scope, 4) == ()


@pytest.mark.parametrize("name", KEPT)
def test_what_a_thread_keeps_and_a_thread_block_does_not(name: str) -> None:
    assert strays(KEPT[name], "local", 4) == ()
    assert strays(KEPT[name], "shared", 4) == (STRAY["shared"],)


BLOCKS = (
    HEAD
    + """\
    for b in T.thread_binding(2, thread="blockIdx.x"):
        x = T.alloc_buffer((4,), "float32", scope="{scope}")
        for i in T.thread_binding(2, thread="threadIdx.x"):
            x[i] = A[b * 2 + i]
        for i in T.thread_binding(2, thread="threadIdx.x"):
            B[b * 2 + i] = x[{at}]
"""
)
PAIRS = (
    HEAD
    + """\
    for b in range(2):
        for i in range(2):
            B[b * 2 + i] = A[b * 2 + {at}]
"""
)


@pytest.mark.parametrize("scope, at, found", [
    ("local", "i", ()), ("local", "1 - i", (STRAY["local"],)), ("shared", "1 - i", ()), ("shared", "i", ()),
])  # fmt: skip
def test_threads_of_thread_blocks(scope: str, at: str, found: tuple[str, ...]) -> None:
    report = validate(parse_func(PAIRS.format(at=at)), parse_func(BLOCKS.format(scope=scope, at=at)))
    assert isinstance(report.verdict, Equal) and report.findings == found


ORDER = (
    HEAD
    + """\
    x = T.alloc_buffer((4,), "float32", scope="local")
    for i in T.thread_binding(2, thread="threadIdx.x"):
        for j in T.thread_binding(2, thread="threadIdx.y"):
            x[i * 2 + j] = A[i * 2 + j]
    for j in T.thread_binding(2, thread="threadIdx.{first}"):
        for i in T.thread_binding(2, thread="threadIdx.{second}"):
            B[i * 2 + j] = x[i * 2 + j]
"""
)


def test_a_thread_is_known_by_its_coordinates() -> None:
    before = parse_func(PAIRS.format(at="i"))
    assert validate(before, parse_func(ORDER.format(first="y", second="x"))).findings == ()
    assert validate(before, parse_func(ORDER.format(first="x", second="y"))).findings == (STRAY["local"],)


SUM = (
    HEAD
    + """\
    x = T.alloc_buffer((2,), "float32"{scope})
    for i in range(2):
        for k in {threads}:
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    x[vi] = T.float32(0)
                x[vi] = x[vi] + A[vi * 2 + vk]
    for k in {readers}:
        for i in range(2):
            B[k * 2 + i] = x[i]
"""
)


@pytest.mark.parametrize("readers, strange", [("threadIdx.x", False), ("threadIdx.y", True)])
def test_each_thread_gets_what_they_reduce_together(readers: str, strange: bool) -> None:
    loops = [f'T.thread_binding(2, thread="{tag}")' for tag in ("threadIdx.x", readers)]
    before = parse_func(SUM.format(scope="", threads="range(2)", readers="range(2)"))
    report = validate(before, parse_func(SUM.format(scope=', scope="local"', threads=loops[0], readers=loops[1])))
    assert isinstance(report.verdict, Equal)
    assert report.findings == ("after: reduction across threads at x, over k", *([STRAY["local"]] if strange else []))


OWN = (
    HEAD
    + """\
    x = T.alloc_buffer((1,), "float32"{scope})
    for i in {loop}:
        x[0] = A[i]
        B[i] = x[0] + x[0]
"""
)


def judged(one: tuple[str, str], other: tuple[str, str]) -> Judgement:
    scoped = [(f', scope="{scope}"', loop) for scope, loop in (one, other)]
    first, second = (parse_func(OWN.format(scope=scope, loop=loop)) for scope, loop in scoped)
    return judge("f", first, second, {}, Budget())


def test_programs_that_differ_in_scopes() -> None:
    threads = 'T.thread_binding(4, thread="threadIdx.x")'
    race = "after: race between threads at x between iterations of i"
    for other in ("global", "global.texture"):
        found = judged(("local", threads), (other, threads))
        assert (found.word, found.findings) == ("equal", [race])
        assert judged((other, threads), ("local", threads)).findings == [race.replace("after", "before")]
    assert judged(("global", "range(4)"), ("local", "range(4)")).text.endswith("and kinds of loops")
    assert judged(("local", threads), ("local", threads)).text.endswith("and kinds of loops")
