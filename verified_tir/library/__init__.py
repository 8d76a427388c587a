"""Kernels to call on arrays, or to lower into programs: plain loops, schedules that were proved of them, machine code.

kernel       what a kernel is; how arrays are checked; how to write another
products     gemm: matrix products (gemm_schedule: their schedule; gemm_tiles: how large its tiles are)
"""

from __future__ import annotations

from verified_tir.library.kernel import Kernel, specialised
from verified_tir.library.products import gemm

__all__ = ["Kernel", "gemm", "specialised"]
