"""Buffers as addresses: parameters, allocations, and views of them."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.codegen.builder import Function, Register, Storage, View
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.indices import arithmetic, wide
from verified_tir.codegen.llvm_types import MEMORY, lanes_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Expr, IntImm

LOCAL_ALIGNMENT = 64
"""Alignment of allocated memory, in bytes: a cache line, and the widest vector register."""

LARGEST_ON_STACK = 64 * 1024
"""How many bytes of the stack the buffers of one function may take together; what is larger comes from the heap."""

TILE = 4 * 1024
"""Buffers of so many bytes at the most may become registers, which those on the heap cannot; a quarter of the stack's
room is kept for them."""

TOO_MANY = (1 << 63) - LOCAL_ALIGNMENT
"""As many bytes as nobody has."""


def declare(b: Function, buffer: Buffer) -> None:
    """Make a view of a block known; its extents are evaluated here.

    :raises CodegenError: if the block is not there.
    """
    storage = b.storage(buffer.data)
    if storage is None:
        raise CodegenError(f"{buffer.name} is declared over {buffer.data.name}, which is not a block here")
    block = buffer.data.type
    if not b.module.target.pointer_casts and isinstance(block, PointerType) and block.element is not buffer.dtype:
        raise CodegenError(
            f"{buffer.name} sees {buffer.data.name}, a block of {block.element}, as {buffer.dtype}; this target has no "
            f"pointer casts: access it as {block.element}"
        )
    scalar = lanes_of(buffer.dtype, 1)
    b.views[buffer] = View(
        buffer, storage.pointer, _strides(b, buffer), wide(b, buffer.elem_offset), buffer.dtype.lanes, scalar,
        MEMORY[scalar], min(storage.alignment, scalar.nbytes), b.module.notes.get(buffer, ""),
        storage.size // scalar.nbytes,
    )  # fmt: skip


def _strides(b: Function, buffer: Buffer) -> tuple[Register, ...]:
    if buffer.strides:
        return tuple([wide(b, s) for s in buffer.strides])
    strides: list[Register] = []
    step: Register = 1
    for k, extent in enumerate(reversed(buffer.shape)):
        strides.append(step)
        if k < len(buffer.shape) - 1:
            step = arithmetic(b, "mul", step, wide(b, extent))
    return tuple(reversed(strides))


def position(b: Function, view: View, indices: Sequence[Register]) -> Register:
    """The element that some leading indices name (the others being 0), counted from the start of the block."""
    constant, total = 0, None
    for index, stride in zip(indices, view.strides, strict=False):
        if type(stride) is int:
            if type(index) is int:
                constant += index * stride
                continue
            term: Register = index if stride == 1 else b.assign(f"mul i64 {index}, {stride}")
        else:
            term = arithmetic(b, "mul", index, stride)
        total = term if total is None else b.assign(f"add i64 {total}, {term}")
    if type(view.offset) is int:
        constant += view.offset
    else:
        total = view.offset if total is None else b.assign(f"add i64 {total}, {view.offset}")
    if total is None:
        return constant
    return b.assign(f"add i64 {total}, {constant}") if constant else total


def address(b: Function, view: View, element: Register, *, exists: bool = True) -> str:
    """The address of an element; it need not ``exist`` if nothing may be accessed there in the end."""
    place = element if view.lanes == 1 else arithmetic(b, "mul", element, view.lanes)
    if place == 0:
        return view.block
    key = (view.block, view.memory, place)
    found = b.addresses.get(key)
    if found is None:
        inbounds = " inbounds" if exists else ""
        found = b.assign(f"getelementptr{inbounds} {view.memory}, ptr {view.block}, i64 {place}")
        b.addresses[key] = found
        b.trail.append((b.addresses, key))
    return found


def allocate(b: Function, buffer: Buffer) -> bool:
    """Provide a fresh block for a buffer, on the stack or on the heap; whether it must be freed."""
    nbytes = buffer.dtype.nbytes
    size = _constant_span(buffer)
    if buffer.data in b.stack or (size is not None and b.stack_bytes + size * nbytes <= _room(size * nbytes)):
        pointer = _on_stack(b, buffer, (size or 0) * nbytes)
        b.blocks[buffer.data] = Storage(pointer, LOCAL_ALIGNMENT, (size or 0) * nbytes)
        declare(b, buffer)
        return False
    total = _rounded(size * nbytes) if size is not None else _symbolic_size(b, buffer)
    b.module.declare("declare noalias ptr @aligned_alloc(i64 allocalign, i64) nounwind")
    b.module.declare("declare void @free(ptr captures(none)) nounwind")
    pointer = b.assign(f"call ptr @aligned_alloc(i64 {LOCAL_ALIGNMENT}, i64 {total})")
    absent = b.assign(f"icmp eq ptr {pointer}, null")
    fail_if(b, absent, -1)
    b.heap.append(pointer)
    b.blocks[buffer.data] = Storage(pointer, LOCAL_ALIGNMENT)
    declare(b, buffer)
    return True


def _room(nbytes: int) -> int:
    """How many bytes of the stack may be in use with a buffer of a size on it."""
    return LARGEST_ON_STACK if nbytes <= TILE else LARGEST_ON_STACK * 3 // 4


def _on_stack(b: Function, buffer: Buffer, nbytes: int) -> str:
    """The address of a block on the stack; copies of an unrolled body have one after the other."""
    found = b.stack.get(buffer.data)
    if found is None:
        found = b.stack[buffer.data] = b.fresh("local")
        b.stack_bytes += _rounded(nbytes)
        b.allocas.append(f"  {found} = alloca [{_rounded(nbytes)} x i8], align {LOCAL_ALIGNMENT}")
    return found


def free(b: Function) -> None:
    """Give back the heap block that was allocated last."""
    b.line(f"call void @free(ptr {b.heap.pop()})")


def fail_if(b: Function, condition: Register, status: Register) -> None:
    """Leave the function with a status if a condition holds."""
    failed, fine = b.new_label("failed"), b.new_label("fine")
    b.branch_if(condition, failed, fine)
    b.open(failed)
    b.give_up(status)
    b.open(fine)


def _rounded(nbytes: int) -> int:
    return min(max(1, -(-nbytes // LOCAL_ALIGNMENT)) * LOCAL_ALIGNMENT, TOO_MANY)


def _constant_span(buffer: Buffer) -> int | None:
    """How many elements a block must have to hold the buffer, if that is a constant."""
    exprs = (*buffer.shape, *buffer.strides, buffer.elem_offset)
    if not all(isinstance(e, IntImm) for e in exprs):
        return None
    shape = [e.value for e in buffer.shape if isinstance(e, IntImm)]
    strides = [e.value for e in buffer.strides if isinstance(e, IntImm)]
    offset = buffer.elem_offset.value if isinstance(buffer.elem_offset, IntImm) else 0
    if 0 in shape:
        return 0
    if not strides:
        span = 1
        for extent in shape:
            span *= extent
    else:
        span = 1 + sum((d - 1) * s for d, s in zip(shape, strides, strict=True))
    return offset + span


def _symbolic_size(b: Function, buffer: Buffer) -> str:
    """The bytes of a block of symbolic extent, rounded up; too many for 64 bits become as many as nobody has."""
    overflow: Register = 0

    def also(condition: str) -> None:
        nonlocal overflow
        overflow = b.assign(f"or i1 {overflow}, {condition}")

    def checked(op: str, x: Register, y: Register) -> str:
        pair = b.assign(f"call {{i64, i1}} @llvm.s{op}.with.overflow.i64(i64 {x}, i64 {y})")
        also(b.assign(f"extractvalue {{i64, i1}} {pair}, 1"))
        return b.assign(f"extractvalue {{i64, i1}} {pair}, 0")

    def signed(e: Expr, used: Register = 1) -> Register:
        """A number that is not used if ``used`` is 0; of uint64 it may be too large for a sign."""
        number = wide(b, e)
        if e.dtype.code == "uint" and e.dtype.bits == 64:
            large = b.assign(f"icmp slt i64 {number}, 0")
            counts = b.assign(f"icmp ne i64 {used}, 0")
            also(b.assign(f"and i1 {large}, {counts}"))
        return number

    total: Register = 1
    shape, offset = [signed(e) for e in buffer.shape], signed(buffer.elem_offset)
    if buffer.strides:
        for extent, stride in zip(shape, buffer.strides, strict=True):
            steps = arithmetic(b, "sub", extent, 1)
            more = b.assign(f"call i64 @llvm.smax.i64(i64 {steps}, i64 0)")
            total = checked("add", total, checked("mul", more, signed(stride, more)))
    else:
        for extent in shape:
            total = checked("mul", total, extent)
    total = checked("mul", checked("add", total, offset), buffer.dtype.nbytes)
    total = checked("add", total, LOCAL_ALIGNMENT)  # one line more than needed, so that it is never empty
    some = b.assign(f"call i64 @llvm.smax.i64(i64 {total}, i64 {LOCAL_ALIGNMENT})")
    whole = b.assign(f"and i64 {some}, {-LOCAL_ALIGNMENT}")
    return b.assign(f"select i1 {overflow}, i64 {TOO_MANY}, i64 {whole}")
