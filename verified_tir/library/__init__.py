"""Kernels to call on arrays, or to lower into programs: plain loops, schedules that were proved of them, machine code.

kernel         what a kernel is; how arrays are checked; how to write another
products       gemm: matrix products (gemm_schedule: their schedule; gemm_tiles: how large its tiles are)
convolution    convolutions of images (programs and schedules: ``convolution_programs``, ``convolution_schedules``)
pooling        maxima and averages of windows
rows           softmax, layer normalisation, sums and maxima along the last axis
elements       functions of single elements
transposition  of matrices, in tiles turned in registers
vectors        strategies that several kernels share
"""

from __future__ import annotations

from verified_tir.library.convolution import Convolution, conv2d
from verified_tir.library.elements import elementwise, relu
from verified_tir.library.kernel import Kernel, specialised
from verified_tir.library.pooling import avg_pool2d, max_pool2d
from verified_tir.library.products import gemm
from verified_tir.library.rows import layer_norm, row_max, row_sum, softmax
from verified_tir.library.transposition import transpose

__all__ = [
    "Convolution", "Kernel", "avg_pool2d", "conv2d", "elementwise", "gemm", "layer_norm", "max_pool2d", "relu",
    "row_max", "row_sum", "softmax", "specialised", "transpose",
]  # fmt: skip
