"""Threads that exchange values: reductions over threads, shuffles in a warp."""

import random

import numpy as np
import pytest

from tests.validate import thread_reference
from verified_tir import parse_func
from verified_tir.semantics import interpreter
from verified_tir.validate import Different, Equal, EqualOverReals, Unknown, validate
from verified_tir.validate.threads import in_phases

PARAMS = 'A: T.Buffer((4, 64), "{0}"), B: T.Buffer((4,), "{0}")'
SYNC = 'T.tvm_storage_sync("shared")'


def program(body: str, params: str):
    return parse_func(f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body.split("\n")))


def report(before: str, after: str, dtype: str = "float32", params: str = PARAMS):
    """The report on two programs; the serial reference of the executor says the same."""
    one, other = program(before, params.format(dtype)), program(after, params.format(dtype))
    found = validate(one, other)
    assert type(validate(one, other, fast=False).verdict) is type(found.verdict)
    return found


def verdict(before: str, after: str, dtype: str = "float32", params: str = PARAMS):
    return report(before, after, dtype, params).verdict


def serial(combine: str = "B[i] + A[i, k]", extent: int = 32) -> str:
    return f"""\
for i, k in T.grid(4, {extent}):
    if k == 0:
        B[i] = A[i, k]
    else:
        B[i] = {combine}"""


def over_threads(
    dtype: str = "float32", *, extent: int = 32, value: str = "A[bx, tx]", condition: str = "T.bool(True)",
    combine: str = "x0 + y0", identity: str = "0", write: str = "if tx == 0:\n            B[bx] = r[0]",
) -> str:  # fmt: skip
    return f"""\
for bx in T.thread_binding(4, thread="blockIdx.x"):
    for tx in T.thread_binding({extent}, thread="threadIdx.x"):
        r = T.alloc_buffer((1,), "{dtype}", scope="local")
        with T.attr(T.comm_reducer(lambda x0, y0: {combine}, [T.{dtype}({identity})]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), {value}, {condition}, r[0], tx)
        {write}"""


def by_shuffles(dtype: str = "float32", *, steps=(16, 8, 4, 2, 1), combine: str = "r[0] + t[0]", mask: str = "") -> str:
    lines = [
        'for bx in T.thread_binding(4, thread="blockIdx.x"):',
        '    for tx in T.thread_binding(32, thread="threadIdx.x"):',
        f'        r = T.alloc_buffer((1,), "{dtype}", scope="local")',
        f'        t = T.alloc_buffer((1,), "{dtype}", scope="local")',
        '        m = T.alloc_buffer((1,), "uint32", scope="local")',
        "        r[0] = A[bx, tx]",
        f"        {mask or 'm[0] = T.tvm_warp_activemask()'}",
    ]
    for by in steps:
        lines += [f"        t[0] = T.tvm_warp_shuffle_down(m[0], r[0], {by}, 32, 32)", f"        r[0] = {combine}"]
    return "\n".join([*lines, "        if tx == 0:", "            B[bx] = r[0]"])


# ------------------------------------------------------------------------------------------- reductions over threads


@pytest.mark.nightly
def test_all_threads_contribute_and_each_gets_the_result():
    assert isinstance(verdict(serial(), over_threads("int32"), "int32"), Equal)
    every = over_threads("int32", write="C[bx, tx] = r[0]")
    params = PARAMS + ', C: T.Buffer((4, 32), "{0}")'
    wide = "for i, j, k in T.grid(4, 32, 32):\n    C[i, j] = T.Select(k == 0, 0, C[i, j]) + A[i, k]"
    assert isinstance(verdict(wide, every, "int32", params), Equal)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "change",
    [
        {"extent": 31},  # one thread is missing
        {"extent": 33},
        {"condition": "tx != 5"},
        {"value": "A[bx, tx + 1]"},
        {"combine": "T.max(x0, y0)"},
        {"combine": "x0"},
        {"write": "if tx == 0:\n            B[0] = r[0]"},
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_another_reduction_over_threads_is_different(change, dtype):
    assert isinstance(verdict(serial(), over_threads(dtype, **change), dtype), Different)


@pytest.mark.nightly
def test_a_condition_leaves_the_identity():
    some = serial("B[i] + T.if_then_else(k % 2 == 0, A[i, k], 0)")
    even = over_threads("int32", condition="tx % 2 == 0")
    assert isinstance(verdict(some, even, "int32"), Equal)
    assert isinstance(verdict(some, over_threads("int32", condition="tx % 2 == 1"), "int32"), Different)
    assert isinstance(verdict(some, over_threads("int32", condition="tx % 2 == 0", identity="1"), "int32"), Different)
    # what is out of bounds where the condition does not hold is not read
    short = over_threads("int32", extent=64, value="A[bx, tx + 32]", condition="tx < 32")
    assert isinstance(
        verdict(serial("B[i] + A[i, k + 32]").replace("= A[i, k]", "= A[i, k + 32]"), short, "int32"), Equal
    )


@pytest.mark.nightly
def test_sums_of_floats_over_threads_have_no_order():
    found = verdict(serial(), over_threads())
    assert isinstance(found, EqualOverReals)
    assert str(found) == "equal over the reals: r combines floats of several threads, in an order that is not fixed"
    assert isinstance(verdict(over_threads(), serial()), EqualOverReals)
    assert isinstance(verdict(over_threads(), over_threads()), Equal)
    least = over_threads(combine="T.min(x0, y0)", identity="1e30")
    assert isinstance(verdict(serial("T.min(B[i], A[i, k])"), least), EqualOverReals)
    with_zero = "for i, k in T.grid(4, 32):\n    B[i] = T.Select(k == 0, T.float32(0), B[i]) + A[i, k]"
    assert isinstance(verdict(with_zero, over_threads()), EqualOverReals)  # the identity may be among the values
    with_one = with_zero.replace("T.float32(0)", "T.float32(1)")
    assert isinstance(verdict(with_one, over_threads()), Different)
    assert isinstance(verdict(with_one, over_threads(identity="1")), Different)  # that is no identity of a sum


@pytest.mark.nightly
def test_a_pair_is_reduced_together():
    params = 'A: T.Buffer((4, 64), "{0}"), B: T.Buffer((4,), "{0}"), P: T.Buffer((4,), "int32")'
    after = """\
for bx in T.thread_binding(4, thread="blockIdx.x"):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        r = T.alloc_buffer((1,), "int32", scope="local")
        p = T.alloc_buffer((1,), "int32", scope="local")
        with T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)),
                                   [T.int32(-1), T.int32(-2147483648)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(2), tx, A[bx, tx], T.bool(True), p[0], r[0], tx)
        if tx == 0:
            B[bx] = r[0]
            P[bx] = p[0]"""
    before = """\
for i, k in T.grid(4, 8):
    if k == 0:
        B[i] = A[i, 0]
        P[i] = 0
    else:
        P[i] = T.Select(B[i] >= A[i, k], P[i], k)
        B[i] = T.max(B[i], A[i, k])"""
    found = verdict(before, after, "int32", params)
    assert not isinstance(found, Different)
    assert isinstance(verdict(before, after.replace("x1 >= y1, x0", "x1 > y1, x0"), "int32", params), Different)


@pytest.mark.nightly
@pytest.mark.parametrize("over", ["tx", "ty", "tx, ty"])
def test_reductions_over_some_coordinates(over):
    after = f"""\
for ty in T.thread_binding(2, thread="threadIdx.y"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        r = T.alloc_buffer((1,), "int32", scope="local")
        with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.int32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), C[ty * 4 + tx], T.bool(True), r[0], {over})
        D[ty * 4 + tx] = r[0]"""
    index = {"tx": "i // 4 * 4 + k", "ty": "k * 4 + i % 4", "tx, ty": "k"}[over]
    extent = {"tx": 4, "ty": 2, "tx, ty": 8}[over]
    before = f"for i, k in T.grid(8, {extent}):\n    D[i] = T.Select(k == 0, 0, D[i]) + C[{index}]"
    params = 'C: T.Buffer((8,), "{0}"), D: T.Buffer((8,), "{0}")'
    assert isinstance(verdict(before, after, "int32", params), Equal)
    assert isinstance(verdict(before, after.replace(f"r[0], {over}", "r[0], T.int32(0)"), "int32", params), Different)


def test_a_reduction_that_some_threads_may_miss_is_refused():
    text = over_threads("int32").split("\n")
    for line in ("if tx < 16:", "for k in range(tx):", "if A[0, 0] == 0:"):
        inner = ["    " + part for part in text[3:5]]
        missed = "\n".join([*text[:3], "        " + line, *inner, *text[5:]])
        assert isinstance(verdict(serial(), missed, "int32"), Unknown)
    outside = verdict(
        serial(), "\n".join(line for line in text if "threadIdx" not in line).replace("tx", "bx"), "int32"
    )
    assert isinstance(outside, Unknown)


@pytest.mark.nightly
def test_the_result_must_reach_other_threads_by_a_barrier():
    """A reduction orders no accesses of shared memory."""
    text = """\
for tx in T.thread_binding(32, thread="threadIdx.x"):
    S = T.alloc_buffer((32,), "int32", scope="shared")
    r = T.alloc_buffer((1,), "int32", scope="local")
    S[tx] = A[0, tx]
    with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.int32(0)]), "reduce_scope", 0):
        T.tvm_thread_allreduce(T.uint32(1), A[0, tx], T.bool(True), r[0], tx)
    SYNC
    A[1, tx] = S[31 - tx] + r[0]"""
    good, bad = text.replace("SYNC", SYNC), text.replace("SYNC", "T.evaluate(0)")
    assert report(good, good, "int32").findings == ()
    assert "after: race between threads at S: no barrier is between" in report(good, bad, "int32").findings


@pytest.mark.nightly
def test_a_store_by_all_threads_to_one_place_is_a_race():
    one = over_threads("int32")
    for value in ("A[bx, tx]", "r[0] + tx"):  # the last thread's would stay
        every = over_threads("int32", write=f"B[bx] = {value}")
        found = report(one, every, "int32")
        assert found.new_races == ("after: race between threads at B: no barrier is between",)
        assert isinstance(found.verdict, Different)


# ---------------------------------------------------------------------------------------------------------- shuffles


@pytest.mark.nightly
def test_shuffles_add_up_what_threads_have():
    assert isinstance(verdict(over_threads("int32"), by_shuffles("int32"), "int32"), Equal)
    assert isinstance(verdict(over_threads(), by_shuffles()), EqualOverReals)
    most = by_shuffles(combine="T.max(r[0], t[0])")
    assert isinstance(verdict(over_threads(combine="T.max(x0, y0)", identity="-1e30"), most), EqualOverReals)


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize(
    "change",
    [
        {"steps": (16, 8, 4, 2)},
        {"steps": (16, 8, 4, 2, 2)},
        {"steps": (16, 8, 3, 2, 1)},
        {"steps": (16, 8, 4, 1, 1)},
        {"combine": "r[0] - t[0]"},
        {"combine": "t[0]"},
    ],
)
def test_a_shuffle_from_another_lane_is_different(change, dtype):
    assert isinstance(verdict(over_threads(dtype), by_shuffles(dtype, **change), dtype), Different)


@pytest.mark.nightly
def test_a_mask_that_was_not_stored_or_does_not_name_the_lane():
    unset = verdict(over_threads("int32"), by_shuffles("int32", mask="T.evaluate(0)"), "int32")
    assert isinstance(unset, Unknown) and "is not one value" in unset.reason
    half = verdict(over_threads("int32"), by_shuffles("int32", mask="m[0] = T.uint32(65535)"), "int32")
    assert isinstance(half, Unknown) and "name the thread itself" in half.reason
    halves = "m[0] = T.Select(tx < 16, T.uint32(65535), T.uint32(4294901760))"
    found = verdict(over_threads("int32"), by_shuffles("int32", mask=halves), "int32")
    assert isinstance(found, Different) and found.after is None
    mixed = "m[0] = T.Select(tx < 16, T.uint32(65535), T.uint32(4294967295))"
    found = verdict(over_threads("int32"), by_shuffles("int32", mask=mixed), "int32")
    assert isinstance(found, Unknown) and "other masks" in found.reason
    late = by_shuffles("int32").replace("        m[0] = T.tvm_warp_activemask()\n", "")
    late = late.replace("        if tx == 0:", "        m[0] = T.tvm_warp_activemask()\n        if tx == 0:")
    assert not isinstance(verdict(over_threads("int32"), late, "int32"), (Equal, EqualOverReals))


@pytest.mark.nightly
def test_lanes_that_do_not_exist_are_undefined():
    """Twenty threads are not a warp; what lane 4 gets of lane 20 is undefined."""
    twenty = by_shuffles("int32").replace("binding(32", "binding(20")
    found = verdict(over_threads("int32", extent=20), twenty, "int32")
    assert isinstance(found, Different) and found.after is None
    guarded = by_shuffles("int32", steps=()).replace("binding(32", "binding(20").split("\n")
    for by in (16, 8, 4, 2, 1):
        guarded[-2:-2] = [
            f"        t[0] = T.tvm_warp_shuffle_down(m[0], r[0], {by}, 32, 32)",
            f"        if tx < {by} and tx + {by} < 20:",
            "            r[0] = r[0] + t[0]",
        ]
    assert isinstance(verdict(over_threads("int32", extent=20), "\n".join(guarded), "int32"), Equal)


def test_a_shuffle_that_some_threads_may_miss_is_refused():
    text = by_shuffles("int32")
    missed = text.replace("        t[0] = T.tvm_warp_shuffle_down(m[0], r[0], 16", "        if tx < 32:\n    " + 8 * " "
                          + "t[0] = T.tvm_warp_shuffle_down(m[0], r[0], 16")  # fmt: skip
    assert isinstance(verdict(over_threads("int32"), missed, "int32"), Unknown)
    shuffle = "T.tvm_warp_shuffle_down(m[0], r[0], 16, 32, 32)"
    lazy = text.replace(shuffle, f"T.if_then_else(tx < 16, {shuffle}, 0)")
    assert isinstance(verdict(over_threads("int32"), lazy, "int32"), Unknown)


def test_warps_are_made_up_of_all_coordinates():
    text = """\
for ty in T.thread_binding(4, thread="threadIdx.y"):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        C[ty * 16 + tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), C[ty * 16 + tx], 17, 32, 32)"""
    params = 'C: T.Buffer((64,), "int32")'
    before = """\
t = T.alloc_buffer((64,), "int32")
for i in range(64):
    t[i] = C[i]
for i in range(64):
    C[i] = t[i // 32 * 32 + 17]"""
    assert isinstance(verdict(before, text, "int32", params), Equal)
    assert isinstance(verdict(before, text.replace("17, 32, 32", "17, 16, 32"), "int32", params), Different)
    swapped = text.replace("threadIdx.y", "threadIdx.z").replace("threadIdx.x", "threadIdx.y")
    assert isinstance(verdict(before, swapped.replace("threadIdx.z", "threadIdx.x"), "int32", params), Different)


@pytest.mark.nightly
def test_local_memory_of_several_loops_over_threads():
    """What each thread keeps from one loop over threads to the next one, and where one of them reduces."""
    text = """\
for bx in T.thread_binding(4, thread="blockIdx.x"):
    own = T.alloc_buffer((1,), "int32", scope="local")
    r = T.alloc_buffer((1,), "int32", scope="local")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        own[0] = A[bx, tx]
    for k in range(1):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.int32(0)]), "reduce_scope", 0):
                T.tvm_thread_allreduce(T.uint32(1), own[0], T.bool(True), r[0], tx)
            if tx == 0:
                B[bx] = r[0]"""
    assert isinstance(verdict(serial(), text, "int32"), Equal)
    once = text.replace("        own[0] = A", "        if tx < 31:\n            own[0] = A")
    assert isinstance(verdict(serial(), once, "int32"), Different)
    other = text.replace("for tx in T.thread_binding(32", "for tx in T.thread_binding(16", 1)
    assert not isinstance(verdict(serial(), other, "int32"), (Equal, EqualOverReals))
    between = text.replace("        own[0] = A[bx, tx]", "        for k in range(2):\n            own[0] = A[bx, tx]")
    assert isinstance(verdict(serial(), between, "int32"), Equal)
    nested = text.replace("    for k in range(1):", "    for ty in T.thread_binding(1, thread='threadIdx.y'):")
    assert not isinstance(verdict(serial(), nested, "int32"), (Equal, EqualOverReals))  # other threads, perhaps
    kept = text.replace("        own[0] = A", "        if bx == 0:\n            own[0] = A")
    found = verdict(serial("B[i] + A[0, k]").replace("= A[i, k]", "= A[0, k]"), kept, "int32")
    assert isinstance(found, Different) and found.after is None  # another thread block's is not there


@pytest.mark.nightly
def test_what_a_thread_keeps_in_a_loop_between_its_coordinates():
    text = """\
for bx in T.thread_binding(4, thread="blockIdx.x"):
    own = T.alloc_buffer((1,), "int32", scope="local")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for k in range(EXTENT):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                if k == 0:
                    own[0] = A[bx, tx * 4 + ty]
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            r = T.alloc_buffer((1,), "int32", scope="local")
            with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.int32(0)]), "reduce_scope", 0):
                T.tvm_thread_allreduce(T.uint32(1), own[0], T.bool(True), r[0], tx, ty)
            if tx == 0 and ty == 0:
                B[bx] = r[0]"""
    for extent in "12":
        assert isinstance(verdict(serial(), text.replace("EXTENT", extent), "int32"), Equal)
    assert isinstance(verdict(serial(), text.replace("EXTENT", "2").replace("k == 0", "k == 2"), "int32"), Different)
    other = text.replace("EXTENT", "1").replace("tx * 4 + ty", "tx * 4")
    assert isinstance(verdict(serial(), other, "int32"), Different)


# --------------------------------------------------------------------------------------------------- random programs


def random_kernel(seed: int) -> tuple[str, int]:
    """Threads that shuffle, reduce and store between barriers."""
    rng = random.Random(seed)
    ny, nx = rng.choice([(1, 8), (2, 8), (1, 32), (2, 32), (3, 16), (1, 40), (5, 7)])
    pad = "        "
    lines = [
        f'for ty in T.thread_binding({ny}, thread="threadIdx.y"):',
        f'    for tx in T.thread_binding({nx}, thread="threadIdx.x"):',
        pad + 'own = T.alloc_buffer((3,), "int32", scope="local")',
        pad + 'm = T.alloc_buffer((1,), "uint32", scope="local")',
        pad + f'S = T.alloc_buffer(({nx * ny},), "int32", scope="shared")',
        pad + f"tid: T.let[T.int32] = ty * {nx} + tx",
        pad + "own[0] = C[tid]",
        pad + "own[1] = tid * 3",
        pad + "own[2] = 7",
        pad + "m[0] = T.tvm_warp_activemask()",
    ]
    for _ in range(rng.randrange(3, 9)):
        a, b = rng.randrange(3), rng.randrange(3)
        kind, width = rng.random(), rng.choice([4, 8, 16, 32])
        if kind < 0.45:
            op = rng.choice(["", "_up", "_down", "_xor"])
            by = rng.randrange(4) if op == "_xor" else rng.choice([1, 2, 3, 5, 8, 16])
            lines.append(pad + f"own[{a}] = T.tvm_warp_shuffle{op}(m[0], own[{b}], {by}, {width}, 32)")
        elif kind < 0.65:
            over, condition = rng.choice(["tx", "ty", "tx, ty"]), rng.choice(["T.bool(True)", "tx < 5", "ty != 1"])
            lines.append(pad + 'with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.int32(0)]), "reduce_scope", 0):')
            call = f"T.tvm_thread_allreduce(T.uint32(1), own[{b}], {condition}, own[{a}], {over})"
            lines.append(pad + "    " + call)
        elif kind < 0.75:
            lines += [pad + SYNC, pad + f"S[tid] = own[{a}]", pad + SYNC]
            lines.append(pad + f"own[{b}] = S[{rng.choice(['tid', f'{nx * ny - 1} - tid', '0'])}]")
        elif kind < 0.85:
            lines += [pad + f"if tid {rng.choice(['< 3', '% 2 == 0'])}:", pad + f"    own[{a}] = own[{b}] + 1"]
        else:
            lines.append(pad + f"own[{a}] = own[{a}] + own[{b}] * 2")
    lines += [pad + f"D[tid] = own[0] + own[{rng.randrange(3)}]"]
    return "\n".join(lines), nx * ny


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(150))
def test_exchanges_agree_with_threads_in_lock_step(seed):
    text, n = random_kernel(seed)
    func = program(text, f'C: T.Buffer(({n},), "int32"), D: T.Buffer(({n},), "int32")')
    rng = np.random.default_rng(seed)
    arrays = {name: rng.integers(-9, 9, n).astype(np.int32) for name in "CD"}
    want, races = thread_reference.run_function(func, arrays)
    got = interpreter.run(in_phases(func), arrays)
    for k in range(n):
        value = want["D"][(k,)]
        assert bool(got.defined["D"][k]) == (value is not None), text
        assert value is None or int(got.arrays["D"][k]) == int(value), text
    found = validate(func, func)
    assert isinstance(found.verdict, Equal)
    assert bool(races) == any("race" in f for f in found.findings), (text, races)


# ------------------------------------------------------------------------------------------------- barriers of warps


def in_shared_memory(n: int = 50, *, warp: str = "WARP", head: str = SYNC, tail: str = SYNC, by: int = 4) -> str:
    """As TVM lowers a reduction whose extent is not a multiple of the warp."""
    lines = [
        'for bx in T.thread_binding(4, thread="blockIdx.x"):',
        f'    for tx in T.thread_binding({n}, thread="threadIdx.x"):',
        f'        S = T.alloc_buffer(({n},), "int32", scope="shared")',
        "        S[tx] = A[bx, tx]",
        "        " + SYNC,
        f"        if tx < {n - 32}:",
        "            S[tx] = S[tx] + S[tx + 32]",
        "        " + head,
        "        if tx < 16:",
    ]
    for k in (16, 8, by, 2, 1):
        lines += [
            f"            w{k}: T.let[T.int32] = S[tx] + S[tx + {k}]",
            "            WARP",
            f"            S[tx] = w{k}",
        ]
        lines += ["            WARP"] if k > 1 else []
    lines += ["        " + tail, "        if tx == 0:", "            B[bx] = S[0]"]
    return "\n".join(lines).replace("WARP", warp)


WAIT = 'T.tvm_storage_sync("warp")'


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [50, 64])
def test_threads_of_a_warp_wait_for_each_other(n):
    found = report(over_threads("int32", extent=n), in_shared_memory(n, warp=WAIT), "int32")
    assert isinstance(found.verdict, Equal) and found.findings == ()
    other = in_shared_memory(n, warp=WAIT, by=3)
    assert isinstance(verdict(over_threads("int32", extent=n), other, "int32"), Different)


@pytest.mark.nightly
def test_a_missing_barrier_of_a_warp_is_a_race():
    good = in_shared_memory(warp=WAIT)
    for k in range(1, 9):  # but the first one: nobody stores to what others read there
        parts = good.split(WAIT)
        bad = WAIT.join(parts[: k + 1]) + "T.evaluate(0)" + WAIT.join(parts[k + 1 :])
        found = report(over_threads("int32", extent=50), bad, "int32")
        assert "after: race between threads at S: no barrier is between" in found.findings
        assert not isinstance(found.verdict, Equal) or found.new_races


def test_a_barrier_of_a_warp_does_not_order_other_warps():
    text = f"""\
for tx in T.thread_binding(64, thread="threadIdx.x"):
    S = T.alloc_buffer((64,), "int32", scope="shared")
    S[tx] = A[0, tx]
    {WAIT}
    A[1, tx] = S[INDEX]"""
    same, other = text.replace("INDEX", "tx // 32 * 32 + 31 - tx % 32"), text.replace("INDEX", "63 - tx")
    assert report(same, same, "int32").findings == ()
    assert "before: race between threads at S: no barrier is between" in report(other, other, "int32").findings
    every = other.replace(WAIT, SYNC)
    assert report(every, every, "int32").findings == ()


@pytest.mark.nightly
@pytest.mark.parametrize("change", [{"head": "T.evaluate(0)"}, {"tail": "T.evaluate(0)"}, {"warp": SYNC}])
def test_a_barrier_of_some_threads_lies_between_barriers_of_all(change):
    text = in_shared_memory(**{"warp": WAIT, **change})
    assert isinstance(verdict(over_threads("int32", extent=50), text, "int32"), Unknown)


def test_a_barrier_of_some_threads_under_a_condition_that_is_loaded_is_refused():
    text = in_shared_memory(warp=WAIT).replace("if tx < 16:", "if S[tx] < 16:")
    assert isinstance(verdict(over_threads("int32", extent=50), text, "int32"), Unknown)
