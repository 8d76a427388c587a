"""Certificates of kernels of the library, which ``vtir check proofs/library`` checks.

    python proofs/library.py [DIR]

The machine is a given one, so that the certificates do not depend on where they are written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from verified_tir import Target
from verified_tir.certificate.certify import certify
from verified_tir.library import gemm

AVX512 = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx,+avx2,+fma,+avx512f")
"""A machine with vectors of 512 bits, one thread."""

KERNELS = {
    "gemm_float32_512": gemm.kernel(512, 512, 512, target=AVX512),
}
"""The kernels of which there are certificates, by the names of these."""


def main(folder: Path) -> None:
    """Write the certificates."""
    certify(folder, **{name: kernel.schedule for name, kernel in KERNELS.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "library")
