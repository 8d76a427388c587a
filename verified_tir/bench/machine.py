"""What the machine can do at most, measured with the kernels, and what it is."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from verified_tir.bench.cases import Unusable
from verified_tir.codegen.build import build
from verified_tir.codegen.target import Target
from verified_tir.extras import missing
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.schedule.schedule import Schedule

FMA, MEMCPY = "FMA peak", "memcpy"
"""What a case is bounded by: timed in the same rounds."""

CHAINS, STEPS = 20, 10_000
"""Independent sums in registers, and how long each is."""

PACKAGES: Final = {
    "numpy": "numpy", "llvmlite": "llvmlite", "torch": "torch", "onnxruntime": "onnxruntime", "numba": "numba",
    "halide": "halide", "tvm": "apache-tvm",
}  # fmt: skip
"""Packages whose versions matter, by the names of peers."""

_PEAK = """
@T.prim_func
def peak(X: T.Buffer(({lanes},), "{dtype}"), Y: T.Buffer(({threads}, {chains}, {lanes}), "{dtype}")):
    for t in T.parallel({threads}):
        acc = T.alloc_buffer(({chains}, {lanes}), "{dtype}", scope="local")
        for i in T.unroll({chains}):
            acc[i, 0:{lanes}] = X[0:{lanes}]
        for k in range({steps}):
            for i in T.unroll({chains}):
                acc[i, 0:{lanes}] = T.fma(acc[i, 0:{lanes}], T.Broadcast(T.{dtype}(0.5), {lanes}), X[0:{lanes}])
        for i in T.unroll({chains}):
            Y[t, i, 0:{lanes}] = acc[i, 0:{lanes}]
"""


@cache
def fma_peak(dtype: str, threads: int) -> tuple[Callable[[], object], int] | None:
    """A loop of fused multiply-adds on registers, and its operations; ``None`` where the processor has none of them."""
    target = Target.host(threads)
    if dtype not in ("float32", "float64") or (target.is_x86 and not target.has("fma")):
        return None
    lanes = target.vector_bits // (32 if dtype == "float32" else 64)
    text = _PEAK.format(lanes=lanes, dtype=dtype, threads=threads, chains=CHAINS, steps=STEPS)
    run = build((UnrollLoop() >> Simplify()).run(Schedule(text)), target)
    x, y = np.ones(lanes, dtype), np.zeros((threads, CHAINS, lanes), dtype)
    return lambda: run(x, y), 2 * threads * CHAINS * STEPS * lanes


def memcpy(nbytes: int) -> Callable[[], object]:
    """libc's ``memcpy``, which reads and writes so many bytes in all."""
    half = max(1, nbytes // 2)
    source, target = np.ones(half, np.uint8), np.zeros(half, np.uint8)
    copy = ctypes.CDLL(None).memcpy
    copy.argtypes, copy.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
    to, of = target.ctypes.data, source.ctypes.data
    return lambda: (copy(to, of, half), source, target)[0]  # the arrays must live as long as the call


def environment() -> dict[str, Any]:
    """The machine and the versions, as JSON.

    :raises Unusable: if threadpoolctl is not there, which says what numpy's BLAS is.
    """
    from verified_tir import __version__

    target = Target.host(1)
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "target": f"{target.cpu}, {target.vector_bits}-bit vectors",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "verified_tir": __version__,
        "versions": {name: v for name, package in PACKAGES.items() if (v := _version(package))},
        "blas": _blas(),
        "load": [round(x, 2) for x in os.getloadavg()],
    }


def warnings() -> list[str]:
    """What makes figures of peers worse than they need be."""
    return [
        f"{name}={os.environ[name]} is set: numpy may not use its best kernel; unset it"
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
        if name in os.environ
    ]


def _processor() -> str:
    if sys.platform == "linux":
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _blas() -> str:
    """Numpy's BLAS: library, version and kernel."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        raise Unusable(missing("vtir bench", "bench")) from None
    libraries = [x for x in threadpool_info() if x["user_api"] == "blas"]
    for x in sorted(libraries, key=lambda x: "numpy" not in x["filepath"]):  # others may have brought their own
        return f"{x['internal_api']} {x['version']} ({x.get('architecture', 'unknown kernel')})"
    return "unknown"
