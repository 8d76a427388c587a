"""Race freedom: which loops are asked about, in which context, and what all iterations have in common."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, program, refused, why
from tests.rules.building import made
from verified_tir.elaborate.claims import verify_program
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.race_free import marked_loops, prove_race_free
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import labelled, of_kind

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'
PARAMS += ', C: T.Buffer((4, 8), "int32")'
OPAQUE = "for i in range(T.call_extern('int32', 'g')):\n    for j in range(2):\n        A[j] = 1\n"
ARMS = """
if X[0] > 0:
    for i in T.parallel(4):
        A[i] = 1
else:
    for i in T.parallel(4):
        A[{}] = i
"""


def meaning(text: str) -> str:
    """Why a program has no meaning, or no licence; empty if it has."""
    found = verify_program(program(text, PARAMS), PROVER)
    return why(found) if isinstance(found, (NoMatch, Unproved)) else ""


@pytest.mark.parametrize("loop", ["range", "T.parallel"])
def test_loops_without_a_licence_are_not_looked_into(loop: str) -> None:
    """How often the outer loop runs is not known, so nothing could be said of the inner one."""
    text = OPAQUE + f"for k in {loop}(4):\n    if k < 9:\n        B[k] = 1"
    accepted(program(text, PARAMS), moves.decide((1, 0), True))
    accepted(program(text, PARAMS), labelled((1,), "later"))
    licensed = text.replace("for j in range", "for j in T.parallel")
    refused(program(licensed, PARAMS), labelled((1,), "later"), "opaque call")


def test_a_refinement_says_nothing_of_races() -> None:
    """The step is right; that the loop may run as it is marked is another judgement."""
    racing = program("for i in range(4):\n    B[0] = i", PARAMS)
    theorem = apply(made(of_kind((), "parallel"), racing), reflexive(racing), PROVER)
    assert isinstance(theorem, Refines)
    found = prove_race_free(theorem.after, PROVER, theorem.entry)
    assert isinstance(found, Unproved) and "no two of its iterations" in found.obligation.claim
    assert prove_race_free(racing, PROVER, theorem.entry) == ()


def test_of_some_loops() -> None:
    func = program("for i in T.parallel(4):\n    B[i] = i\nfor i in T.parallel(4):\n    A[0] = i", PARAMS)
    assert marked_loops(func.body) == ((0,), (1,))
    assert prove_race_free(func, PROVER, Entry(), [(0,)])
    assert isinstance(prove_race_free(func, PROVER, Entry(), [(1,)]), Unproved)
    assert isinstance(prove_race_free(func, PROVER, Entry()), Unproved)
    assert prove_race_free(func, PROVER, Entry(), [(0, 0), ()]) == ()  # no marked loops: nothing is said of any


def test_only_marked_loops_need_one() -> None:
    accepted(program("for j in range(4):\n    for i in range(4):\n        A[i] = j", PARAMS), of_kind((0,), "parallel"))
    assert meaning("for j in range(4):\n    for i in T.parallel(4):\n        A[i] = j") == ""
    accepted(program("for i in range(4):\n    for j in range(4):\n        B[i] = j", PARAMS), of_kind((), "parallel"))


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (  # each arm has its own condition
            ARMS.format("0"),
            ARMS.format("i"),
        ),
        (  # what came before came once
            "t = T.alloc_buffer((1,), 'int32')\nt[0] = 1\nfor i in T.parallel(4):\n    A[i] = 1\nt[0] = t[0] - 1\n"
            "for i in T.parallel(4):\n    A[i] = 1\nfor i in T.parallel(2):\n    A[i * t[0]] = 1",
            "t = T.alloc_buffer((1,), 'int32')\nt[0] = 2\nfor i in T.parallel(4):\n    A[i] = 1\nt[0] = t[0] - 1\n"
            "for i in T.parallel(4):\n    A[i] = 1\nfor i in T.parallel(2):\n    A[i * t[0]] = 1",
        ),
        (  # what iterations still to come will store is not there yet
            "t = T.alloc_buffer((4,), 'int32')\nfor k in range(4):\n    t[k] = 0\nfor i in T.parallel(4):\n"
            "    for j in T.parallel(2):\n        C[i, j * t[i]] = 1\n    t[i] = 1",
            "t = T.alloc_buffer((4,), 'int32')\nfor k in range(4):\n    t[k] = 1\nfor i in T.parallel(4):\n"
            "    for j in T.parallel(2):\n        C[i, j * t[i]] = 1\n    t[i] = 0",
        ),
    ],
)
def test_licences_are_asked_for_where_the_loop_stands(bad: str, good: str) -> None:
    assert "no two of its iterations" in meaning(bad)
    assert meaning(good) == ""


@pytest.mark.parametrize("scope", ["shared", "warp"])
def test_shared_memory_of_one_iteration(scope: str) -> None:
    """Only threads have it in common; an iteration of another loop has its own."""
    text = f"for i in T.{{}}:\n    t = T.alloc_buffer((1,), 'int32', scope='{scope}')\n    t[0] = i\n    A[i] = t[0]"
    assert meaning(text.format("parallel(4)")) == ""
    assert "the same element of t" in meaning(text.format("thread_binding(4, thread='threadIdx.x')"))
    assert meaning(text.format("thread_binding(4, thread='blockIdx.x')")) == ""


@pytest.mark.parametrize("scope", ["local", "global"])
def test_memory_of_one_thread(scope: str) -> None:
    loop = "for i in T.thread_binding(4, thread='threadIdx.x'):"
    body = f"t = T.alloc_buffer((1,), 'int32', scope='{scope}')\n    t[0] = i\n    A[i] = t[0]"
    assert meaning(f"{loop}\n    {body}") == ""


@pytest.mark.parametrize("loop", ["parallel(4)", "thread_binding(4, thread='threadIdx.x')"])
@pytest.mark.parametrize("body", ["{call}\n    A[i] = 1", "A[i] = 1\n    {call}", "A[i] = A[i] + {result}"])
def test_opaque_calls_have_no_licence(loop: str, body: str) -> None:
    result = "T.call_extern('int32', 'g')"
    inner = body.format(call=f"T.evaluate({result})", result=result)
    assert "no opaque call" in meaning(f"for i in T.{loop}:\n    {inner}")


def test_a_loop_without_iterations_uses_nothing() -> None:
    text = "t = T.alloc_buffer((4,), 'int32', scope='local')\nfor tx in T.thread_binding({}, thread='threadIdx.x'):\n"
    text += "    A[tx] = t[tx]"
    assert meaning(text.format(0)) == ""
    assert "of which each has its own" in meaning(text.format(2))


@pytest.mark.parametrize(("scope", "fine"), [("shared", True), ("local", False)])
def test_each_access_of_private_memory_from_outside_is_refused(scope: str, *, fine: bool) -> None:
    """Also of an access that comes after others."""
    text = f"X = T.alloc_buffer((8,), 'int32', scope='{scope}')\nfor t in T.thread_binding(8, thread='threadIdx.x'):\n"
    func = program(text + "    B[t] = A[t]\n    X[t] = A[t]", 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")')
    found = prove_race_free(func, PROVER, Entry())
    assert isinstance(found, tuple) is fine
    if not fine:
        assert "X of scope local from outside, of which each has its own" in why(found)


@pytest.mark.parametrize("axis", ["threadIdx.x", "threadIdx", "threadIdx.xy", "blockIdx.z", "blockIdx", "vthread"])
def test_threads_are_those_of_any_dimension(axis: str) -> None:
    """The interpreter and the validator go by the first word, too."""
    loop = f"for i in T.thread_binding(4, thread='{axis}'):\n    t[i] = 1"
    text = f"t = T.alloc_buffer((4,), 'int32', scope='local')\n{loop}"
    found = prove_race_free(program(text), PROVER, Entry())
    assert isinstance(found, Unproved) is (axis != "vthread")
