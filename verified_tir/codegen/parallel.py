"""Parallel loops, handed to the pool of threads (``pool.py``).

The loop's body becomes a function of its own, over a range of iterations.

The captured values travel in a structure on the caller's stack.  Between that and the body stands a small function that
takes the structure apart, so that the body has its blocks as parameters which do not alias.

The proof of race freedom says that no two iterations conflict.  Each part returns a status; the first failing part's is
the loop's.
"""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.codegen.builder import Function, Register
from verified_tir.codegen.pool import NAME
from verified_tir.codegen.views import fail_if

Body = Callable[[Function, str, str], None]


def parallel(b: Function, first: Register, extent: Register, body: Body, *, positive: str) -> None:
    """Run ``body`` over ``[first, first + extent)``, in parts; nothing if the extent is not positive.

    :param positive: the comparison with 0 that says whether it is.
    :param body: writes the loop over ``[low, high)``, which is not empty, into the function that it is given.
    """
    module = b.module
    module.bodies += 1
    number = module.bodies
    inner = Function(module, outer=b)
    body(inner, "%low", "%high")
    inner.line("ret i32 0")
    captured = list(inner.captured.items())
    module.functions += [_body_text(inner, number), _unpack_text(inner, number)]
    if not module.threads:
        module.threads = True
        module.declare(f"declare i32 @{NAME}(ptr, ptr, i64, i64, i64) nounwind")
    kinds = _structure(inner)
    context = b.fresh("context")
    b.allocas.append(f"  {context} = alloca {kinds}, align 64")
    start, done = b.new_label("start"), b.new_label("endfor")
    mark = b.enter()
    if not isinstance(extent, int):
        some = b.assign(f"icmp {positive} i64 {extent}, 0")
        b.branch_if(some, start, done)
        b.open(start)
    for k, (register, (_, kind)) in enumerate(captured):
        place = b.assign(f"getelementptr inbounds {kinds}, ptr {context}, i64 0, i32 {k}")
        b.line(f"store {kind} {register}, ptr {place}")
    range_of = f"i64 {first}, i64 {extent}, i64 {module.target.threads}"
    status = b.assign(f"call i32 @{NAME}(ptr @unpack_{number}, ptr {context}, {range_of})")
    if inner.fails:
        failed = b.assign(f"icmp ne i32 {status}, 0")
        fail_if(b, failed, status)
    b.branch(done)
    b.leave(mark)  # what was loaded before may have been stored to
    b.open(done)


def _structure(inner: Function) -> str:
    return f"{{ {', '.join(kind for _, kind in inner.captured.values())} }}" if inner.captured else "{ i8 }"


def _body_text(inner: Function, number: int) -> str:
    """The body over a range, with what it captured as parameters."""
    parameters = [f"{'ptr noalias' if kind == 'ptr' else kind} {name}" for name, kind in inner.captured.values()]
    parameters += ["i64 %low", "i64 %high"]
    head = f"define internal i32 @body_{number}({', '.join(parameters)}) #0 {{\nentry:"
    return "\n".join([head, *inner.allocas, *inner.lines, "}", ""])


def _unpack_text(inner: Function, number: int) -> str:
    """Takes the structure of captured values apart, and calls the body."""
    lines = [f"define internal i32 @unpack_{number}(ptr %context, i64 %low, i64 %high) #0 {{"]
    kinds = _structure(inner)
    arguments = []
    for k, (_, kind) in enumerate(inner.captured.values()):
        lines.append(f"  %at{k} = getelementptr inbounds {kinds}, ptr %context, i64 0, i32 {k}")
        lines.append(f"  %x{k} = load {kind}, ptr %at{k}")
        arguments.append(f"{'ptr noalias' if kind == 'ptr' else kind} %x{k}")
    arguments += ["i64 %low", "i64 %high"]
    lines += [f"  %status = call i32 @body_{number}({', '.join(arguments)})", "  ret i32 %status", "}", ""]
    return "\n".join(lines)
