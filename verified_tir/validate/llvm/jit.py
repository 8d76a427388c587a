"""The text as machine code, run in a process of its own: what is wrong may crash.

Run as a program, this reads a pickled job from the standard input, and writes the kernel's status and the blocks that
it leaves to the standard output.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SECONDS = 60


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A kernel's text and its arguments: blocks of memory, or 64-bit words with their types in LLVM."""

    text: str
    arguments: tuple[Array | tuple[int, str], ...]


@final
@dataclass(frozen=True, slots=True)
class Done:
    status: int
    blocks: tuple[Array, ...]


def run_machine_code(job: Job) -> Done | None:
    """What the kernel does; ``None`` if it crashes, or does not end in time."""
    try:
        child = subprocess.run(
            [sys.executable, "-P", __file__],
            input=pickle.dumps((job.text, job.arguments)),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if child.returncode:
        return None
    status, blocks = pickle.loads(child.stdout)
    return Done(status, blocks)


def _trampoline(job: Job) -> str:
    """A function of one argument, an array of words, that calls the kernel."""
    lines, arguments = ["define i32 @from_words(ptr %words) {"], []
    for k, argument in enumerate(job.arguments):
        kind = argument[1] if isinstance(argument, tuple) else "ptr"
        memory = "i8" if kind == "i1" else kind
        lines.append(f"  %at{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %raw{k} = load {memory}, ptr %at{k}")
        lines.append(f"  %x{k} = trunc i8 %raw{k} to i1" if kind == "i1" else f"  %x{k} = freeze {memory} %raw{k}")
        arguments.append(f"{kind} %x{k}")
    return "\n".join([*lines, f"  %r = call i32 @vtir_kernel({', '.join(arguments)})", "  ret i32 %r", "}", ""])


_ONE_THREAD = """
define i32 @vtir_parallel(ptr %function, ptr %context, i64 %first, i64 %extent, i64 %threads) {
  %end = add i64 %first, %extent
  %status = call i32 %function(ptr %context, i64 %first, i64 %end)
  ret i32 %status
}
"""


def execute(job: Job) -> Done:
    """Compile and run in this process."""
    import ctypes

    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0, jit=True
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(job.text + _trampoline(job)), machine)
    engine.add_module(llvm.parse_assembly(_ONE_THREAD))
    engine.finalize_object()
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address("from_words"))
    blocks = [a.copy() for a in job.arguments if not isinstance(a, tuple)]
    words = np.zeros(max(1, len(job.arguments)), np.uint64)
    rest = iter(blocks)
    for k, argument in enumerate(job.arguments):
        words[k] = argument[0] if isinstance(argument, tuple) else next(rest).ctypes.data
    status = int(entry(words.ctypes.data))
    return Done(status, tuple(blocks))


def main() -> None:
    text, arguments = pickle.loads(sys.stdin.buffer.read())
    done = execute(Job(text, arguments))
    sys.stdout.buffer.write(pickle.dumps((done.status, done.blocks)))


if __name__ == "__main__":
    main()
