"""Kernels of the library as cases: operands at random, what the result must be, ours and the peers."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from math import prod

import numpy as np

from verified_tir.bench.cases import OURS, Array, Case, Entry, Unusable
from verified_tir.bench.kernel_table import KERNELS, Sizes
from verified_tir.bench.peers import NAMES, Problem, take_part
from verified_tir.codegen.build import build
from verified_tir.codegen.target import Target
from verified_tir.graph.memory import machine_memory
from verified_tir.schedule.verdicts import without_store


def sizes_of_kernel(name: str, text: str, dtype: str) -> list[dict[str, int]]:
    """The sizes that ``--sizes`` asks for.

    :raises Unusable: if the kernel does not take them, or the type.
    """
    timed = KERNELS[name]
    if dtype not in timed.dtypes:
        raise Unusable(f"--dtype {dtype}: {name} is there for {', '.join(timed.dtypes)}")
    found = []
    for part in (text or timed.sizes).split(","):
        numbers = [int(x) if x.strip().isdecimal() else 0 for x in part.lower().split("x")]
        if min(numbers) < 1 or len(numbers) not in (1, len(timed.dimensions)):
            example = "x".join(str(8 << k) for k in range(len(timed.dimensions)))
            names = " x ".join(timed.dimensions)
            raise Unusable(f"--sizes {text}: write numbers, as in 256 or {example}, for {names}")
        found.append(dict(zip(timed.dimensions, numbers * (len(timed.dimensions) // len(numbers)), strict=True)))
    return found


def problem_of(name: str, sizes: Sizes, dtype: str, threads: int, seed: int) -> Problem:
    """Random operands.

    :raises Unusable: if there is not enough memory for them.
    """
    timed = KERNELS[name]
    *shapes, shape = timed.shapes(sizes)
    need = 8 * (2 * sum(map(prod, shapes)) + 8 * prod(shape))  # in double precision; results of all peers
    if need > machine_memory():
        raise Unusable(f"{name} of {'x'.join(map(str, sizes.values()))} takes {need:,} bytes, more than there are here")
    rng = np.random.default_rng(seed)
    operands = tuple(_random(rng, s, dtype) for s in shapes)
    return Problem(name, sizes, dtype, threads, operands, np.empty(shape, timed.results.get(dtype, dtype)))


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype.startswith("int"):
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def expected_of(problem: Problem) -> Array:
    """What the result must be, in a wider type."""
    wide = np.int64 if problem.dtype.startswith("int") else np.float64
    found = KERNELS[problem.kernel].exact(*(a.astype(wide) for a in problem.operands))
    return found.astype(problem.out.dtype) if wide is np.int64 else found


def kernel_case(name: str, sizes: Sizes, dtype: str, threads: int, seed: int, wanted: Collection[str] = NAMES) -> Case:
    """A kernel of the library beside those of the ``wanted`` peers that are there."""
    timed, target = KERNELS[name], Target.host(threads)
    p = problem_of(name, sizes, dtype, threads, seed)
    plain = timed.kernel(p, target)
    start = time.process_time()
    with without_store():
        fresh = type(plain)(plain.program, plain.strategy, lowering=plain.lowering, target=target)
    proved = time.process_time()
    build(fresh.schedule, target, pipeline=fresh.lowering, cache=False)
    built = time.process_time()
    p = replace(p, schedule=fresh.schedule)
    ours = timed.ours(p)
    entries = {OURS: Entry(lambda: (ours(),))}
    absent: dict[str, str] = {}
    for peer, make in timed.peers.items():
        if peer in wanted:
            take_part(peer, lambda make=make: make(p), entries, absent)  # type: ignore[misc]
    numbers = list(sizes.values())
    return Case(
        kernel=name,
        sizes=str(numbers[0]) if len(set(numbers)) == 1 else "x".join(map(str, numbers)),
        dtype=dtype,
        threads=threads,
        entries=entries,
        expected=[expected_of(p)],
        tolerance=timed.terms(sizes) * float(np.finfo(p.out.dtype).eps) if p.out.dtype.kind == "f" else 0.0,
        nbytes=sum(a.nbytes for a in (*p.operands, p.out)),
        flops=timed.flops(sizes),
        proof_seconds=proved - start,
        compile_seconds=built - proved,
        absent=absent,
    )
