"""Parallel loops on threads of the operating system.

The loop's body becomes a function of its own, over a range of iterations.  The range is divided evenly into as many
parts as the target has threads.  All but the last part are given to fresh threads, the last is done by the caller; a
thread that cannot be had has its part done by the caller too.  There is no state between loops (no pool), so nothing is
left behind by a ``fork``; a thread costs some 10 to 20 microseconds.

The captured values travel in a structure on the caller's stack.  Between that and the body stands a small function that
takes the structure apart, so that the body has its blocks as parameters which do not alias.

The proof of race freedom says that no two iterations conflict.  Each part returns a status; the first failing part's is
the loop's.
"""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.codegen.builder import Function, Register
from verified_tir.codegen.views import fail_if

Body = Callable[[Function, str, str], None]

_RUNTIME = """\
define internal ptr @vtir_thread(ptr %task) {{
  %fn = load ptr, ptr %task
  %at.context = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 1
  %context = load ptr, ptr %at.context
  %at.low = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 2
  %low = load i64, ptr %at.low
  %at.high = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 3
  %high = load i64, ptr %at.high
  %status = call i32 %fn(ptr %context, i64 %low, i64 %high)
  %at.status = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 4
  store i32 %status, ptr %at.status
  ret ptr null
}}

define internal i32 @vtir_parallel(ptr %fn, ptr %context, i64 %first, i64 %extent) {{
entry:
  %tasks = alloca [{threads} x {{ ptr, ptr, i64, i64, i32 }}], align 64
  %handles = alloca [{threads} x i64], align 64
  %started = alloca [{threads} x i8], align 64
  %whole = udiv i64 %extent, {threads}
  %rest = urem i64 %extent, {threads}
  br label %spawn

spawn:
  %k = phi i64 [ 0, %entry ], [ %k.next, %spawned ]
  %low = phi i64 [ %first, %entry ], [ %high, %spawned ]
  %longer = icmp ult i64 %k, %rest
  %one = zext i1 %longer to i64
  %size = add i64 %whole, %one
  %high = add i64 %low, %size
  %task = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %tasks, i64 %k
  store ptr %fn, ptr %task
  %at.context = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 1
  store ptr %context, ptr %at.context
  %at.low = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 2
  store i64 %low, ptr %at.low
  %at.high = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 3
  store i64 %high, ptr %at.high
  %at.status = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %task, i64 0, i32 4
  store i32 0, ptr %at.status
  %at.started = getelementptr inbounds i8, ptr %started, i64 %k
  store i8 0, ptr %at.started
  %k.next = add i64 %k, 1
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %spawned, label %some

some:
  %left = add i64 %extent, %first
  %last = icmp eq i64 %high, %left
  br i1 %last, label %here, label %thread

thread:
  %handle = getelementptr inbounds i64, ptr %handles, i64 %k
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @vtir_thread, ptr %task)
  %created = icmp eq i32 %error, 0
  %flag = zext i1 %created to i8
  store i8 %flag, ptr %at.started
  br i1 %created, label %spawned, label %here

here:
  call ptr @vtir_thread(ptr %task)
  br label %spawned

spawned:
  %more = icmp ult i64 %k.next, {threads}
  br i1 %more, label %spawn, label %join

join:
  %j = phi i64 [ 0, %spawned ], [ %j.next, %joined ]
  %status = phi i32 [ 0, %spawned ], [ %status.next, %joined ]
  %j.started = getelementptr inbounds i8, ptr %started, i64 %j
  %waits = load i8, ptr %j.started
  %wait = icmp ne i8 %waits, 0
  br i1 %wait, label %waiting, label %joined

waiting:
  %j.handle = getelementptr inbounds i64, ptr %handles, i64 %j
  %joinable = load i64, ptr %j.handle
  call i32 @pthread_join(i64 %joinable, ptr null)
  br label %joined

joined:
  %j.status = getelementptr inbounds {{ ptr, ptr, i64, i64, i32 }}, ptr %tasks, i64 %j, i32 4
  %j.result = load i32, ptr %j.status
  %fine = icmp eq i32 %status, 0
  %status.next = select i1 %fine, i32 %j.result, i32 %status
  %j.next = add i64 %j, 1
  %unjoined = icmp ult i64 %j.next, {threads}
  br i1 %unjoined, label %join, label %finished

finished:
  ret i32 %status.next
}}
"""


def parallel(b: Function, first: Register, extent: Register, body: Body) -> None:
    """Run ``body`` over ``[first, first + extent)``, in parts; nothing if the extent is not positive.

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
        module.functions.append(_RUNTIME.format(threads=module.target.threads))
        module.declare("declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind")
        module.declare("declare i32 @pthread_join(i64, ptr) nounwind")
    kinds = _structure(inner)
    context = b.fresh("context")
    b.allocas.append(f"  {context} = alloca {kinds}, align 64")
    start, done = b.new_label("start"), b.new_label("endfor")
    mark = b.enter()
    if not isinstance(extent, int):
        some = b.assign(f"icmp sgt i64 {extent}, 0")
        b.branch_if(some, start, done)
        b.open(start)
    for k, (register, (_, kind)) in enumerate(captured):
        place = b.assign(f"getelementptr inbounds {kinds}, ptr {context}, i64 0, i32 {k}")
        b.line(f"store {kind} {register}, ptr {place}")
    status = b.assign(f"call i32 @vtir_parallel(ptr @unpack_{number}, ptr {context}, i64 {first}, i64 {extent})")
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
