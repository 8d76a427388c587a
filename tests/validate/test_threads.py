"""Loops over threads: barriers, memory of thread blocks and threads, conflicts between threads."""

import random

import numpy as np
import pytest

from tests.validate import thread_reference
from verified_tir import parse_func
from verified_tir.semantics import interpreter
from verified_tir.validate import Different, Equal, Unknown, validate
from verified_tir.validate.barriers import spelled_out
from verified_tir.validate.meaning import same_meaning
from verified_tir.validate.memory import Refused
from verified_tir.validate.threads import in_phases

PARAMS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
SYNC = 'T.tvm_storage_sync("shared")'


def program(body: str, params: str = PARAMS):
    return parse_func(f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body.split("\n")))


def report(before: str, after: str, params: str = PARAMS):
    found = validate(program(before, params), program(after, params))
    slow = validate(program(before, params), program(after, params), fast=False)
    assert type(slow.verdict) is type(found.verdict)
    return found


def verdict(before: str, after: str, params: str = PARAMS):
    return report(before, after, params).verdict


SERIAL = "for i in range(8):\n    B[i] = A[7 - i] * T.float32(2)"


def reversed_by_threads(barrier: str = SYNC, store: str = "B[tx] = S[7 - tx]", shared: str = "shared") -> str:
    return f"""\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    S = T.alloc_buffer((8,), "float32", scope="{shared}")
    S[tx] = A[tx] * T.float32(2)
    {barrier}
    {store}"""


# ---------------------------------------------------------------------------------------------------- barriers


def test_all_threads_arrive_before_any_goes_on():
    found = report(SERIAL, reversed_by_threads())
    assert isinstance(found.verdict, Equal) and found.findings == ()
    assert isinstance(verdict(SERIAL, reversed_by_threads(store="B[tx] = S[6 - tx]")), Different)


def test_local_memory_is_each_threads_own():
    found = verdict(SERIAL, reversed_by_threads(shared="local"))
    assert isinstance(found, Different) and found.after is None  # a thread reads what another one wrote: undefined
    own = "for i in range(8):\n    B[i] = A[i] * T.float32(2)"
    assert isinstance(verdict(own, reversed_by_threads(shared="local", store="B[tx] = S[tx]")), Equal)


def test_a_missing_barrier_is_a_finding_and_read_as_one():
    found = report(SERIAL, reversed_by_threads(barrier="T.evaluate(0)"))
    assert isinstance(found.verdict, Equal)
    assert found.findings[0] == "after: race between threads at S: no barrier is between"
    assert "as if there were a barrier" in found.findings[1]
    wrong = reversed_by_threads(barrier="T.evaluate(0)", store="B[tx] = S[tx]")
    assert isinstance(verdict(SERIAL, wrong), Different)


def test_a_barrier_at_the_wrong_place_leaves_the_race():
    late = reversed_by_threads(barrier="T.evaluate(0)") + f"\n    {SYNC}"
    found = report(SERIAL, late)
    assert "after: race between threads at S: no barrier is between" in found.findings


def test_barriers_in_loops_and_double_buffers():
    before = """\
for i in range(8):
    B[i] = T.float32(0)
for k, i in T.grid(3, 8):
    B[i] = B[i] + A[(i + k) % 8]"""
    after = f"""\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    acc = T.alloc_buffer((1,), "float32", scope="local")
    S = T.alloc_buffer((8,), "float32", scope="shared")
    acc[0] = T.float32(0)
    for k in range(3):
        {SYNC}
        S[tx] = A[(tx + k) % 8]
        {SYNC}
        S[tx] = S[tx] + T.float32(0)
        {SYNC}
        acc[0] = acc[0] + A[(tx + k) % 8]
    B[tx] = acc[0]"""
    found = report(before, after)
    assert isinstance(found.verdict, Equal) and found.findings == ()
    assert isinstance(verdict(before, after.replace("range(3)", "range(2)")), Different)


def test_a_loop_needs_a_barrier_at_both_ends():
    body = """\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    S = T.alloc_buffer((8,), "float32", scope="shared")
    for k in range(2):
        S[tx] = A[(tx + k) % 8]
        SYNC
        B[tx] = S[7 - tx]
        END"""
    both = body.replace("SYNC", SYNC).replace("END", SYNC)
    one = body.replace("SYNC", SYNC).replace("END", "T.evaluate(0)")
    assert report(both, both).findings == ()
    found = report(both, one)
    assert found.findings[0] == "after: race between threads at S: no barrier is between"


@pytest.mark.parametrize(
    "body",
    [
        f"if tx < 4:\n        {SYNC}",
        f"if A[0] > T.float32(0):\n        {SYNC}",
        f"for k in range(tx):\n        {SYNC}",
        f"n: T.let[T.int32] = tx % 2\n    for k in range(n):\n        {SYNC}",
        f"while B[0] < T.float32(1):\n        {SYNC}\n        B[0] = T.float32(1)",
    ],
)
def test_a_barrier_that_some_threads_may_miss_is_refused(body):
    text = f'for tx in T.thread_binding(8, thread="threadIdx.x"):\n    {body}\n    B[tx] = A[tx]'
    found = verdict("for i in range(8):\n    B[i] = A[i]", text)
    assert isinstance(found, Unknown) and "barrier" in found.reason


def test_a_barrier_under_a_condition_that_all_threads_share():
    text = f"""\
for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((4,), "float32", scope="shared")
        S[tx] = A[bx * 4 + tx]
        if bx < 1:
            {SYNC}
            B[bx * 4 + tx] = S[3 - tx]
        else:
            B[bx * 4 + tx] = S[tx]"""
    before = "for i in range(8):\n    B[i] = T.if_then_else(i < 4, A[(3 - i) % 8], A[i])"
    found = report(before, text)
    assert isinstance(found.verdict, Equal) and found.findings == ()


def test_shared_memory_belongs_to_one_thread_block():
    text = f"""\
for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((4,), "float32", scope="shared")
        if bx < 1:
            S[tx] = A[tx]
        {SYNC}
        B[bx * 4 + tx] = S[3 - tx]"""
    found = validate(program(text), program(text)).verdict
    assert isinstance(found, Equal) and found.how["undef before"] == 0
    first = "for i in range(4):\n    B[i] = A[3 - i]\n    B[i + 4] = T.undef('float32')"
    assert isinstance(verdict(first, text), Equal)
    assert isinstance(verdict(first.replace("T.undef('float32')", "A[3 - i]"), text), Different)


def test_values_of_lets_survive_a_barrier():
    text = f"""\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    x: T.let[T.float32] = B[tx]
    {SYNC}
    B[7 - tx] = x"""
    swap = """\
t = T.alloc_buffer((8,), "float32")
for i in range(8):
    t[i] = B[i]
for i in range(8):
    B[i] = t[7 - i]"""
    found = report(swap, text)
    assert isinstance(found.verdict, Equal) and found.findings == ()
    again = text.replace("    x: T.let[T.float32] = B[tx]\n", "").replace("= x", "= B[tx]")
    assert isinstance(verdict(swap, again), Different)


def test_outside_of_threads_a_barrier_waits_for_nobody():
    assert isinstance(verdict("B[0] = A[0]", f"{SYNC}\nB[0] = A[0]"), Equal)


OUTSIDE = """\
own = T.alloc_buffer((4,), "float32", scope="local")
{loops}for tx in T.thread_binding(4, thread="threadIdx.x"):
{pad}    S = T.alloc_buffer((4,), "float32", scope="shared")
{pad}    own[0] = A[tx]
{pad}    own[tx] = A[tx] * T.float32(2)
{pad}    S[tx] = A[tx]
{pad}    {sync}
{pad}    B[tx] = {value}"""


def test_local_memory_that_is_allocated_outside_is_each_threads_own():
    def text(value: str, loops: str = "", sync: str = SYNC) -> str:
        return OUTSIDE.format(value=value, loops=loops, sync=sync, pad="    " if loops else "")

    twice = "for i in range(4):\n    B[i] = {}"
    found = report(twice.format("A[i] * T.float32(2) + A[3 - i]"), text("own[tx] + S[3 - tx]"))
    assert isinstance(found.verdict, Equal) and found.findings == ()
    wrong = verdict(twice.format("A[i] * T.float32(2)"), text("own[3 - tx]"))
    assert isinstance(wrong, Different) and wrong.after is None  # what another thread wrote is not there
    blocks = text("own[tx]", 'for bx in T.thread_binding(2, thread="blockIdx.x"):\n    ')
    assert isinstance(verdict(twice.format("A[i] * T.float32(2)"), blocks), Equal)
    # What a loop around the threads would keep in it, is not understood; nor is what several kernels would.
    for loop in ("range(2)", 'T.thread_binding(2, thread="vthread.x")'):
        kept = verdict(twice.format("A[i]"), text("own[tx]", f"for k in {loop}:\n    "))
        assert isinstance(kept, Unknown) and "outside of a loop" in kept.reason
    again = text("own[tx]") + '\nfor tx in T.thread_binding(4, thread="threadIdx.x"):\n    B[tx] = own[tx]'
    several = verdict(twice.format("A[i]"), again)
    assert isinstance(several, Unknown) and "several loops" in several.reason
    beside = verdict(twice.format("A[i]"), text("own[tx]") + "\nB[0] = own[0]")
    assert isinstance(beside, Unknown) and "coordinates" in beside.reason


def test_local_memory_between_two_coordinates_of_threads():
    text = f"""\
for ty in T.thread_binding(2, thread="threadIdx.y"):
    own = T.alloc_buffer((1,), "float32", scope="local")
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        own[0] = A[ty * 4 + tx]
        {SYNC}
        B[ty * 4 + tx] = own[0]"""
    serial = "for i in range(8):\n    B[i] = A[i]"
    found = report(serial, text)
    assert isinstance(found.verdict, Equal) and found.findings == ()
    apart = text.replace(SYNC, "B[ty * 4 + tx] = own[0]").replace(
        "        own[0] =", "        own[0] = T.float32(0)\n    " + SYNC + THREADS + "        own[0] ="
    )
    found = verdict(serial, apart)
    assert isinstance(found, Unknown) and "several loops" in found.reason


THREADS = '\n    for tx in T.thread_binding(4, thread="threadIdx.x"):\n'


def test_several_dimensions_of_threads_and_views_of_local_memory():
    text = f"""\
for ty in T.thread_binding(2, thread="threadIdx.y"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        own = T.alloc_buffer((2,), "int32", scope="local")
        raw = T.decl_buffer((8,), "int8", data=own.data)
        S = T.alloc_buffer((8,), "int32", scope="shared")
        own[1] = C[ty * 4 + tx]
        S[ty * 4 + tx] = own[1]
        {SYNC}
        raw[4] = T.int8(0)
        D[ty * 4 + tx] = own[1] + S[7 - ty * 4 - tx]"""
    params = 'C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")'
    low = "for i in range(8):\n    D[i] = C[i] // 256 * 256 + C[7 - i]"
    found = report(text, text, params)
    assert isinstance(found.verdict, Equal) and found.verdict.how["undef before"] == 0 and found.findings == ()
    arrays = {"C": np.arange(300, 308, dtype=np.int32), "D": np.zeros(8, np.int32)}
    one = interpreter.run(in_phases(program(text, params)), arrays)
    assert one.arrays["D"].tolist() == interpreter.run(program(low, params), arrays).arrays["D"].tolist()


# ------------------------------------------------------------------------------------------- conflicts of threads


def test_threads_that_meet_in_global_memory_are_a_finding():
    race = 'for tx in T.thread_binding(8, thread="threadIdx.x"):\n    B[0] = A[tx]'
    assert report(race, race).findings == tuple(
        f"{which}: race between threads at B between iterations of tx" for which in ("before", "after")
    )
    fine = race.replace("B[0]", "B[tx]")
    assert report(fine, fine).findings == ()


def test_thread_blocks_may_not_meet_in_global_memory_either():
    race = """\
for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        B[tx] = A[bx * 4 + tx]"""
    assert report(race, race).findings[0] == "before: race between threads at B between iterations of bx"
    scratch = race.replace("B[tx] = A", "S[tx] = A").replace(
        "for bx", 'S = T.alloc_buffer((4,), "float32", scope="shared")\nfor bx'
    )
    assert report(scratch, scratch).findings == ()  # each thread block has its own


def test_loops_of_one_thread_one_after_the_other():
    before = """\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    B[tx] = A[tx]
for ty in T.thread_binding(4, thread="threadIdx.x"):
    B[ty] = B[7 - ty]"""
    found = report(before, before)
    assert isinstance(found.verdict, Equal) and found.findings == ()
    merged = """\
for tx in T.thread_binding(8, thread="threadIdx.x"):
    B[tx] = A[tx]
    if tx < 4:
        B[tx] = B[7 - tx]"""
    found = report(before, merged)
    assert "after: race between threads at B between iterations of tx" in found.findings
    assert not isinstance(found.verdict, Equal)


def test_loops_of_one_thread_inside_each_other_are_loops():
    cooperative = """\
S = T.alloc_buffer((8,), "float32", scope="shared")
for tx in T.thread_binding(8, thread="threadIdx.x"):
    for k in T.thread_binding(8, thread="threadIdx.x"):
        S[k] = A[k] * T.float32(2)
    B[tx] = S[7 - tx]"""
    found = report(SERIAL, cooperative)
    assert isinstance(found.verdict, Equal) and found.findings == ()
    unified = reversed_by_threads(barrier="T.evaluate(0)")
    assert isinstance(report(cooperative, unified).verdict, Equal)
    assert isinstance(verdict(cooperative, unified.replace("7 - tx", "tx")), Different)


def test_virtual_threads_are_loops():
    before = "for i, j in T.grid(2, 4):\n    B[i * 4 + j] = A[i * 4 + j]"
    after = """\
for v in T.thread_binding(2, thread="vthread.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        B[v * 4 + tx] = A[v * 4 + tx]"""
    assert isinstance(verdict(before, after), Equal)
    assert isinstance(verdict(before, after.replace("B[v * 4", "B[v * 3")), Different)


@pytest.mark.parametrize("extent", [0, 1])
def test_no_thread_or_one(extent):
    head = f'for tx in T.thread_binding({extent}, thread="threadIdx.x"):'
    text = f"{head}\n    B[tx] = A[tx]\n    {SYNC}\n    B[tx + 1] = B[tx]"
    serial = f"for i in range({extent}):\n    B[i] = A[i]\n    B[i + 1] = B[i]"
    assert isinstance(verdict(serial, text), Equal)


# ---------------------------------------------------------------------------------------------- random programs


def random_kernel(seed: int) -> str:
    """Threads that store to shared, local and global memory between barriers at random places."""
    rng = random.Random(seed)
    n = rng.choice([1, 3, 4])
    m = rng.choice([1, 2])
    index = lambda: rng.choice(["tid", "(tid + 1) % N", "N - 1 - tid", "0", "(tid + k) % N"])  # noqa: E731
    lines = [
        f'for ty in T.thread_binding({m}, thread="threadIdx.y"):',
        f'    for tx in T.thread_binding({n}, thread="threadIdx.x"):',
    ]
    pad = "        "
    lines += [
        pad + 'own = T.alloc_buffer((2,), "int32", scope="local")',
        pad + 'S = T.alloc_buffer((N,), "int32", scope="shared")',
    ]
    lines += [pad + "tid: T.let[T.int32] = ty * TX + tx"]
    lines += [pad + "own[0] = C[tid]", pad + "own[1] = tid", pad + "S[tid] = C[N - 1 - tid]", pad + SYNC]
    depth = 0
    for _ in range(rng.randrange(4, 12)):
        here = pad + "    " * depth
        kind = rng.random()
        if kind < 0.3:
            lines.append(here + SYNC)
        elif kind < 0.42 and depth == 0:
            lines.append(here + f"for k in range({rng.choice([1, 2, 3])}):")
            depth = 1
            lines.append(here + "    own[0] = own[0] + k")
        elif kind < 0.5 and depth == 1:
            depth = 0
        elif kind < 0.62:
            lines.append(here + f"if tid {rng.choice(['< 2', '> 0', '== 1'])}:")
            lines.append(here + f"    S[tid] = own[{rng.randrange(2)}] * 3")
        elif kind < 0.72:
            lines.append(here + f"x{len(lines)}: T.let[T.int32] = S[tid] + own[0]")
            lines.append(here + SYNC)
            lines.append(here + f"own[1] = own[1] + x{len(lines) - 2}")
        else:
            value = rng.choice([f"own[{rng.randrange(2)}]", f"S[{index()}]", f"C[{index()}]"])
            place = rng.choice(["S[tid]", f"own[{rng.randrange(2)}]", "D[tid]"])
            lines.append(here + f"{place} = {value} + {rng.randrange(3)}")
    lines.append(pad + "D[tid] = own[0] + own[1] * 5")
    text = "\n".join(lines).replace("(tid + k) % N", "(tid + k) % N" if " k in" in "\n".join(lines) else "tid")
    text = text.replace("TX", str(n)).replace("N", str(n * m)) if "N" in text else text
    return text


def allocated_around(text: str, loops: int) -> str:
    """The same with local memory allocated outside of so many of the loops over threads: still each thread's own."""
    lines = text.split("\n")
    own = lines.pop(2).strip()
    assert own.startswith("own =")
    lines.insert(2 - loops, "    " * (2 - loops) + own)
    return "\n".join(lines)


def in_scope(text: str) -> str:
    """``k`` is 1 outside of its loop."""
    lines, inside, head = [], False, "        for k in"
    for line in text.split("\n"):
        inside = line.startswith(head) or (inside and line.startswith("            "))
        lines.append(line if inside else line.replace("(tid + k)", "(tid + 1)"))
    return "\n".join(lines)


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(120))
def test_phases_agree_with_threads_that_run_until_their_next_barrier(seed):
    text = in_scope(random_kernel(seed))
    params = 'C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")'
    func = program(text, params)
    rng = np.random.default_rng(seed)
    arrays = {name: rng.integers(-9, 9, 8).astype(np.int32) for name in "CD"}
    want, races = thread_reference.run_function(func, arrays)
    func = program(allocated_around(text, seed % 3), params)
    split = in_phases(func)
    got = interpreter.run(split, arrays)
    for name in "CD":
        for k in range(8):
            value = want[name][(k,)]
            assert bool(got.defined[name][k]) == (value is not None), text
            assert value is None or int(got.arrays[name][k]) == int(value), text
    for fast in (True, False):
        found = validate(func, func, fast=fast)
        assert isinstance(found.verdict, Equal)
        said = {f.split(" at ")[1].split()[0].rstrip(":") for f in found.findings if f.startswith("before: race")}
        assert said == races or (said and said <= races), (text, found.findings, races)


def test_completed_programs_have_a_barrier_where_threads_meet():
    text = reversed_by_threads(barrier="T.evaluate(0)")
    want = {"A": np.arange(8, dtype=np.float32), "B": np.zeros(8, np.float32)}
    serial = interpreter.run(in_phases(program(text)), want)
    assert not serial.defined["B"].all()  # the first thread reads what no thread wrote yet
    whole = interpreter.run(spelled_out(program(text)), want)
    assert whole.arrays["B"].tolist() == [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 0.0]


def test_programs_without_threads_stay_the_same():
    func = program(SERIAL)
    assert in_phases(func) is func
    with pytest.raises(Refused, match="condition"):
        in_phases(program(f'for tx in T.thread_binding(8, thread="threadIdx.x"):\n    if tx < 1:\n        {SYNC}'))


def test_scopes_and_kinds_have_a_meaning_where_threads_wait():
    shared = program(reversed_by_threads())
    assert same_meaning(shared, shared)
    assert not same_meaning(shared, program(reversed_by_threads(shared="local")))
    assert not same_meaning(shared, program(reversed_by_threads().replace("threadIdx.x", "vthread.x")))
    plain = reversed_by_threads(barrier="T.evaluate(0)")
    assert not same_meaning(program(plain), program(plain.replace("shared", "local")))
    loops = "for i in {}:\n    B[i] = A[i]"
    assert same_meaning(program(loops.format("range(8)")), program(loops.format("T.parallel(8)")))
