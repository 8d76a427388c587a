"""Functions of single elements, on arrays of any shape.

The program is one loop over all elements; its theorem says that results have its bits, whatever the machine.
"""

from __future__ import annotations

from typing import Final

from verified_tir.codegen.target import Target
from verified_tir.ir.script import parse_func
from verified_tir.library.kernel import Array, Kernel, calls, destination, is_one_of, lanes_of, operand, specialised
from verified_tir.library.vectors import MOST_GROUPS, VECTORS_AND_REST, machine_for
from verified_tir.schedule.schedule import Schedule

FUNCTIONS: Final = {
    "relu": "T.max(T.{dtype}(0), A[i])",  # in this order NaN stays
    **{
        name: f"T.{name}(A[i])"
        for name in (
            "abs", "atan", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor", "log", "log10", "log1p", "log2",
            "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
}  # fmt: skip
"""The functions, by name, each an expression of the element ``A[i]``."""

FLOATS: Final = ("float16", "float32", "float64")
"""The types that these functions take."""


def in_parallel_vectors(s: Schedule, lanes: int) -> None:
    """Several vectors at once, on threads."""
    several, lane = s.split("i", [None, lanes * MOST_GROUPS])
    s.vectorize(lane)
    s.parallel(several)


def _known(function: str) -> None:
    if not is_one_of(function, FUNCTIONS):
        raise ValueError(f"there is no function {function!r} of elements; there are {', '.join(sorted(FUNCTIONS))}")


@specialised
def elementwise_kernel(function: str, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """A function of each element of an array of any size.

    :raises ValueError: if there is no such function.
    """
    _known(function)
    program = parse_func(f"""
@T.prim_func
def {function}(A: T.Buffer(("size",), "{dtype}"), B: T.Buffer(("size",), "{dtype}")):
    for i in range(size):
        B[i] = {FUNCTIONS[function].format(dtype=dtype)}
""")
    lanes = lanes_of(target, dtype)
    return Kernel(program, lambda s: in_parallel_vectors(s, lanes), lowering=VECTORS_AND_REST, target=target)


@calls(elementwise_kernel)
def elementwise(function: str, a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """A function of each element.

    :param function: its name, ``"relu"``, ``"exp"``, ``"tanh"``, …; an unknown one is refused with the list of all.
    :param a: an array of float16, float32 or float64.
    :param out: where the result is written; a new array unless given.
    :param threads: how many threads work on it; all that the process may use unless given.
    :raises ValueError: if there is no such function.
    """
    _known(function)
    array = operand(function, "a", a, dtypes=FLOATS)
    result = destination(function, out, array.shape, array.dtype, (array,))
    target = machine_for(array, threads)
    elementwise_kernel(function, array.dtype.name, target=target)(array.reshape(-1), result.reshape(-1))
    return result


def relu_kernel(dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """The kernel of ``max(0, a)``, for arrays of any size."""
    return elementwise_kernel("relu", dtype, target=target)


@calls(relu_kernel)
def relu(a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """``max(0, a)`` of each element; NaN and -0.0 stay as they are."""
    return elementwise("relu", a, out=out, threads=threads)
