"""What a program is written with: ``from verified_tir.script import tir as T`` and ``ir as I``.

Bodies of decorated functions are read, never run, and TVM is not needed.
"""

from verified_tir.script import ir, tir

__all__ = ["ir", "tir"]
