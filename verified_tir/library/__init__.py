"""Kernels to call on arrays, or to lower into programs: plain loops, schedules that were proved of them, machine code.

kernel       what a kernel is; how arrays are checked; how to write another
"""

from __future__ import annotations

from verified_tir.library.kernel import Kernel, specialised

__all__ = ["Kernel", "specialised"]
