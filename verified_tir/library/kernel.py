"""What a kernel of the library is, and what its functions have in common.

A kernel is written in three parts, each of which can be read by itself:

1. a *program*: the plainest loops, with the shapes and types as numbers (``T.prim_func`` takes them from the function
   around it);
2. a *strategy*: a function that takes a :class:`~verified_tir.schedule.schedule.Schedule` and applies primitives, best
   through smaller functions whose names say what they do (``pack_panels``, ``keep_sums_in_registers``);
3. a *function of the library*, which checks arrays, picks the kernel for their shapes, and calls it.

::

    @specialised
    def relu_kernel(size: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
        @T.prim_func
        def relu(A: T.Buffer((size,), dtype), B: T.Buffer((size,), dtype)):
            for i in range(size):
                B[i] = T.max(A[i], T.cast(0, dtype))

        return Kernel(relu, partial(in_vectors, lanes=lanes_of(target, dtype)), target=target)

    @calls(relu_kernel)  # which is relu.kernel, for those who want the program, the schedule, the theorem or the code
    def relu(a, *, out=None, threads=None):
        array = operand("relu", "a", a, rank=1)
        kernel = relu_kernel(array.size, array.dtype.name, target=machine(threads))
        result = destination("relu", out, array.shape, array.dtype, (array,))
        kernel(array, result)
        return result

``Kernel(…)`` proves the schedule at once: a kernel that exists is proved.  It is compiled when it is first called.
:func:`specialised` keeps the kernels of a process; obligations and object code are kept on disk, as for any schedule.

A strategy is given numbers, not a machine: :func:`lanes_of` and ``Target.vector_bits`` say how wide vectors are, so
that nothing is written for one processor.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, final

import numpy as np

from verified_tir.codegen.aligned_arrays import aligned_empty
from verified_tir.codegen.build import build
from verified_tir.codegen.target import Target
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script.dtypes import dtype_named
from verified_tir.lower.passes import Pipeline
from verified_tir.lower.vectorize_loop import VECTORS
from verified_tir.schedule.schedule import Schedule

if TYPE_CHECKING:
    from verified_tir.codegen.runtime import Function
    from verified_tir.kernel.theorem import Refines

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
Array = np.ndarray[Any, Any]
Strategy = Callable[[Schedule], object]

MOST = 2**31 - 1
"""The greatest extent of an axis, and the greatest number among attributes; indices of programs are int32."""

KEPT = 1024
"""Kernels of one kind that a process keeps, at the most."""

_ONE_AT_A_TIME = RLock()
"""Held while something is proved or compiled: a solver is not for several threads at once."""


def _new_lock() -> None:
    global _ONE_AT_A_TIME  # noqa: PLW0603 (the thread that holds the old one may not exist in the child)
    _ONE_AT_A_TIME = RLock()


os.register_at_fork(after_in_child=_new_lock)


@final
class Kernel:
    """A program, the schedule that was proved of it, and machine code.  It does not change.

    :param program: the plainest loops.
    :param strategy: applies the schedule's steps; it is called once, here.
    :param lowering: passes that are run before code is generated, each proved.
    :param target: the machine; this one, with all the threads that the process may use, unless given.
    :raises ScheduleError: if a step is refused.
    """

    __slots__ = ("_function", "lowering", "name", "program", "schedule", "strategy", "target")

    name: str
    program: PrimFunc
    strategy: Strategy
    schedule: Schedule
    lowering: Pipeline
    target: Target
    _function: Function | None

    def __init__(
        self, program: PrimFunc, strategy: Strategy, *, lowering: Pipeline = VECTORS, target: Target | None = None
    ) -> None:
        with _ONE_AT_A_TIME:
            schedule = Schedule(program)
            strategy(schedule)
        fields = (None, lowering, program.name, program, schedule, strategy, target or Target.host())
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Kernel does not change: {name} cannot be set")

    @property
    def theorem(self) -> Refines:
        """What was proved: the program is refined by ``schedule.func``."""
        return self.schedule.theorem

    @property
    def function(self) -> Function:
        """The compiled function, which takes the program's parameters and writes results in place."""
        found = self._function
        if found is None:
            with _ONE_AT_A_TIME:
                found = self._function or build(self.schedule, self.target, pipeline=self.lowering)
                object.__setattr__(self, "_function", found)
        return found

    def __call__(self, *arguments: object) -> None:
        """Call the compiled function."""
        self.function(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {len(self.schedule.steps) - 1} steps, for {self.target}>"


def specialised(make: Callable[P, Kernel]) -> Callable[P, Kernel]:
    """Decorator: a function that makes a kernel for shapes and types makes each once.  Threads may call it at once."""
    kept = functools.lru_cache(maxsize=KEPT, typed=True)(make)  # typed: 4.0 is not 4

    @functools.wraps(make)
    def kernel(*args: P.args, **named: P.kwargs) -> Kernel:
        with _ONE_AT_A_TIME:
            return kept(*args, **named)  # type: ignore[arg-type]

    return kernel


class WithKernel(Protocol[P, Q, R_co]):
    """A function of the library, and the function that makes its kernels."""

    @property
    def kernel(self) -> Callable[Q, Kernel]:
        """The kernel for some shapes and types."""
        ...

    def __call__(self, *args: P.args, **named: P.kwargs) -> R_co: ...


def calls(kernel: Callable[Q, Kernel]) -> Callable[[Callable[P, R_co]], WithKernel[P, Q, R_co]]:
    """Decorator: a function of the library has the function that makes its kernels as ``kernel``."""

    def decorate(function: Callable[P, R_co]) -> WithKernel[P, Q, R_co]:
        function.kernel = kernel  # type: ignore[attr-defined]
        return cast("WithKernel[P, Q, R_co]", function)

    return decorate


def machine(threads: int | None = None) -> Target:
    """This machine with a number of threads; all that the process may use unless given.

    :raises TypeError: for something else than a whole number.
    :raises ValueError: for fewer than one, or more than any machine has.
    """
    return _whole_machine() if threads is None else Target.host(threads)


@functools.cache
def _whole_machine() -> Target:
    return Target.host()


def lanes_of(target: Target | None, dtype: str) -> int:
    """How many elements of a type are in one vector of a machine; of this one if none is given."""
    return (target or machine()).vector_bits // dtype_named(dtype).bits


# -- numbers and names -------------------------------------------------------------------------------------------------


def whole(value: object, least: int = 0) -> int | None:
    """A whole number of Python or numpy from ``least`` to :data:`MOST`, as one of Python; ``None`` if it is none."""
    return int(value) if isinstance(value, (int, np.integer)) and least <= value <= MOST else None


def extents(function: str, names: str, *values: object, least: int = 0) -> list[int]:
    """The sizes of a kernel.

    :param names: what they are, for messages.
    :raises ValueError: if they are something else, too small, or too large.
    """
    found = [whole(value, least) for value in values]
    if None in found:
        raise ValueError(f"{function}: {names} are numbers from {least} to {MOST}, not {_listed(values)}")
    return [n for n in found if n is not None]


def _listed(values: Sequence[object]) -> str:
    return ", ".join(str(n) if isinstance(n, np.integer) else repr(n) for n in values)


def is_one_of(value: object, names: Collection[str | None]) -> bool:
    """Whether a value is one of names, or ``None`` where this is one; others need not have a hash."""
    return (value is None or isinstance(value, str)) and value in names


# -- arrays ------------------------------------------------------------------------------------------------------------


def operand(
    function: str, name: str, value: object, *, rank: int | None = None, dtypes: Sequence[str] | None = None
) -> Array:
    """An operand as a contiguous and aligned array: as it is, or a copy if its elements do not lie so in memory.

    :param function: the function that was called, for messages.
    :param dtypes: the types that are taken, by name; all unless given.
    :raises TypeError: if it is not an array of numpy, has a mask, or is of another type or byte order.
    :raises ValueError: if it has another rank.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{function}: {name} is a {type(value).__name__}, not an array of numpy; try numpy.asarray")
    _without_mask(function, name, value)
    if not value.dtype.isnative:
        raise TypeError(f"{function}: the numbers of {name} are in the byte order of another machine; try a.astype")
    if dtypes is not None and value.dtype.name not in dtypes:
        raise TypeError(f"{function}: {name} is an array of {value.dtype.name}; {', '.join(dtypes)} are taken")
    if rank is not None and value.ndim != rank:
        raise ValueError(f"{function}: {name} has {rank} dimensions; an array of shape {value.shape} was given")
    aligned = value if value.flags.aligned else value.copy()
    return np.ascontiguousarray(aligned) if value.ndim else aligned  # numpy would give a single number a dimension


def _without_mask(function: str, name: str, array: Array) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{function}: {name} is a masked array, and masks have no meaning here; try filled() or data")


def destination(
    function: str, out: object, shape: tuple[int, ...], dtype: np.dtype[Any], operands: Sequence[Array]
) -> Array:
    """The array that a result is written to: ``out`` if it is given, or a new one.

    :raises TypeError: if ``out`` is not an array, has a mask, or is of another type.
    :raises ValueError: if it has another shape, is not contiguous and aligned, is read-only, or shares memory with an
        operand.
    """
    if out is None:
        return aligned_empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{function}: out is a {type(out).__name__}, not an array of numpy")
    _without_mask(function, "out", out)
    if out.dtype != dtype:
        raise TypeError(f"{function}: out is an array of {out.dtype.name}; the result is one of {dtype.name}")
    if out.shape != shape:
        raise ValueError(f"{function}: out has shape {out.shape}; the result has shape {shape}")
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise ValueError(
            f"{function}: out is not contiguous, not aligned, or cannot be written; leave it out, and copy the result"
        )
    if any(np.may_share_memory(out, x) for x in operands):
        raise ValueError(f"{function}: out shares memory with an operand; leave it out, and copy the result")
    return out
