"""Arguments as numpy arrays that share their memory.

Accepted are numpy arrays and whatever offers the buffer protocol or ``__dlpack__`` (on the CPU).  Nothing is ever
copied, since results are written in place.

What the memory is (address, extents, strides, type, access) is never read off attributes, which a class in Python may
define as it likes: an array of a subclass is taken as the plain array that it is, and an object that only has an
``__array_interface__``, which is an address in a dictionary, is refused.  Each argument becomes an array object of its
own, so code that runs while later arguments are looked at (their ``__index__``, say) cannot change its form.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


def as_array(name: str, value: object) -> Array:
    """The argument ``value`` of parameter ``name`` as an array over the same memory.

    :raises TypeError: if it is nothing that holds an array.
    :raises BufferError: if it holds one that cannot be reached from here (another device, a type without a name).
    """
    if issubclass(type(value), np.ndarray):  # isinstance would believe a __class__
        plain: Array = np.ndarray.view(value, np.ndarray)  # type: ignore[call-overload]
        return plain
    if isinstance(value, np.generic):
        raise TypeError(f"{name} is an array; a numpy scalar, {value!r}, was given, which is a copy of an element")
    try:
        view = memoryview(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        view = None
    if view is not None:
        try:
            return np.array(view, copy=False)
        except (TypeError, ValueError) as problem:
            raise BufferError(
                f"{name}: numpy cannot read the buffer of the {_kind(value)} given: {problem}"
            ) from problem
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value)
    if hasattr(value, "__array_interface__"):
        raise TypeError(
            f"{name} is an array; {_kind(value)} was given, which has no buffer, only an __array_interface__: "
            "an address that nothing vouches for (numpy.asarray makes an array of it, at your word)"
        )
    raise TypeError(
        f"{name} is an array; {_kind(value)} was given, which has no buffer (numpy.asarray makes an array of it, "
        "whose memory is its own)"
    )


def _from_dlpack(name: str, value: Any) -> Array:
    device = getattr(value, "__dlpack_device__", None)
    where = device() if device is not None else (1, 0)
    if int(where[0]) != 1:
        raise BufferError(
            f"{name} lies on device {tuple(map(int, where))} of DLPack; copy it to the CPU, device (1, 0)"
        )
    try:
        capsule = _exported(value)
        array = np.from_dlpack(_Exporter(capsule, where))
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise BufferError(f"{name}: numpy cannot import the {_kind(value)} given by DLPack: {problem}") from problem
    return np.asarray(_Writable(array)) if _is_legacy(capsule) else array


def _exported(value: Any) -> object:
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:  # an exporter from before version 1
        return value.__dlpack__()


_IS_CAPSULE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def _is_legacy(capsule: object) -> bool:
    """Whether a capsule that was imported is of a version before 1, which cannot say that memory is read-only."""
    return bool(_IS_CAPSULE(capsule, b"used_dltensor"))


class _Exporter:
    """Hands a capsule on to numpy."""

    def __init__(self, capsule: object, device: tuple[int, int]) -> None:
        self.capsule = capsule
        self.device = device

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class _Writable:
    """An array's memory without its read-only flag, which numpy sets for capsules that cannot carry one.

    What is read-only may not be exported in such a capsule.
    """

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        found = dict(self.array.__array_interface__)
        found["data"] = (found["data"][0], False)
        return found


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
