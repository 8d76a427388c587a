"""Programs: whole functions and modules, drawn so that they have a meaning.

strategy    the strategies
features    what may be switched on and off
sketch      a program in the making: buffers that grow, what is in scope
reach       how far indices go
indices, values, statements, reductions, kinds      what is drawn
finish      from a sketch to a function
"""

from verified_tir.testing.programs.features import ALL_FEATURES, Feature
from verified_tir.testing.programs.strategy import prim_funcs

__all__ = ["ALL_FEATURES", "Feature", "prim_funcs"]
