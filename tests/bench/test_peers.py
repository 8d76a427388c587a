"""Every peer computes what is expected, or says why it is not there."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from verified_tir.bench.cases import Entry, Unusable, difference
from verified_tir.bench.kernel_table import KERNELS
from verified_tir.bench.kernels import expected_of, kernel_case, problem_of, sizes_of_kernel
from verified_tir.bench.peers import Absent, imported, limited_to, take_part

SLOW = ("torch", "numba", "halide")
"""What takes seconds to import or to compile."""
SIZES = (16, 32, 24, 16, 32, 3)
BOTH = [
    pytest.param(kernel, peer, marks=pytest.mark.nightly if peer in SLOW else (), id=f"{kernel}-{peer}")
    for kernel, timed in KERNELS.items()
    for peer in timed.peers
    if peer != "tvm"
]


@pytest.mark.parametrize(("kernel", "peer"), BOTH)
def test_a_peer_agrees(kernel: str, peer: str) -> None:
    if peer != "numpy":
        pytest.importorskip(peer)
    timed = KERNELS[kernel]
    for dtype in timed.dtypes:
        if peer == "halide" and dtype != "float32":
            continue
        problem = problem_of(kernel, dict(zip(timed.dimensions, SIZES, strict=False)), dtype, 1, 0)
        (got,) = timed.peers[peer](problem).call()
        assert difference(got, expected_of(problem), 1e-4) == ""


@pytest.mark.nightly
def test_torch_runs_with_the_threads_that_were_asked_for() -> None:
    torch = pytest.importorskip("torch")
    KERNELS["gemm"].peers["torch"](problem_of("gemm", {"M": 2, "N": 2, "K": 2}, "float32", 1, 0))
    assert torch.get_num_threads() == 1


def test_threads_of_numpys_blas_are_limited_in_the_block() -> None:
    from threadpoolctl import threadpool_info

    before = os.environ.copy()
    with limited_to(1):
        assert {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"} == {1}
        assert os.environ["HL_NUM_THREADS"] == "1"
    assert os.environ.copy() == before


def test_why_a_peer_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Absent, match=r"^not installed$"):
        imported("no_such_module_at_all")
    (tmp_path / "broken.py").write_text("import no_such_module_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Absent, match="No module named 'no_such_module_at_all'"):
        imported("broken")

    def fails() -> Entry:
        raise ValueError("too new")

    found: dict[str, Entry] = {}
    absent: dict[str, str] = {}
    take_part("a", lambda: Entry(lambda: ()), found, absent)
    take_part("b", fails, found, absent)
    take_part("c", lambda: imported("no_such_module_at_all"), found, absent)
    assert list(found) == ["a"]
    assert absent == {"b": "it fails: ValueError: too new", "c": "not installed"}


def test_sizes() -> None:
    assert sizes_of_kernel("gemm", "8,2x3x4", "float32") == [{"M": 8, "N": 8, "K": 8}, {"M": 2, "N": 3, "K": 4}]
    assert len(sizes_of_kernel("gemm", "", "float32")) == 3


@pytest.mark.parametrize(
    ("sizes", "dtype", "said"),
    [
        ("3,x", "float32", "--sizes 3,x: write numbers, as in 256 or 8x16x32, for M x N x K"),
        ("3x4", "float32", "--sizes 3x4: write numbers, as in 256 or 8x16x32, for M x N x K"),
        ("0", "float32", "--sizes 0: write numbers, as in 256 or 8x16x32, for M x N x K"),
        ("3", "float23", "--dtype float23: gemm is there for float32, float64, int8"),
    ],
)
def test_sizes_and_types_that_there_are_not(sizes: str, dtype: str, said: str) -> None:
    with pytest.raises(Unusable) as refused:
        sizes_of_kernel("gemm", sizes, dtype)
    assert str(refused.value) == said


def test_operands_that_do_not_fit_into_memory() -> None:
    with pytest.raises(Unusable, match=r"gemm of 1000000000x1000000000x1 takes [\d,]+ bytes, more than there are here"):
        problem_of("gemm", {"M": 10**9, "N": 10**9, "K": 1}, "float32", 1, 0)


def test_operands_depend_on_the_seed_only() -> None:
    a, b, c = (problem_of("gemm", {"M": 2, "N": 2, "K": 2}, "float32", 1, seed).operands for seed in (1, 1, 2))
    assert all(map(np.array_equal, a, b)) and not any(map(np.array_equal, a, c))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", KERNELS)
def test_ours_agrees_and_tvm_compiles_the_same_program(name: str) -> None:
    timed = KERNELS[name]
    wanted = ["tvm"] if importlib.util.find_spec("tvm") else []
    for dtype in timed.dtypes:
        case = kernel_case(name, dict(zip(timed.dimensions, SIZES, strict=False)), dtype, 1, 0, wanted)
        assert case.wrong() == {} and case.proof_seconds > 0 and case.compile_seconds > 0
