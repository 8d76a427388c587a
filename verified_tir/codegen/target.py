"""The machine that code is generated for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import final

import llvmlite.binding as llvm

from verified_tir.codegen.processors import MOST_THREADS, usable_processors


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A processor and how to use it.  Hashable, and part of the key of cached object code.

    :param triple: LLVM's name of architecture, vendor and system.
    :param cpu: LLVM's name of the processor.
    :param features: LLVM's feature string, ``"+avx2,-avx512f,…"``.
    :param pointer_casts: whether one block of memory may be accessed at several types.
    :param threads: into how many threads a parallel loop is divided, 65536 at the most.
    """

    triple: str
    cpu: str
    features: str
    pointer_casts: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.threads, int):
            raise TypeError(f"a target has a whole number of threads, not {self.threads!r}")
        if self.threads < 1:
            raise ValueError(f"a target has at least one thread, not {self.threads}")
        if self.threads > MOST_THREADS:
            raise ValueError(f"a target has at most {MOST_THREADS} threads, not {self.threads}")

    @staticmethod
    def host(threads: int | None = None) -> Target:
        """This machine, with as many threads as the process may use unless told otherwise."""
        triple, cpu, features = _host()
        return Target(triple, cpu, features, True, usable_processors() if threads is None else threads)

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature, by LLVM's name (``"fma"``, ``"avx512f"``)."""
        return f"+{feature}" in self.features.split(",")

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def vector_bits(self) -> int:
        """Width of the widest vector register."""
        if not self.is_x86:
            return 128
        return 512 if self.has("avx512f") else 256 if self.has("avx") else 128

    @property
    def converts_half(self) -> bool:
        """Whether float16 converts to and from float32 in hardware (older x86 processors would call a library)."""
        return not self.is_x86 or self.has("f16c")

    @property
    def scales(self) -> bool:
        """Whether floats of 32 and 64 bits are scaled by powers of two in hardware, in scalars and all vectors."""
        return self.is_x86 and all(map(self.has, ("avx512f", "avx512dq", "avx512vl")))

    def machine(self) -> llvm.TargetMachine:
        """LLVM's object for this target; position-independent code, for any place in memory."""
        initialize()
        kind = llvm.Target.from_triple(self.triple)
        return kind.create_target_machine(
            cpu=self.cpu, features=self.features, opt=2, reloc="pic", codemodel="small", jit=True
        )

    def __str__(self) -> str:
        threads = f"{self.threads} thread" + ("s" if self.threads > 1 else "")
        return f"{self.cpu} ({self.triple}), {self.vector_bits}-bit vectors, {threads}"


@cache
def initialize() -> None:
    """Make LLVM's code generator for this machine available."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


@cache
def _host() -> tuple[str, str, str]:
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
