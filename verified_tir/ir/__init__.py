"""What programs are: types, expressions, statements, buffers, functions.

What these modules define has its name here, too: ``ir.For`` is ``ir.stmt.For``.
"""

from verified_tir.ir.buffer import *
from verified_tir.ir.calls import *
from verified_tir.ir.dtype import *
from verified_tir.ir.equal import *
from verified_tir.ir.expr import *
from verified_tir.ir.floats import *
from verified_tir.ir.func import *
from verified_tir.ir.index_arith import *
from verified_tir.ir.node import *
from verified_tir.ir.paths import *
from verified_tir.ir.stmt import *
from verified_tir.ir.visit import *
from verified_tir.ir.wellformed import *
