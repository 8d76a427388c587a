"""Matrix products of the library: bits of the plain program for any shape and type; arguments that are refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401 (numpy then knows bfloat16)
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from verified_tir import Target
from verified_tir.certificate.certify import certify
from verified_tir.certificate.check import check
from verified_tir.ir.script import parse_func
from verified_tir.library import gemm
from verified_tir.library.gemm_tiles import PANELS, Tiles
from verified_tir.library.products import RESULTS, program
from verified_tir.semantics.interpreter import run

Array = np.ndarray[Any, Any]
NARROW = Target("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+fma,-avx512f")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5, 3e38, 1e-40]


def matrix(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Small whole numbers, whose products and sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def exact(a: Array, b: Array) -> Array:
    """The product as numpy has it, in numbers that hold it exactly."""
    wide = np.int64 if a.dtype == np.int8 else np.float64
    return (a.astype(wide) @ b.astype(wide)).astype(RESULTS[a.dtype.name])


def interpreted(a: Array, b: Array, bias: Array | None, **options: Any) -> Array:
    """What the plain program computes, by the interpreter."""
    rows, depth = a.shape[::-1] if options.get("transpose_a") else a.shape
    columns = b.shape[0] if options.get("transpose_b") else b.shape[1]
    func = parse_func(program(rows, columns, depth, a.dtype.name, bias=bias is not None, **options))
    result = np.zeros((rows, columns), RESULTS[a.dtype.name])
    arrays = {"A": a, "B": b, "C": result} | ({} if bias is None else {"D": bias})
    return np.asarray(run(func, arrays).arrays["C"]).reshape(rows, columns)


def same_bits(a: Array, b: Array) -> bool:
    """Equal bits, except that of a NaN only that it is one."""
    unlike = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    return a.dtype == b.dtype and not (unlike & ~((a != a) & (b != b))).any()


SIZES = [(1, 1, 1), (1, 33, 9), (17, 1, 5), (9, 31, 17), (40, 90, 71), (0, 3, 4), (3, 0, 4), (3, 4, 0)]
EDGES = (11, 50, 7)
"""No tile divides these."""


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("shape", "dtype"), [*((s, "float32") for s in SIZES), *((EDGES, d) for d in RESULTS), ((3, 4, 0), "int8")], ids=str
)
def test_products_are_those_of_numpy(shape: tuple[int, int, int], dtype: str) -> None:
    rows, columns, depth = shape
    a, b = matrix((rows, depth), dtype), matrix((depth, columns), dtype, 1)
    assert np.array_equal(gemm(a, b, threads=1), exact(a, b))


@pytest.mark.parametrize("more", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_several_blocks_of_columns_and_terms(more: bool) -> None:
    a, b, bias = matrix((9, 1100), "float64"), matrix((1100, 40), "float64", 1), matrix((40,), "float64")
    if more:
        assert np.array_equal(gemm(a, b, bias, activation="relu"), np.maximum(exact(a, b) + bias, 0))
    else:
        assert np.array_equal(gemm(a, b), exact(a, b))


@settings(max_examples=few(4, 12), deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(data=st.data())
def test_bits_are_those_of_the_plain_program(data: st.DataObject) -> None:
    """Of any floats, also those that are no numbers, and of integers that overflow."""
    rows, columns, depth = (data.draw(st.sampled_from((1, 2, 5, 8, 11))) for _ in range(3))
    columns += data.draw(st.sampled_from((0, 16, 30)))
    dtype = data.draw(st.sampled_from(list(RESULTS)))
    options = {
        "transpose_a": data.draw(st.booleans()), "transpose_b": data.draw(st.booleans()),
        "activation": data.draw(st.sampled_from((None, "relu", "clip"))),
    }  # fmt: skip
    random = np.random.default_rng(data.draw(st.integers(0, 2**16)))

    def drawn(shape: tuple[int, ...], kind: str) -> Array:
        if kind.startswith("int"):
            return random.integers(-128, 128, shape).astype(kind)
        values = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)
        return np.where(random.random(shape) < 0.02, random.choice(SPECIAL, shape), values).astype(kind)

    with np.errstate(all="ignore"):
        a = drawn((depth, rows) if options["transpose_a"] else (rows, depth), dtype)
        b = drawn((columns, depth) if options["transpose_b"] else (depth, columns), dtype)
        bias = drawn((columns,), RESULTS[dtype]) if data.draw(st.booleans()) else None
        assert same_bits(gemm(a, b, bias, threads=1, **options), interpreted(a, b, bias, **options))


def test_views_are_taken_as_they_lie() -> None:
    a, b = matrix((12, 20), "float32"), matrix((24, 20), "float32", 1)
    expected = exact(a, b.T)
    assert np.array_equal(gemm(a, b.T), expected)
    assert np.array_equal(gemm(a, b, transpose_b=True), expected)
    assert np.array_equal(gemm(np.asfortranarray(a), b.T), expected)
    apart = matrix((24, 40), "float32", 2)[::2, ::2]
    for _ in range(2):  # checked, and known
        assert np.array_equal(gemm(apart, b[:20, :].T[:20]), exact(apart, b[:20, :].T[:20]))
        assert np.array_equal(gemm(a, b.T), expected)


@pytest.mark.nightly
def test_threads_change_no_bit() -> None:
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((120, 130)).astype(np.float32) for _ in range(2))
    one = gemm(a, b.T, threads=1)
    assert "T.parallel" in gemm.kernel(120, 120, 130, transpose_b=True, target=Target.host(2)).schedule.script()
    assert np.array_equal(one, gemm(a, b.T, threads=2))


def test_results_are_written_to_out() -> None:
    a, b, out = matrix((4, 6), "float32"), matrix((6, 5), "float32", 1), np.full((4, 5), 9, np.float32)
    assert gemm(a, b, out=out) is out
    assert np.array_equal(out, exact(a, b))
    square = matrix((4, 4), "float32")
    with pytest.raises(ValueError, match="out shares memory with an operand"):
        gemm(square, square, out=square)
    with pytest.raises(ValueError, match=r"out has shape \(4, 5\); the result has shape \(4, 4\)"):
        gemm(square, square, out=out)
    with pytest.raises(TypeError, match="the result is one of int32"):
        gemm(a.astype(np.int8), b.astype(np.int8), out=out)


@pytest.mark.parametrize("activation", ["relu", "clip"])
def test_activations_keep_nan(activation: str) -> None:
    a = np.array([[np.nan], [-2], [9], [np.inf]], np.float32)
    most = 6 if activation == "clip" else np.inf
    found = gemm(a, np.ones((1, 1), np.float32), activation=activation, threads=1)
    np.testing.assert_array_equal(found, np.clip(a, 0, most))


def test_wrong_arguments_are_refused() -> None:
    a, b = matrix((4, 6), "float32"), matrix((6, 5), "float32", 1)
    with pytest.raises(ValueError, match=r"shapes \(4, 6\) and \(4, 6\) cannot be multiplied: 6 columns meet 4 rows"):
        gemm(a, a)
    with pytest.raises(ValueError, match=r"\(6, 5\) transposed cannot be multiplied"):
        gemm(a, b, transpose_b=True)
    with pytest.raises(TypeError, match="a is an array of float32, and b one of float64"):
        gemm(a, b.astype(np.float64))
    with pytest.raises(TypeError, match="a is an array of int32; float32, float64, bfloat16, int8 are taken"):
        gemm(a.astype(np.int32), b.astype(np.int32))
    with pytest.raises(ValueError, match=r"a has 2 dimensions; an array of shape \(6,\) was given"):
        gemm(a[0], b)
    with pytest.raises(TypeError, match="b is a list, not an array of numpy"):
        gemm(a, b.tolist())
    with pytest.raises(ValueError, match=r"bias has shape \(4,\); the result has 5 columns"):
        gemm(a, b, matrix((4,), "float32"))
    with pytest.raises(TypeError, match="bias is an array of float64; float32 are taken"):
        gemm(a, b, matrix((5,), "float64"))
    with pytest.raises(ValueError, match="no activation 'sigmoid'; None, 'relu', 'clip' are known"):
        gemm(a, b, activation="sigmoid")
    with pytest.raises(ValueError, match="at least one thread"):
        gemm(a, b, threads=0)
    assert gemm(a, b, threads=1, transpose_a=False).shape == (4, 5)
    with pytest.raises(TypeError, match=r"a whole number of threads, not 1\.0"):
        gemm(a, b, threads=1.0)  # type: ignore[arg-type]
    for wrong in (0, 2, None, "no"):
        with pytest.raises(TypeError, match=f"gemm: transpose_a is True or False, not {wrong!r}"):
            gemm(np.asfortranarray(a), b, transpose_a=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"gemm: transpose_b is True or False, not {wrong!r}"):
            gemm(a, b, transpose_b=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        gemm(a.astype(">f4"), b.astype(">f4"))
    with pytest.raises(ValueError, match="no kernel for float16"):
        gemm.kernel(4, 4, 4, "float16")
    with pytest.raises(ValueError, match="no activation \\[\\]; None, 'relu', 'clip' are known"):
        gemm(a, b, activation=[])  # type: ignore[arg-type]
    assert gemm.kernel(4, np.int64(4), 4).program.name == "gemm"  # type: ignore[arg-type]
    for wrong in (-1, 4.0, "4", 2**31):
        with pytest.raises(
            ValueError, match=f"gemm: rows, columns and depth are numbers from 0 to .*, not 4, {wrong!r}, 4"
        ):
            gemm.kernel(4, wrong, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", [Target.host(1), NARROW], ids=["host", "haswell"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_fit_into_registers_and_caches(target: Target, dtype: str) -> None:
    few = target.vector_bits < 512
    for rows, columns, depth in ((1, 1, 1), (8, 32, 4), (333, 555, 777), (1000, 1000, 1000), (2048, 2048, 2048)):
        t = Tiles.of(rows, columns, depth, dtype, target)
        vectors = t.width // t.lanes
        assert t.height * vectors + vectors + 1 <= (16 if few else 32)
        assert t.width % t.lanes == 0 and (columns // t.width * t.width) % t.block == 0
        assert t.block == t.width or t.block * t.deep * (4 if dtype == "float32" else 8) <= PANELS


def test_the_schedule_is_for_the_machine_it_is_given() -> None:
    text = gemm.kernel(48, 48, 16, target=NARROW).schedule.script()
    assert "T.vectorized(16)" in text and "(6, 16)" in text


@pytest.mark.nightly
def test_a_product_has_a_certificate(tmp_path: Any) -> None:
    kernel = gemm.kernel(16, 32, 8, bias=True, activation="relu", target=NARROW)
    certify(tmp_path, gemm=kernel.schedule)
    done = check(tmp_path, ("z3",))
    assert not done.all_findings and done.exit_code == 0
