"""The pool of threads: every part once, whoever does it; forks, several callers, signals, and the process's end."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.pool_support import PART, Loops, parallel
from verified_tir import Schedule, build
from verified_tir.codegen.pool import Pool, pool
from verified_tir.codegen.pool_text import SHARES


@pytest.fixture(scope="module")
def loops() -> Loops:
    return Loops()


@pytest.fixture
def four() -> Iterator[Pool]:
    """The pool, for four threads at a time, whatever the machine has."""
    found = pool()
    before = found.most.value
    found.most.value = 3
    yield found
    found.most.value = before


def divided(
    first: int, extent: int, threads: int, part: Callable[[int, int], int] = lambda low, high: 0
) -> tuple[int, list[tuple[int, int]]]:
    """The status, and the parts that ran."""
    parts: list[tuple[int, int]] = []

    def run(context: int | None, low: int, high: int) -> int:
        parts.append((low, high))
        return part(low, high)

    return parallel(PART(run), 0, first, extent, threads), sorted(parts)


# -- parts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("first, extent", [(0, 1), (5, 2), (-3, 7), (0, 8), (2**62, 9), (-(2**63), 40), (1, 1000)])
def test_parts_are_even_and_cover_the_range(four: Pool, first: int, extent: int, threads: int) -> None:
    for _ in range(20):
        status, parts = divided(first, extent, threads)
        assert status == 0
        assert [low for low, _ in parts] == [first, *(high for _, high in parts[:-1])]
        assert parts[-1][1] == first + extent
        sizes = [high - low for low, high in parts]
        assert max(sizes) - min(sizes) <= 1
        assert len(parts) == (1 if threads == 1 else min(extent, SHARES * threads))


def test_the_first_part_that_fails_is_the_loops_status(four: Pool) -> None:
    for _ in range(50):
        assert divided(0, 16, 4, lambda low, _: 0 if low < 5 else 100 + low)[0] == 105
        assert divided(0, 16, 4, lambda low, _: -1 if low == 3 else low // 4)[0] == -1
        assert divided(0, 16, 4)[0] == 0


def test_threads_work_at_the_same_time_and_no_more_than_asked_for(four: Pool) -> None:
    """Four parts wait for each other; then there are three workers, of which one may join."""
    meeting = threading.Barrier(4)

    def meets(low: int, high: int) -> int:
        meeting.wait(60)
        return 0

    assert divided(0, 4, 4, meets)[0] == 0
    assert four.workers == 3
    seen: set[int] = set()

    def notes(low: int, high: int) -> int:
        seen.add(threading.get_native_id())
        time.sleep(0.002)
        return 0

    for _ in range(20):
        seen.clear()
        divided(0, 4, 4, meets)  # wakes them all
        divided(0, 8, 2, notes)
        assert len(seen) <= 2


@pytest.mark.parametrize("late", [0.0, 0.05])
def test_the_caller_waits_for_the_last_part(four: Pool, late: float) -> None:
    caller, begun = threading.get_native_id(), threading.Event()
    finished: list[int] = []

    def part(low: int, high: int) -> int:
        if threading.get_native_id() == caller:
            assert begun.wait(60)
        else:
            begun.set()
            time.sleep(late)
        finished.append(low)
        return 0

    for _ in range(3):
        begun.clear()
        finished.clear()
        divided(0, 8, 2, part)
        assert sorted(finished) == [*range(8)]


def test_nested_loops_do_not_wait_for_each_other(four: Pool) -> None:
    def inner(low: int, high: int) -> int:
        return 0 if len(divided(0, 8, 4)[1]) == 8 else 1

    for _ in range(20):
        status, parts = divided(0, 8, 4, inner)
        assert (status, len(parts)) == (0, 8)


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("n, times", [(2, 3000), (3, 3000), (100, 3000), (100_000, 100)])
def test_results_of_many_loops(four: Pool, loops: Loops, n: int, times: int, threads: int) -> None:
    loops.assert_right(n, times, threads)


def test_loops_that_find_the_workers_asleep(four: Pool, loops: Loops) -> None:
    for pause in (0.0, 0.0001, 0.001, 0.01) * 10:
        loops.assert_right(1000, 2)
        time.sleep(pause)


def test_several_callers(four: Pool, loops: Loops) -> None:
    problems: list[BaseException] = []

    def work(n: int) -> None:
        try:
            loops.assert_right(n, 500)
        except BaseException as problem:
            problems.append(problem)

    callers = [threading.Thread(target=work, args=(n,)) for n in (2, 50, 1000, 20_000)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not problems


def test_calls_that_are_refused_or_fail_leave_the_pool_usable() -> None:
    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for i in T.parallel(64):
        B[i] = B[i] * 3 + A[i]
    assert A[40] != 7, "no sevens"
    for i in T.parallel(64):
        B[i] = B[i] + 1
"""),
        threads=4,
    )
    pool().most.value = 3
    a, b, wanted = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    for _ in range(100):
        a[40] = 7
        with pytest.raises(ValueError, match="extent 0 must be 64"):
            f(a, b[:3])
        with pytest.raises(AssertionError, match="no sevens"):
            f(a, b.copy())
        a[40] = 40
        f(a, b)
        wanted = wanted * 3 + a + 1
    assert (b == wanted).all()


# -- processes ---------------------------------------------------------------------------------------------------------

_BEGIN = """
import ctypes, os, signal, sys, threading, time
import numpy as np
from tests.codegen.pool_support import Loops
from verified_tir.codegen.pool import pool
loops, found = Loops(), pool()
found.most.value = 3
"""


def in_a_process(text: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, which must end by itself."""
    return subprocess.run(
        [sys.executable, "-c", _BEGIN + text], capture_output=True, text=True, check=False, timeout=120
    )


def test_no_thread_is_started_before_one_is_needed() -> None:
    done = in_a_process("""
loops.assert_right(100, 3, threads=1)
loops.assert_right(1, 3, threads=4)
found.most.value = 0
loops.assert_right(100, 3, threads=4)
print(found.workers)
found.most.value = 7
loops.assert_right(100, 3, threads=3)
print(found.workers)
loops.assert_right(100, 3, threads=5)
print(found.workers)
""")
    assert done.stdout == "0\n2\n4\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="sets the affinity of a process")
def test_the_pool_is_no_larger_than_the_affinity_allows() -> None:
    done = in_a_process("""
from verified_tir.codegen.target import Target
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
found = pool()
loops.assert_right(100, 3, threads=8)
print(Target.host().threads, found.most.value, found.workers)
""")
    assert done.stdout == "1 0 0\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_of_fork_has_a_pool_of_its_own() -> None:
    """Also if other threads are in the middle of a loop."""
    done = in_a_process("""
loops.assert_right(1000, 10)
stop = threading.Event()

def work():
    while not stop.is_set():
        loops.assert_right(1000, 5)

other = threading.Thread(target=work)
other.start()
for _ in range(50):
    child = os.fork()
    if child == 0:
        begins = found.workers
        loops.assert_right(1000, 5)
        os._exit(0 if (begins, found.workers) == (0, 3) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
other.join()
loops.assert_right(1000, 10)
print(found.workers)
""")
    assert done.stdout == "3\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_workers_of_multiprocessing() -> None:
    done = in_a_process("""
import multiprocessing

def work(k):
    loops.assert_right(1000, k)
    return found.workers

print(work(3))
with multiprocessing.get_context("fork").Pool(3) as processes:
    print({*processes.map(work, [10] * 12)})
print(work(3))
""")
    assert done.stdout == "3\n{3}\n3\n", done.stderr


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGTERM)"])
@pytest.mark.parametrize("when", ["", "time.sleep(0.05)"])
def test_the_process_ends(end: str, when: str) -> None:
    done = in_a_process(f"""
loops.assert_right(1000, 10)
{when}
{end}
""")
    assert done.returncode == (-15 if "SIGTERM" in end else 0), done.stderr


def test_the_process_ends_while_a_thread_of_its_own_is_in_a_loop() -> None:
    done = in_a_process("""
threading.Thread(target=loops.assert_right, args=(1000, 10**9), daemon=True).start()
time.sleep(0.2)
""")
    assert done.returncode == 0, done.stderr


def test_an_interrupt_leaves_the_pool_usable() -> None:
    done = in_a_process("""
signal.signal(signal.SIGALRM, signal.default_int_handler)
for k in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.0001 * k)
    try:
        loops.assert_right(1000, 10**9)
    except KeyboardInterrupt:
        loops.assert_right(1000, 10)
print("right")
""")
    assert done.stdout == "right\n", done.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads Linux's list of threads")
def test_signals_go_to_the_threads_of_python() -> None:
    """Workers block all signals but those of faults, which a report of ``faulthandler`` needs."""
    done = in_a_process("""
before = set(os.listdir("/proc/self/task"))
loops.assert_right(1000, 3, threads=3)
numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1, signal.SIGSEGV, signal.SIGFPE)

def blocked(task):
    (mask,) = [int(x.split()[1], 16) for x in open(f"/proc/self/task/{task}/status") if x.startswith("SigBlk")]
    return [mask >> (n - 1) & 1 for n in numbers]

for task in set(os.listdir("/proc/self/task")) - before:
    while all(blocked(task)):  # a thread that is about to start blocks them all
        time.sleep(0.01)
    print(*blocked(task))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
""")
    assert done.stdout == "1 1 1 1 0 0\n1 1 1 1 0 0\nset()\n", done.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="sets MXCSR")
def test_workers_round_and_keep_subnormals_whoever_started_them() -> None:
    """Integer code may be called with a register that flushes; the workers that it starts serve floats, too."""
    done = in_a_process("""
from tests.codegen.control_support import SetControl
set_control = SetControl()
set_control(0x1F80 | 0x8040 | 0x6000)
loops.assert_right(1000, 10)
set_control(0x1F80)
print(found.workers)
for _ in range(500):
    a = np.full(1000, 3e-39, np.float32)
    loops.run("halves", a, 4)
    assert (a.view(np.int32) == np.float32(1.5e-39).view(np.int32)).all()
""")
    assert (done.stdout, done.stderr) == ("3\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_workers_that_cannot_be_started_are_asked_for_again() -> None:
    """Without address space for a stack there are none, and the caller does everything."""
    done = in_a_process("""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, -1))
loops.assert_right(100, 3)
print(found.workers)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
loops.assert_right(100, 3)
print(found.workers)
""")
    assert done.stdout == "0\n3\n", done.stderr
