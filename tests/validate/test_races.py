"""Races: parallel iterations that conflict, vector lanes that conflict; each with a neighbour that is fine."""

import pytest

from verified_tir import parse_func
from verified_tir.cli.validate import Options, run
from verified_tir.validate import Equal, validate

PARAMS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "int32")'


def findings(body: str) -> list[str]:
    """What is found in a program, the same whether run in rows or serially."""
    text = f"@T.prim_func\ndef f({PARAMS}):\n" + "\n".join("    " + line for line in body.split("\n"))
    func = parse_func(text)
    found = [
        [f.removeprefix("before: ") for f in validate(func, func, fast=fast).findings if f.startswith("before: ")]
        for fast in (True, False)
    ]
    assert found[0] == found[1]
    return found[0]


RACE = "race at B between iterations of i"

HALVES = 'b = T.decl_buffer((16,), "int16", data=C.data)\nfor i in T.parallel(8):\n    b[{}] = T.int16(1)\n    C[i] = 1'

CASES = [
    ("for i in T.parallel(8):\n    B[0] = A[i]", "for i in T.parallel(8):\n    B[i] = A[0]", RACE),
    ("for i in T.parallel(7):\n    B[i] = B[i + 1]", "for i in T.parallel(7):\n    B[i] = A[i + 1]", RACE),
    # nested in a serial loop: each run of the loop is judged for itself
    (
        "for k in range(2):\n    for i in T.parallel(4):\n        B[i // 2] = A[i]",
        "for k in range(2):\n    for i in T.parallel(4):\n        B[i] = A[i] + B[i]",
        RACE,
    ),
    # a serial loop inside
    (
        "for i in T.parallel(4):\n    for k in range(2):\n        B[i + k] = A[k]",
        "for i in T.parallel(4):\n    for k in range(2):\n        B[i * 2 + k] = A[k]",
        RACE,
    ),
    # only where data says so
    (
        "for i in T.parallel(8):\n    if A[i] > T.float32(0):\n        B[0] = A[i]",
        "for i in T.parallel(8):\n    if A[i] > T.float32(0):\n        B[i] = A[i]",
        RACE,
    ),
    # a condition that no two iterations fulfil
    (
        "for i in T.parallel(8):\n    if i >= 6:\n        B[0] = A[i]",
        "for i in T.parallel(8):\n    if i >= 7:\n        B[0] = A[i]",
        RACE,
    ),
    # memory allocated inside is an iteration's own
    (
        't = T.alloc_buffer((1,), "float32")\nfor i in T.parallel(8):\n    t[0] = A[i]\n    B[i] = t[0]',
        'for i in T.parallel(8):\n    t = T.alloc_buffer((1,), "float32")\n    t[0] = A[i]\n    B[i] = t[0]',
        "race at t between iterations of i",
    ),
    # there are no atomic updates
    ("for i in T.parallel(8):\n    C[0] = C[0] + 1", "for i in T.parallel(1):\n    C[0] = C[0] + 1",
     "race at C between iterations of i"),
    # bytes, not elements, are what iterations share
    (
        HALVES.format("i"),
        HALVES.format("i * 2"),
        "race at C between iterations of i",
    ),
    # lanes
    (
        "for i in T.vectorized(4):\n    B[i] = B[i + 1]",
        "for i in T.vectorized(4):\n    B[i] = B[i + 4]",
        "lane conflict at B between iterations of i",
    ),
    (
        "for i in T.vectorized(4):\n    B[i // 2] = A[i]",
        "for i in T.vectorized(4):\n    B[3 - i] = A[i]",
        "lane conflict at B between iterations of i",
    ),
    # threads
    (
        'for i in T.thread_binding(8, thread="blockIdx.x"):\n    B[i // 2] = A[i]',
        'for i in T.thread_binding(8, thread="blockIdx.x"):\n    B[i] = A[i]',
        "race between threads at B between iterations of i",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "fine", "finding"), CASES)
def test_a_race_and_a_loop_without_one(bad, fine, finding):
    assert findings(bad) == [finding]
    assert findings(fine) == []


def test_unrolled_and_serial_loops_promise_nothing():
    assert findings("for i in T.unroll(8):\n    B[0] = A[i]") == []
    assert findings("for i in range(8):\n    B[0] = A[i]") == []


def test_a_call_in_a_parallel_loop_may_touch_what_it_can_reach():
    call = 'for i in T.parallel(2):\n    T.evaluate(T.call_extern("int32", "g", {}))'
    everything = {f"race at {name} between iterations of i" for name in ("A", "B", "C", "external-state")}
    assert set(findings(call.format("B.data"))) == everything
    assert set(findings(call.format("i"))) == everything
    assert findings(call.format("i").replace("call_extern", "call_pure_extern")) == []


def test_a_reduction_across_threads_is_named_so():
    text = """\
for i in T.thread_binding(8, thread="threadIdx.x"):
    with T.block("sum"):
        v = T.axis.{}(8, i)
        B[0] = B[0] + A[v]"""
    assert findings(text.format("reduce")) == ["reduction across threads at B, over i"]
    assert findings(text.format("spatial")) == ["race between threads at B between iterations of i"]


OWN = """\
t = T.alloc_buffer((2,), "float32", scope="{scope}")
for i in T.thread_binding(8, thread="{tag}"):
    {first}
    B[i] = t[0] + A[i]"""


@pytest.mark.parametrize(
    ("tag", "scope"), [("threadIdx.x", "local"), ("blockIdx.x", "local"), ("blockIdx.x", "shared")]
)
def test_memory_of_their_own_that_is_allocated_outside(tag: str, scope: str):
    """They may well write to one address; what another one wrote is not there."""
    assert findings(OWN.format(tag=tag, scope=scope, first="t[0] = A[7 - i]")) == []
    carried = OWN.format(tag=tag, scope=scope, first="t[0] = t[0] + A[7 - i]")
    assert findings(carried) == ["race between threads at t between iterations of i"]
    assert findings(carried.replace(tag, "vthread")) == []
    reduced = f"""\
t = T.alloc_buffer((1,), "float32", scope="{scope}")
for i in T.thread_binding(8, thread="{tag}"):
    with T.block("sum"):
        v = T.axis.reduce(8, i)
        t[0] = t[0] + A[v]"""
    last = (
        "reduction across threads at t, over i"
        if tag == "threadIdx.x"
        else "race between threads at t between iterations of i"
    )
    assert findings(reduced) == [last]


def test_memory_of_their_own_that_a_later_one_writes():
    """Whoever reads before the next one gets there reads nothing of the others."""
    text = """\
t = T.alloc_buffer((9,), "float32", scope="local")
for i in T.thread_binding(8, thread="threadIdx.x"):
    t[{}] = A[i]
    B[i] = T.Select(i < 9, A[i], t[{}])"""
    assert findings(text.format("i", "i + 1")) == []
    assert findings(text.format("i + 1", "i")) == ["race between threads at t between iterations of i"]


def test_a_race_behind_stores_to_memory_of_their_own():
    """What each may do in its own memory hides nothing."""
    both = OWN.format(tag="threadIdx.x", scope="local", first="t[0] = A[7 - i]").replace("B[i]", "B[0]")
    assert findings(both) == ["race between threads at B between iterations of i"]


def test_a_race_that_before_has_not_is_new():
    def judged(before: str, after: str):
        heads = [f"@T.prim_func\ndef f({PARAMS}):\n    {body}" for body in (before, after)]
        return validate(*[parse_func(h) for h in heads])

    parallel, serial = "for i in T.parallel(8): B[0] = A[i]", "for i in range(8): B[0] = A[i]"
    lost = judged(serial, parallel)
    assert isinstance(lost.verdict, Equal) and lost.new_races == ("after: race at B between iterations of i",)
    for pair in ((parallel, parallel), (parallel, serial), (serial, serial)):
        assert judged(*pair).new_races == ()
    threads = 'for i in T.thread_binding(8, thread="threadIdx.x"): B[0] = A[i]'
    assert judged(parallel, threads).new_races == ("after: race between threads at B between iterations of i",)
    elsewhere = judged(parallel.replace("B[0]", "C[0]").replace("A[i]", "1"), parallel)
    assert elsewhere.new_races == ("after: race at B between iterations of i",)


def test_the_exit_code_of_a_new_race(tmp_path, capsys):
    files = []
    for name, kind, index in (("serial", "range", "i] + A[0"), ("racing", "T.parallel", "0] + A[i")):
        path = tmp_path / f"{name}.py"
        path.write_text(f"@T.prim_func\ndef f({PARAMS}):\n    for i in {kind}(8):\n        B[0] = A[{index}]\n")
        files.append(str(path))
    assert run(Options((files[0], files[1]))) == 1
    assert "new: after: race at B" in capsys.readouterr().out
    assert run(Options((files[1], files[1]))) == 0
    assert run(Options((files[1], files[0]))) == 0
