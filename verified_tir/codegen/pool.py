"""The threads of parallel loops: one pool for each process, which stays.

Machine code hands a loop to ``vtir_parallel``: a function over a range of iterations, and how many threads may share
it.  The range is divided into parts, some for each thread, that whoever is free takes one after the other, the caller
too.  So nothing depends on the workers: what no worker takes, since it sleeps, is busy, or could not be started, the
caller does itself, and it waits only for parts that somebody is working on.  Several callers share the workers.

A *job* is what a caller asks for.  It stands on the caller's stack, and in the list of jobs while parts of it may be
left.  ``room`` more workers may join it, ``active`` have; both, and the list, change under the mutex.  A worker that
has left (``active``) does not touch the job any more.  A worker that has nothing to do looks for a job for a while
(``SPINS``), then sleeps until one is posted; a caller waits for its last parts in the same way.

Workers start when they are first needed, block all signals but those of faults, and set their floating-point control
register themselves, since the thread that happens to start them may have another one.  They end with the process.  A
child of ``fork`` has none of them, and begins anew.

OpenMP's runtimes were measured instead: GNU's and LLVM's end the process when a thread cannot be started, GNU's hangs
in a child of ``fork``, and both wait for milliseconds on a busy machine.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, final

import llvmlite.binding as llvm

from verified_tir.codegen.pool_text import pool_text
from verified_tir.codegen.processors import usable_processors
from verified_tir.codegen.target import Target, initialize

NAME: Final = "vtir_parallel"
"""``i32 (ptr function, ptr context, i64 first, i64 extent, i64 threads)``; ``extent`` is at least 1, and ``function``
is ``i32 (ptr context, i64 low, i64 high)``.  Gives the status of the first part that failed, or 0."""


@final
@dataclass(frozen=True, slots=True)
class Pool:
    """The pool of this process.

    :ivar address: of ``vtir_parallel``.
    :ivar most: how many threads may run at a time, besides the caller.
    """

    address: int
    most: ctypes.c_int32
    _workers: Any

    @property
    def workers(self) -> int:
        """How many threads were started, in this process."""
        return int(self._workers())


def pool() -> Pool:
    """The pool of this process, for as many threads as the process may use now; no thread is started before work is."""
    found = _pool()
    found.most.value = usable_processors() - 1
    return found


@cache
def _pool() -> Pool:
    target = Target.host(1)
    initialize()
    kind = llvm.Target.from_triple(target.triple)  # level 0: a quarter of the time, for code that is as good here
    machine = kind.create_target_machine(opt=0, reloc="pic", codemodel="small", jit=True)
    session = llvm.create_lljit_compiler(machine, use_jit_link=True)
    builder = llvm.JITLibraryBuilder().add_ir(pool_text(target)).add_current_process()
    for name in (NAME, "vtir_begin", "vtir_workers", "vtir_most"):
        builder.export_symbol(name)
    library = builder.link(session, "pool")
    for lasting in (library, session):
        lasting.detach()  # never unloaded: workers are in this code until the process has ended
    begin = ctypes.CFUNCTYPE(None)(library["vtir_begin"])
    begin()
    os.register_at_fork(after_in_child=begin)
    workers = ctypes.CFUNCTYPE(ctypes.c_int32)(library["vtir_workers"])
    return Pool(library[NAME], ctypes.c_int32.from_address(library["vtir_most"]), workers)
