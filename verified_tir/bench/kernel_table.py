"""The kernels of the library that are timed: their sizes, what the results must be, and the peers of each.

To add a kernel, enter it in :data:`KERNELS`.  That all results agree is looked at before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Final, cast, final

import numpy as np

from verified_tir import library
from verified_tir.bench.cases import Array, Entry
from verified_tir.bench.peers import Peer, Problem, halide_, imported, numba_, numpy_, onnx_, torch_, tvm_
from verified_tir.codegen.target import Target

if TYPE_CHECKING:
    from verified_tir.library.kernel import Kernel

Sizes = Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel of the library as it is timed.

    :ivar dimensions: names of its sizes, in the order of ``--sizes``.
    :ivar sizes: what is timed unless sizes are given.
    :ivar shapes: of the operands and of the result.
    :ivar exact: the result, of operands in float64 or int64.
    :ivar ours: prepares the call, of which the result is looked at.
    :ivar kernel: what is proved.
    :ivar terms: how many numbers each result is a sum of, from which the tolerance follows.
    :ivar flops: operations; ``None`` where memory is what limits.
    :ivar results: types of results, by those of the operands, where they differ.
    """

    dimensions: tuple[str, ...]
    sizes: str
    dtypes: tuple[str, ...]
    shapes: Callable[[Sizes], tuple[tuple[int, ...], ...]]
    exact: Callable[..., Array]
    ours: Callable[[Problem], Callable[[], Array]]
    kernel: Callable[[Problem, Target], Kernel]
    peers: Mapping[str, Peer]
    terms: Callable[[Sizes], int] = lambda _: 8
    flops: Callable[[Sizes], int | None] = lambda _: None
    results: Mapping[str, str] = field(default_factory=dict)


def _written(name: str) -> Callable[[Problem], Callable[[], Array]]:
    """Ours, with the result where it was before."""

    def prepare(p: Problem) -> Callable[[], Array]:
        function = getattr(library, name)
        return lambda: function(*p.operands, out=p.out, threads=p.threads)

    return prepare


def _new(name: str) -> Callable[[Problem], Callable[[], Array]]:
    """Ours, with the result in a new array."""

    def prepare(p: Problem) -> Callable[[], Array]:
        function = getattr(library, name)
        return lambda: function(*p.operands, threads=p.threads)

    return prepare


def _kernel(name: str, arguments: Callable[[Problem], tuple[Any, ...]]) -> Callable[[Problem, Target], Kernel]:
    """What is proved for a function of the library."""
    return lambda p, target: cast("Kernel", getattr(library, name).kernel(*arguments(p), target=target))


def _halide_gemm(hl: Any, a: Any, b: Any, sizes: Sizes) -> Any:
    x, y, k, c = hl.Var("x"), hl.Var("y"), hl.RDom([(0, sizes["K"])]), hl.Func("c")
    c[x, y] = hl.f32(0)
    c[x, y] += a[k.x, y] * b[x, k.x]
    return c


_NUMBA_GEMM = """
def loops(a, b, c):
    for i in prange(a.shape[0]):
        c[i, :] = 0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
"""


def _for_int8(peer: Peer, other: Peer) -> Peer:
    return lambda p: (peer if p.dtype == "int8" else other)(p)


def _numpy_int8(a: Array, b: Array) -> object:
    return np.matmul(a, b, dtype=np.int32)


GEMM: Final = Timed(
    dimensions=("M", "N", "K"),
    sizes="256,512,1024",
    dtypes=("float32", "float64", "int8"),
    results={"int8": "int32"},
    shapes=lambda s: ((s["M"], s["K"]), (s["K"], s["N"]), (s["M"], s["N"])),
    exact=np.matmul,
    ours=_new("gemm"),
    kernel=_kernel("gemm", lambda p: (*p.sizes.values(), p.dtype)),
    terms=lambda s: s["K"],
    flops=lambda s: 2 * prod(s.values()),
    peers={
        "numpy": _for_int8(numpy_("matmul", _numpy_int8), numpy_("matmul", np.matmul)),
        "torch": _for_int8(
            torch_("_int_mm", lambda torch, a, b: torch._int_mm(a, b)), torch_("mm", lambda torch, a, b: torch.mm(a, b))
        ),
        "onnxruntime": _for_int8(onnx_("MatMulInteger"), onnx_("MatMul")),
        "tvm": tvm_,
        "halide": halide_(_halide_gemm),
        "numba": numba_(_NUMBA_GEMM),
    },
)


def _numpy_softmax(x: Array, out: Array) -> None:
    np.exp(x - x.max(axis=-1, keepdims=True), out=out)
    np.divide(out, out.sum(axis=-1, keepdims=True), out=out)


def _softmax(x: Array) -> Array:
    _numpy_softmax(x, out := np.empty_like(x))
    return out


def _halide_softmax(hl: Any, a: Any, sizes: Sizes) -> Any:
    x, y, k = hl.Var("x"), hl.Var("y"), hl.RDom([(0, sizes["columns"])])
    most, e, total, out = hl.Func("most"), hl.Func("e"), hl.Func("total"), hl.Func("out")
    most[y] = a[0, y]
    most[y] = hl.max(most[y], a[k.x, y])
    e[x, y] = hl.exp(a[x, y] - most[y])
    total[y] = hl.f32(0)
    total[y] += e[k.x, y]
    out[x, y] = e[x, y] / total[y]
    return out


_NUMBA_SOFTMAX = """
def loops(x, y):
    for i in prange(x.shape[0]):
        most = x[i, 0]
        for j in range(x.shape[1]):
            most = max(most, x[i, j])
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - most)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total
"""

_ROWS: Final[dict[str, Any]] = {
    "dimensions": ("rows", "columns"),
    "sizes": "256x1024,4096x1024",
    "dtypes": ("float32",),
}

SOFTMAX: Final = Timed(
    **_ROWS,
    shapes=lambda s: (tuple(s.values()),) * 2,
    exact=_softmax,
    ours=_written("softmax"),
    kernel=_kernel("softmax", lambda p: (p.sizes["columns"], p.dtype)),
    terms=lambda s: s["columns"],
    peers={
        "numpy": numpy_("exp and sum", _numpy_softmax, written=True),
        "torch": torch_("softmax", lambda torch, x, out: torch.softmax(x, -1, out=out), written=True),
        "onnxruntime": onnx_("Softmax", axis=-1),
        "tvm": tvm_,
        "halide": halide_(_halide_softmax),
        "numba": numba_(_NUMBA_SOFTMAX),
    },
)

EPSILON: Final = 1e-5


def _numpy_layer_norm(x: Array, scale: Array, shift: Array, out: Array) -> None:
    np.subtract(x, x.mean(axis=-1, keepdims=True), out=out)
    np.multiply(out, 1 / np.sqrt((out * out).mean(axis=-1, keepdims=True) + EPSILON), out=out)
    np.add(np.multiply(out, scale, out=out), shift, out=out)


def _layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    _numpy_layer_norm(x, scale, shift, out := np.empty_like(x))
    return out


_NUMBA_LAYER_NORM = f"""
def loops(x, scale, shift, y):
    n = x.shape[1]
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(n):
            total += x[i, j]
        mean = total / n
        squares = x.dtype.type(0)
        for j in range(n):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        factor = 1 / np.sqrt(squares / n + {EPSILON})
        for j in range(n):
            y[i, j] = (x[i, j] - mean) * factor * scale[j] + shift[j]
"""

LAYER_NORM: Final = Timed(
    **_ROWS,
    shapes=lambda s: (tuple(s.values()), (s["columns"],), (s["columns"],), tuple(s.values())),
    exact=_layer_norm,
    ours=_new("layer_norm"),
    kernel=_kernel("layer_norm", lambda p: (p.sizes["columns"], p.dtype)),
    terms=lambda s: s["columns"],
    peers={
        "numpy": numpy_("mean and sqrt", _numpy_layer_norm, written=True),
        "torch": torch_("layer_norm", lambda torch, x, a, b: torch.layer_norm(x, a.shape, a, b, EPSILON)),
        "onnxruntime": onnx_("LayerNormalization", axis=-1, epsilon=EPSILON),
        "tvm": tvm_,
        "numba": numba_(_NUMBA_LAYER_NORM),
    },
)


def _halide_relu(hl: Any, a: Any, sizes: Sizes) -> Any:
    x, out = hl.Var("x"), hl.Func("out")
    out[x] = hl.max(a[x], hl.f32(0))
    return out


_NUMBA_RELU = """
def loops(x, y):
    for i in prange(x.size):
        y[i] = max(x[i], x.dtype.type(0))
"""

RELU: Final = Timed(
    dimensions=("size",),
    sizes="65536,16777216",
    dtypes=("float32", "float64"),
    shapes=lambda s: ((s["size"],),) * 2,
    exact=lambda x: np.maximum(x, 0),
    ours=_written("relu"),
    kernel=_kernel("relu", lambda p: (p.dtype,)),
    peers={
        "numpy": numpy_("maximum", lambda x, out: np.maximum(x, 0, out=out), written=True),
        "torch": torch_("clamp", lambda torch, x, out: torch.clamp(x, min=0, out=out), written=True),
        "onnxruntime": onnx_("Relu"),
        "tvm": tvm_,
        "halide": halide_(_halide_relu),
        "numba": numba_(_NUMBA_RELU),
    },
)


def _halide_transpose(hl: Any, a: Any, sizes: Sizes) -> Any:
    x, y, out = hl.Var("x"), hl.Var("y"), hl.Func("out")
    out[x, y] = a[y, x]
    return out


_NUMBA_TRANSPOSE = """
def loops(x, y):
    for i in prange(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = x[j, i]
"""

TRANSPOSE: Final = Timed(
    dimensions=("rows", "columns"),
    sizes="512,4096",
    dtypes=("float32", "float64"),
    shapes=lambda s: ((s["rows"], s["columns"]), (s["columns"], s["rows"])),
    exact=np.transpose,
    ours=_written("transpose"),
    kernel=_kernel("transpose", lambda p: (*p.sizes.values(), p.dtype)),
    peers={
        "numpy": numpy_("copyto", lambda x, out: np.copyto(out, x.T), written=True),
        "torch": torch_("copy_", lambda torch, x, out: out.copy_(x.t()), written=True),
        "onnxruntime": onnx_("Transpose", perm=[1, 0]),
        "tvm": tvm_,
        "halide": halide_(_halide_transpose),
        "numba": numba_(_NUMBA_TRANSPOSE),
    },
)

# -- convolutions: data as [batch, height, width, channels], weights as [outputs, channels, window, window] ------------


def _conv(x: Array, w: Array) -> Array:
    pad = (w.shape[2] - 1) // 2
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(1, 2))
    return np.tensordot(windows, w, axes=((3, 4, 5), (1, 2, 3)))


def _conv_shapes(s: Sizes) -> tuple[tuple[int, ...], ...]:
    place = s["batch"], s["height"], s["width"]
    return (*place, s["channels"]), (s["outputs"], s["channels"], s["window"], s["window"]), (*place, s["outputs"])


def _packed(p: Problem) -> Any:
    made: Any = library
    return made.Convolution(p.operands[1], padding=(p.sizes["window"] - 1) // 2, threads=p.threads)


def _ours_conv(p: Problem) -> Callable[[], Array]:
    made = _packed(p)
    return lambda: cast(Array, made(p.operands[0], out=p.out))


def _torch_conv(p: Problem) -> Entry:
    torch = imported("torch")
    torch.set_num_threads(p.threads)
    x = torch.from_numpy(p.operands[0]).permute(0, 3, 1, 2)
    w = torch.from_numpy(p.operands[1]).contiguous(memory_format=torch.channels_last)
    pad = (p.sizes["window"] - 1) // 2
    return Entry(lambda: (torch.conv2d(x, w, padding=pad).permute(0, 2, 3, 1).numpy(),), "conv2d, channels last")


def _onnx_conv(p: Problem) -> Entry:
    x, out = (np.ascontiguousarray(a.transpose(0, 3, 1, 2)) for a in (p.operands[0], p.out))
    pads = [(p.sizes["window"] - 1) // 2] * 4
    entry = onnx_("Conv", pads=pads)(replace(p, operands=(x, p.operands[1]), out=out))
    return Entry(lambda: (entry.call()[0].transpose(0, 2, 3, 1),), "a model with one Conv, NCHW")


def _halide_conv(hl: Any, x: Any, w: Any, s: Sizes) -> Any:
    c, i, j, n, out, pad = hl.Var("c"), hl.Var("i"), hl.Var("j"), hl.Var("n"), hl.Func("out"), (s["window"] - 1) // 2
    inside = hl.BoundaryConditions.constant_exterior(x, hl.f32(0))
    r = hl.RDom([(0, s["channels"]), (0, s["window"]), (0, s["window"])])
    out[c, i, j, n] = hl.f32(0)
    out[c, i, j, n] += inside[r.x, i + r.y - pad, j + r.z - pad, n] * w[r.y, r.z, r.x, c]
    return out


CONV2D: Final = Timed(
    dimensions=("batch", "height", "width", "channels", "outputs", "window"),
    sizes="1x56x56x64x64x3,1x28x28x128x128x3,1x14x14x256x256x3,1x7x7x512x512x3",
    dtypes=("float32",),
    shapes=_conv_shapes,
    exact=_conv,
    ours=_ours_conv,
    kernel=lambda p, target: cast("Kernel", _packed(p).kernel(p.operands[0])),
    terms=lambda s: s["channels"] * s["window"] ** 2,
    flops=lambda s: 2 * prod(s.values()) * s["window"],
    peers={"torch": _torch_conv, "onnxruntime": _onnx_conv, "halide": halide_(_halide_conv)},
)

KERNELS: Final[dict[str, Timed]] = {
    "gemm": GEMM,
    "softmax": SOFTMAX,
    "layer_norm": LAYER_NORM,
    "relu": RELU,
    "transpose": TRANSPOSE,
    "conv2d": CONV2D,
}
