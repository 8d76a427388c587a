"""A slow reference for programs with barriers: thread by thread, each until its next barrier.

It knows loops, branches, lets, allocations and stores of numbers; enough for the tests.  A thread is a generator that
yields at barriers, and what it gives where threads exchange values: shuffles that are stored as they are, and sums over
threads.  It is sent what it gets.  Undefined elements are ``None``.  ``races`` are the blocks in which two threads met
between two barriers, one of them writing.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from verified_tir.ir.expr import Binary, Call, Cast, FloatImm, IfThenElse, IntImm, Load, Not, Select, Var
from verified_tir.ir.stmt import Allocate, AttrStmt, Evaluate, For, If, LetStmt, Seq, Store

_OPS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "floormod": operator.mod, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


class Log:
    """Who touched what since the last barrier; ``thread`` is the one that runs."""

    def __init__(self):
        self.thread, self.seen, self.races = None, {}, set()

    def touch(self, table, at, name, *, write):
        if self.thread is None:
            return
        for other, wrote in self.seen.setdefault((id(table), at), []):
            if other != self.thread and (wrote or write):
                self.races.add(name)
        self.seen[id(table), at].append((self.thread, write))


class Deadlock(Exception):
    """Some threads wait at a barrier, others have ended."""


def value(e, env) -> Any:
    match e:
        case IntImm(value=v):
            return v
        case FloatImm(value=v):
            return np.float32(v)
        case Var():
            return env[e]
        case Cast(value=v):
            return value(v, env)
        case Load(buffer=b, indices=indices):
            at = tuple(value(i, env) for i in indices)
            env["log"].touch(env[b.data], at, b.name, write=False)
            return env[b.data].get(at)
        case Not(a=a):
            return not value(a, env)
        case Binary(op="and", a=a, b=b):
            return value(a, env) and value(b, env)
        case Binary(op="or", a=a, b=b):
            return value(a, env) or value(b, env)
        case Binary(op=op, a=a, b=b):
            x, y = value(a, env), value(b, env)
            return None if x is None or y is None else _OPS[op](x, y)
        case Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b):
            return value(a, env) if value(c, env) else value(b, env)
    raise AssertionError(type(e))


def is_thread(stmt) -> bool:
    return isinstance(stmt, For) and stmt.thread.startswith("threadIdx")


def run(stmt, env, shared=None):
    """Execute a statement as one thread (``shared``: the blocks of its thread block), or outside of all threads."""
    match stmt:
        case Seq(stmts=stmts):
            for s in stmts:
                yield from run(s, env, shared)
        case For() if is_thread(stmt) and shared is None:
            threads = [run(s, e, table) for table in [{}] for s, e in forked(stmt, env)]
            together(threads, env["log"])
        case For(var=var, min=low, extent=extent, body=body):
            start = value(low, env)
            for k in range(start, start + value(extent, env)):
                env[var] = k
                yield from run(body, env, shared)
        case If(condition=c, then_body=a, else_body=b):
            if value(c, env):
                yield from run(a, env, shared)
            elif b is not None:
                yield from run(b, env, shared)
        case LetStmt(var=var, value=v, body=body):
            env[var] = value(v, env)
            yield from run(body, env, shared)
        case Allocate(buffer=b, body=body):
            if shared is not None and b.scope.startswith("shared"):
                number = env[b] = env.get(b, 0) + 1
                env[b.data] = shared.setdefault((b, number), {})
            else:
                env[b.data] = {}
            yield from run(body, env, shared)
        case AttrStmt(body=body):
            yield from run(body, env, shared)
        case Store(buffer=b, indices=indices, value=Call(op="tvm_warp_activemask")):
            env[b.data][tuple(value(i, env) for i in indices)] = yield "active", env["xyz"]
        case Store(buffer=b, indices=indices, value=Call(op=op, args=args)) if op.startswith("tvm_warp_shuffle"):
            given = [value(a, env) for a in args]
            env[b.data][tuple(value(i, env) for i in indices)] = yield op, env["xyz"], *given
        case Evaluate(value=Call(op="tvm_thread_allreduce", args=(_, v, c, Load(buffer=b, indices=indices), *over, _))):
            given = value(v, env) if value(c, env) else 0
            over = {e.name for e in over}
            env[b.data][tuple(value(i, env) for i in indices)] = yield "sum", env["xyz"], given, over
        case Store(buffer=b, indices=indices, value=v):
            at, stored = tuple(value(i, env) for i in indices), value(v, env)
            env["log"].touch(env[b.data], at, b.name, write=True)
            env[b.data][at] = stored
        case Evaluate(value=Call(op="tvm_storage_sync")):
            if shared is not None:
                yield "barrier"
        case _:
            raise AssertionError(type(stmt))


def forked(stmt, env):
    """The threads of a nest of loops over threads: what each runs, and its own variables."""
    if not is_thread(stmt):
        return [(stmt, dict(env))]
    start = value(stmt.min, env)
    found = []
    for k in range(start, start + value(stmt.extent, env)):
        here = {**env.get("xyz", {}), stmt.var.name: (stmt.thread, k, value(stmt.extent, env))}
        found += forked(stmt.body, {**env, stmt.var: k, "xyz": here})
    return found


def together(threads, log) -> None:
    """Each thread until its next barrier, in turns; exchanges are made when all threads have come to them."""
    given = [None] * len(threads)
    while threads:
        events, waiting = [], []
        for number, thread in enumerate(threads):
            log.thread = number
            try:
                events.append(thread.send(given[number]))
                waiting.append(thread)
            except StopIteration:
                pass
        log.thread = None
        if waiting and (len(waiting) != len(threads) or len({e if e == "barrier" else e[0] for e in events}) > 1):
            raise Deadlock
        if events and events[0] != "barrier":
            given = exchanged(events)
        else:
            log.seen, given = {}, [None] * len(waiting)
        threads = waiting


def exchanged(events):
    """What each thread gets."""
    kind = events[0][0]
    if kind == "sum":
        apart = [tuple(k for name, (_, k, _) in e[1].items() if name not in e[3]) for e in events]
        sums = {}
        for key, (_, _, x, _) in zip(apart, events, strict=True):
            sums[key] = x if key not in sums else None if None in (x, sums[key]) else sums[key] + x
        return [sums[key] for key in apart]
    numbers = [number_of(e[1]) for e in events]
    if kind == "active":
        return [sum(1 << m % 32 for m in numbers if m // 32 == n // 32) for n in numbers]
    at = {n: k for k, n in enumerate(numbers)}
    found = []
    for n, (_, _, mask, mine, by, width, _) in zip(numbers, events, strict=True):
        lane = n % width
        place = {"up": lane - by, "down": lane + by, "xor": lane ^ by}.get(kind.rpartition("_")[2], by % width)
        other = n - lane + place if 0 <= place < width else n
        named = mask is not None and other in at and mask >> other % 32 & 1 and mask >> n % 32 & 1
        found.append(mine if other == n else events[at[other]][3] if named else None)
    return found


def number_of(xyz) -> int:
    """The number of a thread in its thread block."""
    found = 0
    for _, k, extent in sorted(xyz.values(), reverse=True):
        found = found * extent + k
    return found


def run_function(func, arrays):
    """What the parameters hold afterwards, and where threads met."""
    env: dict = {"log": Log()}
    for b in func.buffers:
        env[b.data] = {at: arrays[b.name][at] for at in np.ndindex(arrays[b.name].shape)}
    for _ in run(func.body, env):
        pass
    return {b.name: env[b.data] for b in func.buffers}, env["log"].races
