"""Is a kernel's LLVM IR what the program says, before and after LLVM's optimiser?

``validate_llvm`` executes a program and the IR that is to implement it symbolically, at given sizes, in one table of
terms, and compares memory at exit bit for bit.  It knows nothing of the emitter.
"""

from __future__ import annotations

from verified_tir.validate.llvm.validator import (
    SIZES,
    LLVMReport,
    never_reached,
    validate_llvm,
    validate_llvm_sizes,
)

__all__ = ["SIZES", "LLVMReport", "never_reached", "validate_llvm", "validate_llvm_sizes"]
