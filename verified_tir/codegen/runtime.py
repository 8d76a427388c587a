"""``Function``: compiled code that is called with arrays.

Calling one leads straight into the compiled entry.  What that does not accept comes back to the check in Python, which
raises an exception that names the parameter, or runs the kernel after all.
"""

from __future__ import annotations

import ctypes
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from verified_tir.codegen.entry_check import check, ordered
from verified_tir.codegen.entry_control import ControlRegister, register_of
from verified_tir.codegen.entry_objects import Array, as_array
from verified_tir.codegen.entry_plan import EntryPlan, described
from verified_tir.codegen.runtime_assumptions import AssumptionCheck, assumptions
from verified_tir.codegen.runtime_layout import Layouts
from verified_tir.ir.script.names import Names

if TYPE_CHECKING:
    from verified_tir.codegen.runtime_load import LoadedCode
    from verified_tir.codegen.target import Target
    from verified_tir.ir.func import PrimFunc
    from verified_tir.kernel.theorem import Refines


class Texts(Protocol):
    """Where the texts of a function come from; they are made when first asked for."""

    @property
    def llvm_ir(self) -> str:
        """The kernel in LLVM IR."""
        ...

    @property
    def optimised_ir(self) -> str:
        """The kernel and its entry in LLVM IR, after LLVM's optimisations."""
        ...

    @property
    def asm(self) -> str:
        """The machine code as assembly."""
        ...


class Function:
    """A compiled function.  Made by :func:`build`; called with arrays and numbers, it writes its results in place.

    Arguments are numbers and numpy arrays, or objects with the buffer protocol or DLPack (on the CPU).  They are
    checked at each call; a wrong one is a ``TypeError``, ``ValueError``, ``OverflowError`` or ``BufferError`` that
    names the parameter.  A failed assertion of the program is an ``AssertionError``; memory that could not be had is a
    ``MemoryError``; a floating-point control register that would change results is a ``FloatingPointError``.
    """

    __slots__ = ("_theorem", "_target", "_plan", "_texts", "_code", "_guard")  # noqa: RUF023 (in the order of function())
    __call__: ClassVar[Callable[..., None]]
    __signature__: ClassVar[inspect.Signature]
    _theorem: Refines
    _target: Target
    _plan: EntryPlan
    _texts: Texts
    _code: LoadedCode
    _guard: _Guard

    def __init__(self) -> None:
        raise TypeError("a Function is made by build(theorem)")

    @property
    def theorem(self) -> Refines:
        """What was proved: the program as written is refined by :attr:`func`."""
        return self._theorem

    @property
    def func(self) -> PrimFunc:
        """The program that was compiled."""
        return self._theorem.after

    @property
    def target(self) -> Target:
        """The machine that it was compiled for."""
        return self._target

    @property
    def llvm_ir(self) -> str:
        """The kernel in LLVM IR, before LLVM's optimisations."""
        return self._texts.llvm_ir

    @property
    def optimised_ir(self) -> str:
        """The kernel and its entry in LLVM IR, after LLVM's optimisations: what machine code is made of."""
        return self._texts.optimised_ir

    @property
    def asm(self) -> str:
        """The machine code of the kernel and its entry as assembly."""
        return self._texts.asm

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted of the contents of arguments, as sentences: the caller's word."""
        return assumptions(self._theorem)

    @property
    def check_assumptions(self) -> bool:
        """Whether each call checks :attr:`assumptions` first (slowly), and raises ``ValueError`` if one is false."""
        return self._guard.contents is not None

    @check_assumptions.setter
    def check_assumptions(self, wanted: bool) -> None:
        self._guard.contents = AssumptionCheck(self._theorem, self._plan) if wanted else None
        self._code.set_checking(bool(wanted))

    def pack(self, name: str, array: Any, **sizes: int) -> Array:
        """A copy of ``array``, laid out as this function takes the parameter ``name``, padding included.

        :param sizes: shape symbols that the array does not show, by name.
        :raises ValueError: if there is no such parameter, or the array has not its shape.
        :raises TypeError: if a symbol is missing, or is not an integer.
        """
        return Layouts(self._theorem).pack(name, as_array(name, array), _integers(sizes))

    def unpack(self, name: str, array: Any, **sizes: int) -> Array:
        """A copy of ``array``, laid out as the program was written: what :meth:`pack` undoes.

        :raises ValueError: if there is no such parameter, or the array has not its shape.
        :raises TypeError: if a symbol is missing, or is not an integer.
        """
        return Layouts(self._theorem).unpack(name, as_array(name, array), _integers(sizes))

    def __repr__(self) -> str:
        return f"<compiled {self.func.name}({self._plan.text})>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a compiled function cannot be pickled, since its theorem cannot; build it again (code is cached)"
        )


def _integers(sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: operator.index(size) for name, size in sizes.items()}


class _Guard:
    """The way of a call through Python: the check, and the kernel if it passes."""

    def __init__(
        self, theorem: Refines, plan: EntryPlan, target: Target, code: LoadedCode, failed: Callable[[int], None]
    ) -> None:
        self.theorem = theorem
        self.plan = plan
        self.kernel = code.kernel  # not the code itself, which holds this object
        self.control = ControlRegister(register_of(target.triple), code.control)
        self.failed = failed
        self.contents: AssumptionCheck | None = None

    def __call__(self, *args: object, **named: object) -> None:
        arguments = check(self.plan, ordered(self.plan, args, named), self.control)
        if self.contents is not None:
            self.contents.check(arguments)
        words = arguments.slots(self.plan)
        status = self.kernel((ctypes.c_uint64 * max(1, len(words)))(*words))
        if status:
            self.failed(status)


class _Failures:
    """What a status of the kernel other than zero means."""

    def __init__(self, name: str, messages: tuple[str, ...]) -> None:
        self.name = name
        self.messages = messages

    def __call__(self, status: int) -> NoReturn:
        if status < 0:
            raise MemoryError(f"{self.name}: there is no memory for its local buffers")
        raise AssertionError(self.messages[status - 1])


def function(
    theorem: Refines, plan: EntryPlan, target: Target, code: LoadedCode, asserts: tuple[str, ...], texts: Texts
) -> Function:
    """Wrap loaded code.

    Each function has a class of its own, so that calling it is calling its entry, and ``help`` shows its parameters.

    :param asserts: messages of the program's assertions, by their numbers from 1.
    """
    name = plan.func.name
    failed = _Failures(name, asserts)
    guard = _Guard(theorem, plan, target, code, failed)
    signature = _signature(plan)
    members = {
        "__slots__": (),
        "__module__": Function.__module__,
        "__doc__": f"{name}({plan.text})\n\nCompiled for {target}.  Results are written in place.",
        "__call__": code.entry(name, f"({', '.join(signature.parameters)})", guard, failed),
        "__signature__": signature,
    }
    made: Function = object.__new__(type("Function", (Function,), members))
    values = (theorem, target, plan, texts, code, guard)
    for attribute, value in zip(Function.__slots__, values, strict=True):
        setattr(made, attribute, value)
    return made


def _signature(plan: EntryPlan) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = Names()  # those of the program need not be Python's
    parameters = [
        inspect.Parameter(names.reserve(names.unique(p.name)), kind, annotation=described(p)) for p in plan.parameters
    ]
    return inspect.Signature(parameters, return_annotation=None)
