"""The transcendental functions, each defined by an expansion into basic IEEE operations.

``expansion.py`` has the table of functions; the other modules write them down.  ``words.py`` is their vocabulary,
``coefficients.py`` their polynomials.  ``evaluate.py`` computes an expansion faster than the interpreter would.
Measured bounds of the errors are in ``docs/intrinsics.md``.
"""

from __future__ import annotations

from verified_tir.semantics.intrinsics.evaluate import array_operation, scalar_operation
from verified_tir.semantics.intrinsics.expansion import EXPANDED, expand, has_expansion, template

__all__ = ["EXPANDED", "array_operation", "expand", "has_expansion", "scalar_operation", "template"]
