"""The types of what TVM's operators of a device give: an unknown call in an expression needs one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verified_tir.ir.dtype import FLOAT32, INT32, INT64, DType
from verified_tir.ir.expr import Call, Expr, StringImm
from verified_tir.ir.script.device import NAMED
from verified_tir.ir.script.dtypes import dtype_named

_UINT32, _UINT64 = DType("uint", 32), DType("uint", 64)

_CUDA: Final[dict[DType, tuple[str, ...]]] = {
    INT32: ("thread_rank", "any_sync", "ffs_u32"),
    INT64: ("syncthreads_and", "syncthreads_or"),
    FLOAT32: ("half2float", "bfloat162float", "fdividef", "uint_as_float", "float2_x", "float2_y"),
    _UINT32: ("elect_sync", "iket_range_start", "iket_sentinel_token", "get_tmem_addr", "cvta_generic_to_shared",
              "smem_addr_from_uint64", "sm100_2sm_leader_smem_addr", "float_as_uint", "ballot_sync", "__activemask",
              "reduce_add_sync_u32", "reduce_min_sync_u32", "float22bfloat162_rn", "float22bfloat162_rn_from_float2",
              "hmin2", "hmax2", "fp8x4_e4m3_from_float4"),
    _UINT64: ("clock64", "make_float2", "fmul2_rn", "fadd2_rn", "bfloat1622float2"),
}  # fmt: skip
_OF_CUDA: Final = {f"cuda.{name}": dtype for dtype, names in _CUDA.items() for name in names}
_LIKE: Final[dict[str, int]] = {
    **dict.fromkeys(
        ("cuda.warp_reduce", "cuda.warp_sum", "cuda.warp_max", "cuda.warp_min", "cuda.cta_reduce", "cuda.cta_sum",
         "cuda.cta_max", "cuda.cta_min"), 0),
    **dict.fromkeys(
        ("cuda.atomic_add", "cuda.atomic_cas", "cuda.__shfl_sync", "cuda.__shfl_up_sync", "cuda.__shfl_down_sync",
         "cuda.__shfl_xor_sync"), 1),
}  # fmt: skip
"""Operators that give the type of one of their arguments, with its position."""


def device_type(name: str, args: Sequence[Expr]) -> DType | None:
    """The type of what an operator of a device gives; ``None`` if that is not known."""
    at = _LIKE.get(name)
    if at is not None and at < len(args):
        return args[at].dtype
    if name == "cuda.mov_sreg" and args:
        return INT64 if getattr(args[0], "value", 32) == 64 else INT32
    if name == "cuda.func_call":
        return _returned(args)
    if name == "cuda.ldg" and len(args) == 2 and isinstance(kind := args[1], StringImm):
        return dtype_named(kind.value)
    return _OF_CUDA.get(name)


def _returned(args: Sequence[Expr]) -> DType | None:
    """What ``return_type=`` says."""
    match args[-1] if args else None:
        case Call(op=op, args=pairs) if op == NAMED:
            for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                if isinstance(key, StringImm) and key.value == "return_type" and isinstance(value, StringImm):
                    return dtype_named(value.value)
    return None
