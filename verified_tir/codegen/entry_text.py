"""The compiled entry: a function that Python calls, which checks its arguments and calls the kernel.

``vtir_entry`` has the C signature of ``METH_FASTCALL | METH_KEYWORDS``.  It asks each array for its buffer, checks the
conditions on the call (``entry_conditions``), and runs the kernel.  Whatever it does not accept it hands, arguments and
all, to the check in Python (``entry_check``), which raises, or knows better.  It may be stricter than that check and
never laxer.

``vtir_call`` runs the kernel on arguments in an array of 64-bit words; ``vtir_control`` reads the control register.
What they need of Python stands in the table ``vtir_api``, filled in when the code is loaded: object code holds no
addresses and refers to no symbol of Python's.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple, assert_never, final

from verified_tir.codegen import entry_conditions as must
from verified_tir.codegen.entry_control import Register, register_of
from verified_tir.codegen.entry_exprs import LIMIT, ExtentWriter, Inexpressible
from verified_tir.codegen.entry_plan import ArrayParameter, Binding, EntryPlan, ScalarParameter
from verified_tir.codegen.entry_table import (
    HEAD,
    api_register,
    call_text,
    control_text,
    kernel_types,
    slow_entry_text,
    table_text,
)  # fmt: skip
from verified_tir.codegen.llvm_types import REGISTER
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.kernel.begin import LARGEST

_VIEW = 80
_BUF, _LEN, _ITEMSIZE, _READONLY, _NDIM, _FORMAT, _SHAPE, _STRIDES, _SUBOFFSETS = 0, 16, 24, 32, 36, 40, 48, 56, 64
_RECORDS_RO, _WRITABLE = 0x1C, 0x1

_FORMATS = {
    ("int", 8): "b", ("int", 16): "h", ("int", 32): "il", ("int", 64): "lq",
    ("uint", 8): "B", ("uint", 16): "H", ("uint", 32): "IL", ("uint", 64): "LQ",
    ("float", 16): "e", ("float", 32): "f", ("float", 64): "d", ("bool", 1): "?",
}  # fmt: skip
"""Format characters of a type; two types of one character differ in item size."""


def entry_text(plan: EntryPlan, triple: str) -> str:
    """The three functions as LLVM IR, to stand in one module with the kernel.  They declare nothing.

    :raises CodegenError: if the processor's control register is not known.
    """
    register = register_of(triple)
    try:
        entry = _Entry(plan, register).text()
    except Inexpressible:
        entry = slow_entry_text()
    return "\n".join((table_text(), entry, call_text(plan), control_text(register)))


class _Described(NamedTuple):
    """What an array's exporter says: its address, extents and strides (in bytes), lanes included."""

    address: str
    shape: list[str]
    strides: list[str]


class _Placed(NamedTuple):
    """The address of an array's block, and where its elements begin and end."""

    block: str
    begin: str
    end: str


@final
class _Entry:
    """Writes ``vtir_entry``.

    A failed check branches to ``refuse<k>``, which releases the first k buffers and calls the check in Python.
    """

    def __init__(self, plan: EntryPlan, register: Register) -> None:
        self.plan = plan
        self.register = register
        self.lines: list[str] = [HEAD, "entry:"]
        self.values: dict[Var, str] = {}
        self.extents = ExtentWriter(self.lines, self.values)
        self.scalars: dict[Var, str] = {}
        self.described: dict[int, _Described] = {}
        self.placed: dict[int, _Placed] = {}
        self.held = 0
        self.labels = 0

    def let(self, text: str) -> str:
        return self.extents.let(text)

    def field(self, base: str, offset: int, type_: str) -> str:
        """Load a field of a C structure."""
        place = base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.let(f"load {type_}, ptr {place}")

    def element(self, array: str, index: int) -> str:
        place = array if index == 0 else self.let(f"getelementptr i64, ptr {array}, i64 {index}")
        return self.let(f"load i64, ptr {place}")

    def api(self, name: str) -> str:
        return api_register(self.lines, name)

    def check(self) -> None:
        """Go on if everything required so far holds; else give up."""
        condition = self.extents.all_required()
        if condition == "true":
            return
        self.labels += 1
        self.lines += [f"  br i1 {condition}, label %go{self.labels}, label %refuse{self.held}", f"go{self.labels}:"]

    # -- the whole --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        plan = self.plan
        arrays = plan.arrays
        for j in range(len(arrays)):
            self.lines.append(f"  %view{j} = alloca [{_VIEW} x i8], align 8")
        self.lines.append("  %number = alloca ptr")
        if any(isinstance(p, ScalarParameter) and p.var.dtype.is_int for p in plan.parameters):
            self.lines.append("  %overflow = alloca i32")
        self.preamble()
        for _, group in groupby(must.conditions(plan), type):
            for condition in group:
                self.condition(condition)
            self.check()
        self.run()
        self.refusals()
        return "\n".join([*self.lines, "}", ""])

    def condition(self, condition: must.Condition) -> None:
        """Require one of the conditions."""
        match condition:
            case must.UsualControl():
                self.control()
            case must.IsNumber(k, p):
                self.scalar(k, p)
            case must.IsArray(k, p):
                self.acquire(k, p)
            case must.HasValue(binding):
                self.bind(binding)
            case must.HasShape(k, p):
                for given, e in zip(self.described[k].shape, p.buffer.shape, strict=False):  # what follows are lanes
                    self.extents.require(self.let(f"icmp eq i64 {given}, {self.extents.value(e)}"))
            case must.IsCountable():
                self.countable(condition)
            case must.IsLaidOut(k, p):
                self.placed[k] = self.layout(self.described[k], p)
            case must.AreApart((j, k)):
                self.disjoint(self.placed[j], self.placed[k])
            case _:
                assert_never(condition)

    def preamble(self) -> None:
        """No keywords, the right number of arguments, no checks wanted that only Python can do."""
        require = self.extents.require
        require(self.let("icmp eq ptr %names, null"))
        require(self.let(f"icmp eq i64 %nargs, {len(self.plan.parameters)}"))
        require(self.let(f"icmp eq ptr {self.api('checking')}, null"))
        self.check()

    def control(self) -> None:
        self.lines += self.register.code.splitlines()
        masked = self.let(f"and i32 %control, {self.register.mask}")
        self.extents.require(self.let(f"icmp eq i32 {masked}, {self.register.usual}"))

    # -- scalars ----------------------------------------------------------------------------------------------------

    def argument(self, k: int) -> str:
        place = "%args" if k == 0 else self.let(f"getelementptr ptr, ptr %args, i64 {k}")
        return self.let(f"load ptr, ptr {place}")

    def scalar(self, k: int, parameter: ScalarParameter) -> None:
        """Exactly an ``int``, a ``float`` or a ``bool``; subclasses and numpy's scalars go the slow way."""
        given, dtype, require = self.argument(k), parameter.var.dtype, self.extents.require
        if dtype.is_bool:
            true = self.let(f"icmp eq ptr {given}, {self.api('True')}")
            false = self.let(f"icmp eq ptr {given}, {self.api('False')}")
            require(self.let(f"or i1 {true}, {false}"))
            self.scalars[parameter.var] = true
            self.check()
            return
        if dtype.is_float and dtype.bits < 32:
            raise Inexpressible  # LLVM would round by way of float32, or call a library
        kind = self.field(given, object.__basicsize__ - 8, "ptr")
        require(self.let(f"icmp eq ptr {kind}, {self.api('float' if dtype.is_float else 'int')}"))
        self.check()
        if dtype.is_float:
            double = self.let(f"call double {self.api('PyFloat_AsDouble')}(ptr {given})")
            single = dtype.bits == 32
            self.scalars[parameter.var] = self.let(f"fptrunc double {double} to float") if single else double
            return
        value = self.let(f"call i64 {self.api('PyLong_AsLongLongAndOverflow')}(ptr {given}, ptr %overflow)")
        flag = self.let("load i32, ptr %overflow")
        require(self.let(f"icmp eq i32 {flag}, 0"))
        self.bound(parameter.var, value, parameter.bounds)
        self.check()

    def bound(self, var: Var, value: str, bounds: tuple[int, int]) -> None:
        """A variable has a value of 64 bits with a sign, which must lie within bounds."""
        least, most = max(bounds[0], -(2**63)), min(bounds[1], 2**63 - 1)
        if (least, most) != (-(2**63), 2**63 - 1):
            self.extents.within(value, least, most)
        self.values[var] = value
        narrow = REGISTER[var.dtype]
        self.scalars[var] = value if narrow == "i64" else self.let(f"trunc i64 {value} to {narrow}")

    # -- arrays -----------------------------------------------------------------------------------------------------

    def acquire(self, k: int, parameter: ArrayParameter) -> None:
        """Ask for the buffer; compare rank, type and lanes."""
        j = self.held
        if (parameter.buffer.dtype.code, parameter.buffer.dtype.bits) not in _FORMATS:
            raise Inexpressible  # the buffer protocol has no letter for it
        flags = _RECORDS_RO | (_WRITABLE if parameter.written else 0)
        get = self.api("PyObject_GetBuffer")
        failed = self.let(f"call i32 {get}(ptr {self.argument(k)}, ptr %view{j}, i32 {flags})")
        self.labels += 1
        fine = self.let(f"icmp eq i32 {failed}, 0")
        self.lines += [f"  br i1 {fine}, label %go{self.labels}, label %clear{j}", f"go{self.labels}:"]
        self.held = j + 1
        require, view = self.extents.require, f"%view{j}"
        ndim = self.field(view, _NDIM, "i32")
        require(self.let(f"icmp eq i32 {ndim}, {parameter.rank}"))
        itemsize = self.field(view, _ITEMSIZE, "i64")
        require(self.let(f"icmp eq i64 {itemsize}, {parameter.buffer.dtype.scalar.nbytes}"))
        format_ = self.field(view, _FORMAT, "ptr")
        require(self.let(f"icmp ne ptr {format_}, null"))
        if parameter.written:  # which exporters were told, but not all of them listen
            require(self.let(f"icmp eq i32 {self.field(view, _READONLY, 'i32')}, 0"))
        if parameter.rank:  # ctypes gives no strides
            for offset in (_SHAPE, _STRIDES):
                require(self.let(f"icmp ne ptr {self.field(view, offset, 'ptr')}, null"))
        require(self.let(f"icmp eq ptr {self.field(view, _SUBOFFSETS, 'ptr')}, null"))
        self.check()
        dtype = parameter.buffer.dtype
        letter = self.field(format_, 0, "i8")
        accepted = [self.let(f"icmp eq i8 {letter}, {ord(c)}") for c in _FORMATS[dtype.code, dtype.bits]]
        require(accepted[0] if len(accepted) == 1 else self.let(f"or i1 {accepted[0]}, {accepted[1]}"))
        self.check()
        end = self.field(format_, 1, "i8")
        require(self.let(f"icmp eq i8 {end}, 0"))
        found = self.described[k] = self.describe(view, parameter.rank)
        if dtype.lanes > 1:
            require(self.let(f"icmp eq i64 {found.shape[-1]}, {dtype.lanes}"))
            require(self.let(f"icmp eq i64 {found.strides[-1]}, {dtype.scalar.nbytes}"))
        self.check()

    def describe(self, view: str, rank: int) -> _Described:
        address = self.field(view, _BUF, "i64")
        if rank == 0:
            return _Described(address, [], [])
        shape, strides = self.field(view, _SHAPE, "ptr"), self.field(view, _STRIDES, "ptr")
        places = range(rank)
        return _Described(address, [self.element(shape, k) for k in places], [self.element(strides, k) for k in places])

    def bind(self, binding: Binding) -> None:
        if binding.array is None:
            value = self.let("add i64 0, 0")
        elif binding.stride:
            parameter = self.plan.parameters[binding.array]
            assert isinstance(parameter, ArrayParameter)
            given = self.described[binding.array]
            nbytes, stride = parameter.buffer.dtype.nbytes, given.strides[binding.axis]
            for axis, extent in enumerate(given.shape):  # else exporters differ in what it is
                least = 2 if axis == binding.axis else 1
                self.extents.require(self.let(f"icmp uge i64 {extent}, {least}"))
            value = self.let(f"sdiv i64 {stride}, {nbytes}")
            self.extents.require(self.let(f"icmp eq i64 {self.let(f'mul i64 {value}, {nbytes}')}, {stride}"))
        else:
            value = self.described[binding.array].shape[binding.axis]
        self.bound(binding.var, value, binding.bounds)

    def countable(self, condition: must.IsCountable) -> None:
        """Extents and their products, from left to right, are few enough to be counted in 32 bits."""
        count = "1"
        for e, limit in zip(condition.buffer.shape, condition.limits, strict=True):
            value = self.extents.value(e)
            if limit is not None:
                self.extents.within(value, 0, min(limit, LARGEST[32]))
            count = value if count == "1" else self.let(f"mul i64 {count}, {value}")
            self.extents.within(count, 0, min(condition.most, LARGEST[32]))

    def layout(self, given: _Described, p: ArrayParameter) -> _Placed:
        """Compare strides and alignment."""
        address, shape, strides = given.address, given.shape, given.strides
        buffer, require = p.buffer, self.extents.require
        nbytes, rank = buffer.dtype.nbytes, len(buffer.shape)
        declared = [self.extents.value(s) for s in buffer.strides]
        span = str(nbytes)  # bytes from the first element to the end of the last, axes outside k left out
        for k in reversed(range(rank)):
            single = self.let(f"icmp ule i64 {shape[k]}, 1")
            if buffer.strides:
                step = self.let(f"mul i64 {declared[k]}, {nbytes}")
                require(self.let(f"icmp sle i64 {step}, {LIMIT}"))
                apart = self.let(f"icmp sge i64 {step}, {span}")
                right = self.let(f"and i1 {apart}, {self.let(f'icmp eq i64 {step}, {strides[k]}')}")
                require(self.let(f"or i1 {single}, {right}"))
                further = self.let(f"mul i64 {self.let(f'sub i64 {shape[k]}, 1')}, {step}")
                span = self.let(f"select i1 {single}, i64 {span}, i64 {self.let(f'add i64 {span}, {further}')}")
            else:
                right = self.let(f"icmp eq i64 {strides[k]}, {span}")
                require(self.let(f"or i1 {single}, {right}"))
                span = self.let(f"mul i64 {span}, {shape[k]}")
        block = self.block(address, buffer)
        if p.alignment > 1:
            low = self.let(f"and i64 {block}, {p.alignment - 1}")
            require(self.let(f"icmp eq i64 {low}, 0"))
        return _Placed(block, address, self.let(f"add i64 {address}, {span}"))

    def block(self, address: str, buffer: Buffer) -> str:
        offset = self.extents.value(buffer.elem_offset)
        if offset == "0":
            return address
        self.extents.within(offset, 0, LARGEST[32])
        return self.let(f"sub i64 {address}, {self.let(f'mul i64 {offset}, {buffer.dtype.nbytes}')}")

    def disjoint(self, a: _Placed, b: _Placed) -> None:
        """One ends before the other begins; an empty array with declared strides is taken for one element."""
        before, after = self.let(f"icmp ule i64 {a.end}, {b.begin}"), self.let(f"icmp ule i64 {b.end}, {a.begin}")
        self.extents.require(self.let(f"or i1 {before}, {after}"))

    # -- the call and its ends --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Call the kernel, without the interpreter's lock if that is wanted; give back None, or what went wrong."""
        values = []
        for k, p in enumerate(self.plan.parameters):
            match p:
                case ArrayParameter():
                    values.append(self.let(f"inttoptr i64 {self.placed[k].block} to ptr"))
                case ScalarParameter(var=v):
                    values.append(self.scalars[v])
        values += [self.scalars[b.var] for b in self.plan.bindings]
        arguments = ", ".join(f"{t} {v}" for t, v in zip(kernel_types(self.plan), values, strict=True))
        release = self.release()
        save, restore = self.api("PyEval_SaveThread"), self.api("PyEval_RestoreThread")
        self.lines += ["  br label %ready", "ready:", f"  br i1 {release}, label %save, label %call"]
        self.lines += ["save:", f"  %saved = call ptr {save}()", "  br label %call"]
        self.lines += ["call:", "  %thread = phi ptr [ %saved, %save ], [ null, %ready ]"]
        self.lines += [f"  %status = call i32 @vtir_kernel({arguments}) noinline"]
        self.lines += [f"  br i1 {release}, label %restore, label %done"]
        self.lines += ["restore:", f"  call void {restore}(ptr %thread)", "  br label %done", "done:"]
        letting_go = self.api("PyBuffer_Release")
        self.lines += [f"  call void {letting_go}(ptr %view{j})" for j in range(len(self.plan.arrays))]
        ended = self.let("icmp eq i32 %status, 0")
        self.lines += [f"  br i1 {ended}, label %finished, label %stopped", "finished:"]
        none = self.api("None")
        self.lines += [f"  call void {self.api('Py_IncRef')}(ptr {none})", f"  ret ptr {none}"]
        self.stopped()

    def stopped(self) -> None:
        """The kernel gave a number other than zero: ``failed`` raises."""
        self.lines += ["stopped:", "  %wide = sext i32 %status to i64"]
        number = self.let(f"call ptr {self.api('PyLong_FromLong')}(i64 %wide)")
        self.lines += [f"  store ptr {number}, ptr %number"]
        made = self.let(f"icmp ne ptr {number}, null")
        self.lines += [f"  br i1 {made}, label %raise, label %memory", "memory:", "  ret ptr null", "raise:"]
        failed, vectorcall = self.api("failed"), self.api("PyObject_Vectorcall")
        self.lines += [f"  %raised = call ptr {vectorcall}(ptr {failed}, ptr %number, i64 1, ptr null)"]
        self.lines += [f"  call void {self.api('Py_DecRef')}(ptr {number})", "  ret ptr %raised"]

    def release(self) -> str:
        """Whether to release the interpreter's lock, as an ``i1``."""
        threshold = self.plan.release
        if threshold is None or threshold < 0:
            return "false" if threshold is None else "true"
        total = "0"
        for j in range(len(self.plan.arrays)):
            total = self.let(f"add i64 {total}, {self.field(f'%view{j}', _LEN, 'i64')}")
        return self.let(f"icmp ugt i64 {total}, {threshold}")

    def refusals(self) -> None:
        """From ``refuse<k>`` down to ``refuse0``; ``clear<k>`` first drops the exception of a buffer not given."""
        count = len(self.plan.arrays)
        for k in reversed(range(1, count + 1)):
            self.lines += [f"refuse{k}:"]
            release = self.api("PyBuffer_Release")
            self.lines += [f"  call void {release}(ptr %view{k - 1})", f"  br label %refuse{k - 1}"]
        for k in range(count):
            self.lines += [f"clear{k}:"]
            clear = self.api("PyErr_Clear")
            self.lines += [f"  call void {clear}()", f"  br label %refuse{k}"]
        self.lines += ["refuse0:"]
        slow, vectorcall = self.api("slow"), self.api("PyObject_Vectorcall")
        self.lines += [f"  %result = call ptr {vectorcall}(ptr {slow}, ptr %args, i64 %nargs, ptr %names)"]
        self.lines += ["  ret ptr %result"]
