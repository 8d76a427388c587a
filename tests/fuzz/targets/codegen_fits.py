"""Programs in which a certain pass has something to do, with sizes, types, operators and places drawn.

Some of what is drawn the pass must refuse: a buffer that carries values over, threads that meet, extents that do not
divide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.testing.drawing import Picker

_TYPES: Final = ("float32", "int32", "int8", "float64", "uint8", "int64", "float16")


def fitting(pick: Picker, name: str) -> PrimFunc:
    """A program for the pass of that name, one of :data:`FITTING`."""
    return parse_func("@T.prim_func\n" + FITTING[name](pick, pick.among(_TYPES)))


def _lines(depth: int, *lines: str) -> str:
    return "".join("    " * depth + line + "\n" for line in lines)


def _value(pick: Picker, read: str, t: str) -> str:
    """Something made of an element."""
    one = f'T.Cast("{t}", 1)'
    return pick.one(read, f"{read} + {one}", f"{read} * {read}", f"T.max({read}, {one})", f"{one} - {read}")


def double_buffer(pick: Picker, t: str) -> str:
    """A buffer that is filled and read in each iteration of a loop."""
    n, m = pick.one(2, 3, 4, 1), pick.one(2, 4, 7)
    at = pick.one("j", f"{m - 1} - j", f"(j + 1) % {m}")
    filled = f"i > {pick.one(0, 1)}" if pick.rarely(4) else ""  # then the iteration before may be read
    note = 'annotations={"double_buffer_scope": 1}'
    head = f'def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):\n'
    allocated = f't = T.alloc_buffer(({m},), "{t}", {note})'
    fill = _lines(1, f"for j in range({m}):") + _lines(2, f"t[j] = {_value(pick, 'A[i, j]', t)}")
    if filled:
        fill = _lines(1, f"if {filled}:") + "".join("    " + line + "\n" for line in fill.splitlines())
    use = _lines(1, f"for j in range({m}):") + _lines(2, f"B[i, j] = {_value(pick, f't[{at}]', t)}")
    inside = pick.flip()
    body = _lines(0, f"for i in {pick.one('range', 'range', 'T.parallel')}({n}):")
    body += (_lines(1, allocated) if inside else "") + fill + use
    body = ("" if inside else _lines(0, allocated)) + body
    return head + "".join("    " + line + "\n" for line in body.splitlines())


def virtual_threads(pick: Picker, t: str) -> str:
    """Virtual threads with a buffer of their own, or with none."""
    n, m = pick.one(2, 4, 3), pick.one(2, 4)
    head = f'def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):\n'
    written = pick.one("v, k", "v, k", "v, k", f"(v + 1) % {n}, k", "0, k")  # the last: all of them the same elements
    loop = _lines(1, f'for v in T.thread_binding({n}, thread="vthread.{pick.one("x", "y")}"):')
    if pick.flip():
        body = _lines(2, f't = T.alloc_buffer(({m},), "{t}", scope="local")', f"for k in range({m}):")
        body += _lines(3, f"t[k] = {_value(pick, 'A[v, k]', t)}") + _lines(2, f"for k in range({m}):")
        body += _lines(3, f"B[{written}] = {_value(pick, 't[k]', t)}")
    else:
        body = _lines(2, f"for k in range({m}):") + _lines(3, f"B[{written}] = {_value(pick, 'A[v, k]', t)}")
        if pick.flip():
            body += _lines(2, f"B[{written.replace('k', '0')}] = {_value(pick, 'A[v, 0]', t)}")
    return head + loop + body


def thread_sums(pick: Picker, t: str) -> str:
    """A reduction marked for several threads; of floats only extrema keep their bits."""
    n, threads = pick.one(8, 16, 7, 5), pick.one(2, 4, 8)
    real = t.startswith("float")
    op = pick.one("max", "min") if real else pick.one("add", "max", "min", "add")
    update = "B[i] + A[i, k]" if op == "add" else f"T.{op}(B[i], A[i, k])"
    first = "A[i, 0]" if op != "add" else f'T.Cast("{t}", 0)'
    rows = pick.one(1, 2)
    head = f'def main(A: T.Buffer(({rows}, {n}), "{t}"), B: T.Buffer(({rows},), "{t}")):\n'
    note = f'annotations={{"thread_allreduce": {threads}}}'
    body = _lines(1, f"for i in range({rows}):") + _lines(2, f"B[i] = {first}", f"for k in T.serial({n}, {note}):")
    return head + body + _lines(3, f"B[i] = {update}")


def stages(pick: Picker, t: str) -> str:
    """Several buffers one after the other, of which some are alive together."""
    n, count = pick.one(4, 8, 3), pick.one(2, 3, 4)
    lines = [f'def main(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):']
    names = [f"t{k}" for k in range(count)]
    inner = pick.flip()
    lines += [] if inner else [f'    {x} = T.alloc_buffer(({n * pick.one(1, 1, 2)},), "{t}")' for x in names]
    source = "A"
    earlier: list[str] = []
    for x in names:
        if inner:
            lines.append(f'    {x} = T.alloc_buffer(({n * pick.one(1, 1, 2)},), "{t}")')
        more = f" + {pick.among(earlier)}[i]" if earlier and pick.rarely(3) else ""
        lines += [f"    for i in range({n}):", f"        {x}[i] = {_value(pick, f'{source}[i]', t)}{more}"]
        earlier.append(source)
        source = x
    lines += [f"    for i in range({n}):", f"        B[i] = {source}[{pick.one('i', f'{n - 1} - i')}]"]
    return "\n".join(lines) + "\n"


def loose_conditions(pick: Picker, t: str) -> str:
    """Conditions and lets that the loops around them do not move, and some that they do."""
    n, m = pick.one(2, 4, 5), pick.one(2, 3)
    head = f'def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}"), s: T.int32):\n'
    outside, both = f"s > {pick.one(0, 2)}", pick.one("i < 2", "j < 1", "i + j < 3", "i < s")
    condition = pick.one(outside, f"{outside} and {both}", both, f"{both} and {outside}")
    stored = f"B[i, j] = {_value(pick, 'A[i, j]', t)}"
    loops = _lines(1, f"for i in range({n}):") + _lines(2, f"for j in range({m}):")
    if pick.flip():
        return head + loops + _lines(3, f"if {condition}:") + _lines(4, stored)
    place = pick.one("i", "0", "j % 2")
    return (
        head
        + loops
        + _lines(3, f"k: T.let[T.int32] = {place}", f"if {condition}:")
        + _lines(4, stored.replace("A[i", f"A[k % {n}"))
    )


def layouts(pick: Picker, t: str) -> str:
    """Layouts in an attribute, of a parameter or of a local buffer."""
    n, m = pick.one(4, 8, 6), pick.one(4, 8)
    maps = pick.one("lambda i, j: [j, i]", "lambda i, j: [i, j // 4, j % 4]", "lambda i, j: [i // 4, j, i % 4]",
                    f"lambda i, j: [i * {m} + j]", "lambda i, j: [i, AXIS_SEPARATOR, j]")  # fmt: skip
    name = pick.one("x", "A", "B")
    return (
        f'def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):\n'
        f'    T.func_attr({{"layout_transform_map": {{"{name}": "{maps}"}}}})\n'
        f'    x = T.alloc_buffer(({n}, {m}), "{t}")\n'
        f"    for i, j in T.grid({n}, {m}):\n"
        f"        x[i, j] = {_value(pick, 'A[i, j]', t)}\n"
        f"    for i, j in T.grid({n}, {m}):\n"
        f"        B[i, j] = {_value(pick, f'x[{n - 1} - i, j]', t)}\n"
    )


FITTING: Final[dict[str, Callable[[Picker, str], str]]] = {
    "InjectDoubleBuffer": double_buffer,
    "InjectVirtualThread": virtual_threads,
    "LowerThreadAllreduce": thread_sums,
    "StorageRewrite": stages,
    "CompactBuffer": stages,
    "HoistExpression": loose_conditions,
    "ReduceLoopExtents": loose_conditions,
    "LoopPartition": loose_conditions,
    "ApplyLayoutTransforms": layouts,
}
"""Which programs are for which pass."""
