"""Kernels to call on arrays, or to lower into programs: plain loops, schedules that were proved of them, machine code.

kernel       what a kernel is; how arrays are checked; how to write another
products     gemm: matrix products (gemm_schedule: their schedule; gemm_tiles: how large its tiles are)
convolution  convolutions of images (programs and schedules: ``convolution_programs``, ``convolution_schedules``)
pooling      maxima and averages of windows
"""

from __future__ import annotations

from verified_tir.library.convolution import Convolution, conv2d
from verified_tir.library.kernel import Kernel, specialised
from verified_tir.library.pooling import avg_pool2d, max_pool2d
from verified_tir.library.products import gemm

__all__ = ["Convolution", "Kernel", "avg_pool2d", "conv2d", "gemm", "max_pool2d", "specialised"]
