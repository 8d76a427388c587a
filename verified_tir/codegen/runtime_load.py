"""Object code into this process, and a compiled entry as a Python function.

One ORC session serves the whole process; each function's object code is a library of its own in it, unloaded when the
last reference to it goes.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, final

import llvmlite.binding as llvm

from verified_tir.codegen.entry_table import API, OBJECTS
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.pool import NAME, pool
from verified_tir.codegen.target import initialize

METH_FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002
_EXPORTED = ("vtir_entry", "vtir_call", "vtir_control", "vtir_api")
_numbers = itertools.count(1)

_CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)  # releases the interpreter's lock
_CONTROL = ctypes.PYFUNCTYPE(ctypes.c_uint32)
_NEW_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


class _MethodDef(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _session() -> Any:
    if sys.implementation.name != "cpython":
        raise CodegenError(f"compiled functions are called through CPython's C interface; this is {sys.version}")
    initialize()
    return llvm.create_lljit_compiler(use_jit_link=True)


@cache
def _api_addresses() -> tuple[int, ...]:
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in API]
    assert all(addresses)
    return tuple(a for a in addresses if a is not None)


@final
class LoadedCode:
    """A function's machine code in memory.

    ``kernel`` runs it on an array of 64-bit words, without the interpreter's lock, and gives its status; ``control``
    reads the floating-point control register.  Both are good as long as this object is.

    :param object_code: an object file that defines ``vtir_entry``, ``vtir_call``, ``vtir_control`` and ``vtir_api``.
    :raises CodegenError: if it cannot be linked.
    """

    def __init__(self, object_code: bytes) -> None:
        library = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
        for name in _EXPORTED:
            library.export_symbol(name)
        if NAME.encode() in object_code:
            library.import_symbol(NAME, pool().address)
        try:
            self._library = library.link(_session(), f"vtir{next(_numbers)}")
        except RuntimeError as problem:
            raise CodegenError(f"the object code could not be linked: {problem}") from problem
        self.kernel: Callable[[Any], int] = _CALL(self._library["vtir_call"])
        self.control: Callable[[], int] = _CONTROL(self._library["vtir_control"])
        self._held: tuple[object, ...] = ()

    def entry(
        self, name: str, signature: str, slow: Callable[..., None], failed: Callable[[int], None]
    ) -> Callable[..., None]:
        """The entry as a built-in function, which holds this object.  To be called once.

        :param slow: called with what the entry does not accept.  It must not hold this object, which holds it.
        :param failed: called with the kernel's status if that is not zero.
        """
        table = (ctypes.c_void_p * (len(API) + len(OBJECTS))).from_address(self._library["vtir_api"])
        objects = (None, True, False, int, float, slow, failed)
        table[:] = [*_api_addresses(), *map(id, objects), None]
        definition = _MethodDef(
            name.encode(),
            self._library["vtir_entry"],
            METH_FASTCALL_WITH_KEYWORDS,
            f"{name}{signature}\n--\n\n".encode(),
        )
        self._held = (definition, slow, failed)
        new = _NEW_FUNCTION(("PyCFunction_NewEx", ctypes.pythonapi))
        made: Callable[..., None] = new(ctypes.addressof(definition), self, None)
        return made

    def set_checking(self, wanted: bool) -> None:
        """Whether every call goes the slow way, with the checks that only Python can do."""
        place = self._library["vtir_api"] + 8 * (len(API) + OBJECTS.index("checking"))
        ctypes.c_void_p.from_address(place).value = int(wanted) or None


__all__ = ["LoadedCode"]
