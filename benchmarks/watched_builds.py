"""Builds of TVM under the validator: what it says of the changes, and how long that takes.

    python benchmarks/watched_builds.py
    python benchmarks/watched_builds.py --only llama matmul16 --reasons

One line a build: the changes that were judged, by verdict; functions that could not be read; what was not compared;
seconds of the build alone, the seconds that the validator adds, and the processor's for all (on a machine that others
use, too, they say more).  ``--reasons`` adds, for each build, the reasons
of what was not decided; ``--json`` writes all reports.

Kernels for a GPU are lowered as far as TVM gets without a device.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import tvm
from tvm import relax, te
from tvm.relax.frontend import nn
from tvm.s_tir import dlight

from verified_tir.interop.tvm import Limits, StepReport, ValidatingInstrument

CPU: Final = tvm.target.Target("llvm")
GPU: Final = tvm.target.Target(
    {
        "kind": "cuda", "arch": "sm_80", "max_threads_per_block": 1024, "thread_warp_size": 32,
        "max_shared_memory_per_block": 49152, "registers_per_block": 65536,
    },
    host="llvm",
)  # fmt: skip


# ------------------------------------------------------------------------------------------------------- models


class Mlp(nn.Module):
    """Two dense layers."""

    def __init__(self) -> None:
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 8)

    def forward(self, x: Any) -> Any:
        return self.second(nn.op.relu(self.first(x)))


class Cnn(nn.Module):
    """Two convolutions, a residual sum, a mean, a dense layer and softmax."""

    def __init__(self) -> None:
        self.first, self.second = nn.Conv2D(3, 4, 3, padding=1), nn.Conv2D(4, 4, 3, padding=1)
        self.dense = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        one = nn.op.relu(self.first(x))
        two = nn.op.relu(self.second(one)) + one
        pooled = nn.op.reshape(nn.op.sum(two, axis=[2, 3]), (1, 4))
        return nn.op.softmax(self.dense(pooled), axis=-1)


class Llama(nn.Module):
    """A decoder layer of Llama: RMS norms, attention with four heads and a mask, a gated feed-forward part."""

    def __init__(self, d: int = 64, heads: int = 4, tokens: int = 4, dtype: str = "float32") -> None:
        self.d, self.heads, self.tokens = d, heads, tokens
        self.norms = nn.ModuleList([nn.RMSNorm(d, -1, bias=False, dtype=dtype) for _ in range(2)])
        self.qkv = nn.Linear(d, 3 * d, bias=False, dtype=dtype)
        self.out = nn.Linear(d, d, bias=False, dtype=dtype)
        self.gate_up = nn.Linear(d, 4 * d, bias=False, dtype=dtype)
        self.down = nn.Linear(2 * d, d, bias=False, dtype=dtype)

    def forward(self, x: Any, mask: Any) -> Any:
        t, h, per = self.tokens, self.heads, self.d // self.heads
        packed = nn.op.reshape(self.qkv(self.norms[0](x)), (1, t, 3 * h, per))
        q, k, v = (nn.op.permute_dims(p, [0, 2, 1, 3]) for p in nn.op.split(packed, 3, axis=2))
        scores = nn.op.matmul(q, nn.op.permute_dims(k, [0, 1, 3, 2])) * (per**-0.5)
        weights = nn.op.softmax(scores + mask, axis=-1)
        mixed = nn.op.reshape(nn.op.permute_dims(nn.op.matmul(weights, v), [0, 2, 1, 3]), (1, t, self.d))
        x = x + self.out(mixed)
        gate, up = nn.op.split(self.gate_up(self.norms[1](x)), 2, axis=-1)
        return x + self.down(nn.op.silu(gate) * up)


def exported(model: Any, **inputs: Any) -> Any:
    """The module of Relax for a model with these inputs."""
    module, _ = model.export_tvm(spec={"forward": inputs})
    return module


def llama(dtype: str = "float32", d: int = 64) -> Any:
    spec = {"x": nn.spec.Tensor([1, 4, d], dtype), "mask": nn.spec.Tensor([1, 1, 4, 4], dtype)}
    return exported(Llama(d, dtype=dtype), **spec)


def legal(build: Callable[[relax.BlockBuilder], Any], **shapes: tuple[tuple[int, ...], str]) -> Any:
    """A module of Relax with one function; ``build`` emits its operators."""
    builder = relax.BlockBuilder()
    params = {name: relax.Var(name, relax.TensorType(shape, dtype)) for name, (shape, dtype) in shapes.items()}
    with builder.function("main", list(params.values())):
        with builder.dataflow():
            out = builder.emit_output(build(builder, **params))
        builder.emit_func_output(out)
    return builder.get()


def int8_dense() -> Any:
    def build(builder: Any, x: Any, w: Any) -> Any:
        product = builder.emit(relax.op.matmul(x, relax.op.permute_dims(w), out_dtype="int32"))
        wide = builder.emit(relax.op.astype(product, "float32"))
        scaled = builder.emit(relax.op.multiply(wide, relax.const(np.float32(0.03125))))
        return builder.emit(relax.op.astype(relax.op.clip(relax.op.round(scaled), -128, 127), "int8"))

    return legal(build, x=((4, 16), "int8"), w=((8, 16), "int8"))


def gather() -> Any:
    def build(builder: Any, x: Any, i: Any) -> Any:
        return builder.emit(relax.op.nn.softmax(relax.op.take(x, i, axis=0, mode="clip"), axis=-1))

    return legal(build, x=((10, 8), "float32"), i=((4,), "int32"))


# ------------------------------------------------------------------------------------------------------ kernels


def matmul(n: int, dtype: str = "float32") -> Any:
    a, b = (te.placeholder((n, n), dtype, name) for name in "AB")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, c]).with_attr("global_symbol", "main")})


def gemv(n: int) -> Any:
    a, x = te.placeholder((n, n), "float32", "A"), te.placeholder((n,), "float32", "x")
    k = te.reduce_axis((0, n), "k")
    y = te.compute((n,), lambda i: te.sum(a[i, k] * x[k], axis=k), "y")
    return tvm.IRModule({"main": te.create_prim_func([a, x, y]).with_attr("global_symbol", "main")})


def softmax(rows: int, n: int) -> Any:
    from tvm import topi

    x = te.placeholder((rows, n), "float32", "x")
    return tvm.IRModule({"main": te.create_prim_func([x, topi.nn.softmax(x)]).with_attr("global_symbol", "main")})


def on_gpu(mod: Any) -> None:
    """dlight's schedule, and TVM's passes for a GPU, until there is no device."""
    gpu = dlight.gpu
    rules = [gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction(), gpu.Transpose(), gpu.Fallback()]
    with GPU:
        scheduled = dlight.ApplyDefaultSchedule(*rules)(mod)
        with contextlib.suppress(Exception):  # no code generator, or no device
            tvm.compile(scheduled, target=GPU)


def model_on_gpu(mod: Any) -> None:
    """A module of Relax by its default pipeline for a GPU, which has dlight in it."""
    with GPU, contextlib.suppress(Exception):
        relax.build(mod, target=GPU, relax_pipeline=relax.get_default_pipeline(GPU))


def on_cpu(mod: Any) -> None:
    relax.build(mod, target=CPU)


def kernel_on_cpu(mod: Any) -> None:
    tvm.compile(mod, target=CPU)


BUILDS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], None]]]] = {
    "mlp": (lambda: exported(Mlp(), x=nn.spec.Tensor([2, 16], "float32")), on_cpu),
    "cnn": (lambda: exported(Cnn(), x=nn.spec.Tensor([1, 3, 8, 8], "float32")), on_cpu),
    "llama": (llama, on_cpu),
    "llama bf16": (lambda: llama("bfloat16", 32), on_cpu),
    "int8 dense": (int8_dense, on_cpu),
    "gather": (gather, on_cpu),
    "matmul64": (lambda: matmul(64), kernel_on_cpu),
    "matmul16 gpu": (lambda: matmul(16), on_gpu),
    "gemv gpu": (lambda: gemv(64), on_gpu),
    "softmax gpu": (lambda: softmax(4, 64), on_gpu),
    "llama gpu": (lambda: llama(d=64), model_on_gpu),
    "cnn gpu": (lambda: exported(Cnn(), x=nn.spec.Tensor([1, 3, 8, 8], "float32")), model_on_gpu),
}


# ---------------------------------------------------------------------------------------------------- measuring

_EQUAL: Final = (
    "equal",
    "equal at sizes",
    "equal over the reals",
    "equal up to excess precision",
    "equal in part",
    "vacuous",
)


def unread(report: StepReport) -> bool:
    return "not read" in report.text or "cannot print" in report.text


def watched(name: str, options: argparse.Namespace) -> tuple[list[StepReport], float, float, float]:
    """The reports of a build, the seconds that it takes alone, those that the validator adds, and the processor's."""
    make, build = BUILDS[name]
    start = time.perf_counter()
    build(make())
    alone = time.perf_counter() - start
    instrument = ValidatingInstrument(
        on_different="collect", limits=Limits(seconds=options.seconds, excess_precision=options.excess_precision),
        show_table=False, jobs=options.jobs,
        total_seconds=options.total,
    )  # fmt: skip
    start, processor = time.perf_counter(), time.process_time()
    with tvm.transform.PassContext(instruments=[instrument]):
        build(make())
    return instrument.reports, alone, time.perf_counter() - start - alone, time.process_time() - processor


def line(name: str, reports: Iterable[StepReport], alone: float, added: float, processor: float) -> str:
    reports = list(reports)
    counts = Counter(r.status for r in reports)
    blind = sum(unread(r) for r in reports)
    equal, different = sum(counts[s] for s in _EQUAL), counts["different"]
    none = counts["not validated"]
    unknown = sum(counts[s] for s in ("unknown", "races unknown", "unsupported", "failed")) - blind
    judged = equal + different + unknown + blind
    counted = "".join(f" {n:6}" for n in (judged, equal, different, unknown, blind, none))
    return f"{name:14}{counted}" + "".join(f" {n:7.1f}" for n in (alone, added, processor))


HEAD: Final = "build          judged  equal differ unknwn unread not-vd   alone   added     cpu"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(BUILDS), metavar="BUILD", choices=list(BUILDS))
    parser.add_argument("--seconds", type=float, default=20.0, help="for one comparison")
    parser.add_argument("--total", type=float, help="for all comparisons of a build")
    parser.add_argument("--jobs", type=int, default=0, help="other processes that compare")
    parser.add_argument("--excess-precision", action="store_true", help="bfloat16 may be computed in float32")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--json", type=Path, help="write all reports to this folder, one file a build")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(HEAD, flush=True)
    for name in options.only:
        with contextlib.redirect_stderr(io.StringIO()):
            reports, *seconds = watched(name, options)
        print(line(name, reports, *seconds), flush=True)
        if options.reasons:
            told = Counter(
                f"{r.status}: {r.text[:150]}  [{r.step}]" for r in reports
                if r.status not in (*_EQUAL[:4], "unchanged", "composed", "not validated")
            )  # fmt: skip
            for text, count in told.most_common():
                print(f"    {count:4} {text}", flush=True)
        if options.json:
            from verified_tir.interop.tvm import to_json

            options.json.mkdir(parents=True, exist_ok=True)
            (options.json / f"{name.replace(' ', '_')}.json").write_text(to_json(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main())
