"""Programs: whole functions and modules, drawn so that they have a meaning.

In the order in which a program comes about:

    strategy    functions                       modules     functions that call each other
    features    what may be switched on and off
    sketch      a program in the making: buffers that grow, what is in scope
    reach       how far indices go
    indices, values, vectors                    expressions
    statements, reductions, blocks, views,      statements
    control, kinds
    textbook    matmul, softmax, scan and others, as text
    finish      from a sketch to a function
"""

from verified_tir.testing.programs.features import ALL_FEATURES, Feature
from verified_tir.testing.programs.modules import modules
from verified_tir.testing.programs.strategy import prim_funcs

__all__ = ["ALL_FEATURES", "Feature", "modules", "prim_funcs"]
