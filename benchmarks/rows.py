"""How fast functions of rows and elements are on one thread, beside torch and libc's memcpy.

    python benchmarks/rows.py            ratios of medians of thread time: above 1 the library is faster

Needs torch.  Arrays begin with a line of the cache; results go to arrays that are there.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from verified_tir.library.elements import elementwise_kernel
from verified_tir.library.kernel import destination, machine
from verified_tir.library.rows import layer_norm_kernel, row_max_kernel, row_sum_kernel, softmax_kernel
from verified_tir.library.transposition import transpose_kernel

ROWS, COLUMNS, ELEMENTS, LARGE = 256, 1024, 1 << 14, 4096
Calls = dict[str, Callable[[], object]]


def random(*shape: int) -> np.ndarray:
    array = destination("random", None, shape, np.dtype("float32"), ())
    array[...] = np.random.default_rng(0).standard_normal(shape)
    return array


def compare(what: str, calls: Calls, rounds: int = 21, repeated: int = 1) -> None:
    """One line: the time of the first call divided by that of each."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(repeated):
                call()
            seconds[name].append(time.thread_time() - start)
    medians = {name: statistics.median(found[1:]) for name, found in seconds.items()}
    first = next(iter(medians.values()))
    print(f"{what:<24}" + "".join(f"{name} {first / found:6.2f}   " for name, found in medians.items()), flush=True)


def rows() -> None:
    a, out, weight, bias = random(ROWS, COLUMNS), random(ROWS, COLUMNS), random(COLUMNS), random(COLUMNS)
    found = random(ROWS)
    t, w, v, t_out, t_found = map(torch.from_numpy, (a, weight, bias, random(ROWS, COLUMNS), random(ROWS)))
    soft, norm, total, most = (
        kernel(COLUMNS, target=machine(1)).function
        for kernel in (softmax_kernel, layer_norm_kernel, row_sum_kernel, row_max_kernel)
    )
    compare("softmax", {"torch": lambda: torch.softmax(t, 1, out=t_out), "ours": lambda: soft(a, out)})
    compare(
        "layer norm",
        {
            "torch": lambda: torch.nn.functional.layer_norm(t, (COLUMNS,), w, v),
            "ours": lambda: norm(a, weight, bias, out),
        },
    )
    compare("row sum, in cache", {"torch": lambda: torch.sum(t, 1, out=t_found), "ours": lambda: total(a, found)})
    compare("row max, in cache", {"torch": lambda: torch.amax(t, 1, out=t_found), "ours": lambda: most(a, found)})


def elements(name: str) -> None:
    a, out = abs(random(ELEMENTS)) if name == "log" else random(ELEMENTS), random(ELEMENTS)
    t, t_out = torch.from_numpy(a), torch.zeros(ELEMENTS)
    ours, theirs = elementwise_kernel(name, target=machine(1)).function, getattr(torch, name)
    compare(name, {"torch": lambda: theirs(t, out=t_out), "ours": lambda: ours(a, out)}, repeated=10)


def memory() -> None:
    a, out, sums = random(LARGE, LARGE), random(LARGE, LARGE), random(LARGE)
    t, t_out, t_sums = torch.from_numpy(a), torch.zeros(LARGE, LARGE), torch.zeros(LARGE)
    memcpy = ctypes.CDLL(None).memcpy
    memcpy.argtypes, memcpy.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
    copy: Calls = {"memcpy": lambda: memcpy(out.ctypes.data, a.ctypes.data, a.nbytes)}
    relu = elementwise_kernel("relu", target=machine(1)).function
    total, turn = (kernel.function for kernel in (row_sum_kernel(LARGE, target=machine(1)),
                                                  transpose_kernel(LARGE, LARGE, target=machine(1))))  # fmt: skip
    flat, flat_out = a.reshape(-1), out.reshape(-1)
    torch_relu, torch_sum, torch_turn = (
        lambda: torch.clamp_min(t, 0, out=t_out), lambda: torch.sum(t, 1, out=t_sums), lambda: t_out.copy_(t.t()),
    )  # fmt: skip
    compare("relu, 64 MB", {**copy, "ours": lambda: relu(flat, flat_out), "torch": torch_relu}, 7)
    compare("row sum, 64 MB", {**copy, "ours": lambda: total(a, sums), "torch": torch_sum}, 7)
    compare("transpose, 64 MB", {**copy, "ours": lambda: turn(a, out), "torch": torch_turn}, 5)


def main() -> None:
    torch.set_num_threads(1)
    rows()
    for name in ("exp", "tanh", "log", "erf", "sigmoid"):
        elements(name)
    memory()


if __name__ == "__main__":
    main()
