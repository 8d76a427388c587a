"""Other ways to compute what a kernel computes, each by what its users would write.

A peer is a function of a :class:`Problem` that prepares everything and gives the call.  It runs with as many threads as
ours.  Here is how each library is called; :mod:`verified_tir.bench.kernels` says with what, for each kernel.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from verified_tir.activity import Level, announce
from verified_tir.bench.cases import Array, Call, Entry, failure

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

NAMES: Final = ("numpy", "torch", "onnxruntime", "tvm", "halide", "numba")


class Absent(Exception):
    """A peer that cannot take part; the message says why."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be computed.

    :ivar sizes: by the names of the kernel's dimensions.
    :ivar schedule: ours, for those that compile the same program.
    :ivar out: of the shape and type of the result.
    """

    kernel: str
    sizes: Mapping[str, int]
    dtype: str
    threads: int
    operands: tuple[Array, ...]
    out: Array
    schedule: Schedule | None = None


Peer = Callable[[Problem], Entry]


def take_part(name: str, make: Callable[[], Entry], found: dict[str, Entry], absent: dict[str, str]) -> None:
    """Prepare a peer, or say why that is not possible."""
    announce(Level.STEP, f"preparing {name}")
    try:
        found[name] = make()
    except Absent as why:
        absent[name] = str(why)
    except Exception as problem:  # whatever it raises, it is its own
        absent[name] = failure(problem)


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Inside the block numpy's BLAS and OpenMP, and everything that is imported from now on, use so many threads."""
    from threadpoolctl import threadpool_limits

    before = dict(os.environ)
    os.environ.update({f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "HL", "TVM", "NUMBA")})
    try:
        with threadpool_limits(threads):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def imported(name: str) -> Any:
    """A module that need not be there.

    :raises Absent: if it is not.
    """
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        why = "not installed" if isinstance(problem, ModuleNotFoundError) and problem.name == name else str(problem)
        raise Absent(why) from None


def into(array: Array, run: Callable[[], object]) -> Call:
    """A call that gives the array which ``run`` fills."""
    results = (array,)

    def call() -> tuple[Array]:
        run()
        return results

    return call


# -- numpy and torch ---------------------------------------------------------------------------------------------------


def numpy_(what: str, function: Callable[..., Any], *, written: bool = False) -> Peer:
    """A function of the operands, and ``out`` if that is ``written``."""

    def peer(p: Problem) -> Entry:
        if written:
            out = np.empty_like(p.out)
            return Entry(into(out, lambda: function(*p.operands, out=out)), what)
        return Entry(lambda: (function(*p.operands),), what)

    return peer


def torch_(what: str, function: Callable[..., Any], *, written: bool = False) -> Peer:
    """A function of torch, the operands as tensors, and ``out`` if that is ``written``."""

    def peer(p: Problem) -> Entry:
        torch = imported("torch")
        torch.set_num_threads(p.threads)
        operands = [torch.from_numpy(a) for a in p.operands]
        if written:
            out = torch.from_numpy(np.empty_like(p.out))
            return Entry(into(out.numpy(), lambda: function(torch, *operands, out=out)), what)
        return Entry(lambda: (function(torch, *operands).numpy(),), what)

    return peer


# -- onnxruntime -------------------------------------------------------------------------------------------------------


def onnx_(operator: str, **attributes: Any) -> Peer:
    """A model of one node."""

    def peer(p: Problem) -> Entry:
        onnx = imported("onnx")
        names = [f"x{k}" for k in range(len(p.operands))]
        node = onnx.helper.make_node(operator, names, ["y"], **attributes)
        kind = onnx.helper.np_dtype_to_tensor_dtype
        inputs = [
            onnx.helper.make_tensor_value_info(n, kind(a.dtype), a.shape)
            for n, a in zip(names, p.operands, strict=True)
        ]
        output = onnx.helper.make_tensor_value_info("y", kind(p.out.dtype), p.out.shape)
        graph = onnx.helper.make_graph([node], "g", inputs, [output])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        run = session(model.SerializeToString(), p.threads).run
        feed = dict(zip(names, p.operands, strict=True))
        return Entry(lambda: run(None, feed), f"a model with one {operator}")

    return peer


def session(model: bytes, threads: int) -> Any:
    """A session of onnxruntime, with all that it optimises."""
    runtime = imported("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


# -- compilers ---------------------------------------------------------------------------------------------------------


def tvm_(p: Problem) -> Entry:
    """Our scheduled program, compiled by TVM."""
    if p.schedule is None:
        raise Absent("there is no program to compile")
    return tvm_entry(p.schedule, [*p.operands, np.empty_like(p.out)], [len(p.operands)])


def tvm_entry(schedule: Schedule, arguments: list[Any], results: list[int]) -> Entry:
    """A scheduled program, compiled by TVM; arguments and results are those of its parameters."""
    imported("tvm")
    from verified_tir.codegen.target import Target

    compiled = imported("verified_tir.interop.tvm.machine_code").compiled
    call = compiled(schedule.func, Target.host(1).cpu, arguments, results)
    return Entry(call, "our scheduled program, compiled by TVM")


def halide_(algorithm: Callable[..., Any]) -> Peer:
    """An algorithm, scheduled by Halide's own scheduler (Adams 2019): a function of ``halide``, the operands as images
    with dimensions in Halide's order (the last axis first), and the sizes."""

    def peer(p: Problem) -> Entry:
        hl = imported("halide")
        if p.out.dtype != np.float32:
            raise Absent("only float32 is compared")
        library = os.path.join(os.path.dirname(hl.__file__), "lib64", "libautoschedule_adams2019.so")
        if not os.path.exists(library):
            raise Absent("its scheduler Adams2019 is not installed")
        hl.load_plugin(library)
        images = [hl.ImageParam(hl.Float(32), a.ndim, f"x{k}") for k, a in enumerate(p.operands)]
        for image, array in zip(images, p.operands, strict=True):
            for k, n in enumerate(reversed(array.shape)):
                image.dim(k).set_bounds(0, n)
                image.dim(k).set_estimate(0, n)
        result = algorithm(hl, *images, p.sizes)
        result.set_estimates([(0, n) for n in reversed(p.out.shape)])
        pipeline, target = hl.Pipeline(result), hl.get_jit_target_from_environment()
        chosen = hl.AutoschedulerParams("Adams2019", {"parallelism": str(p.threads)})
        pipeline.apply_autoscheduler(target, chosen)
        for image, array in zip(images, p.operands, strict=True):
            image.set(hl.Buffer(array))
        out = np.empty_like(p.out)
        seen = hl.Buffer(out)
        pipeline.compile_jit(target)
        return Entry(into(out, lambda: pipeline.realize(seen)), "its own schedule (Adams 2019)")

    return peer


def numba_(loops: str) -> Peer:
    """Loops as numba compiles them: the text of a function ``loops(operands…, out)``."""

    def peer(p: Problem) -> Entry:
        numba = imported("numba")
        space: dict[str, Any] = {"np": np, "prange": numba.prange}
        exec(loops, space)  # our own texts, above and below: numba takes functions, and is imported only now
        numba.set_num_threads(p.threads)
        run = numba.njit(parallel=p.threads > 1, fastmath=True)(space["loops"])
        out = np.empty_like(p.out)
        run(*p.operands, out)
        return Entry(into(out, lambda: run(*p.operands, out)), "plain loops, fastmath")

    return peer
