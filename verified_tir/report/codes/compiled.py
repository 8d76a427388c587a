"""VT05 and VT06: index maps, compiling and calling."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import COPY, Page, on, program

_MAP = "from verified_tir import IndexMap\n\n"
_SYMBOLIC = "from verified_tir import IndexMap\nfrom verified_tir.script import tir as T\n\nn = T.int32()\n"
_HALVES = 'A: T.Buffer((16,), "float32")'

PAGES: Final = (
    Page(
        "VT0501",
        "An index map cannot be used so",
        "It is given another number of indices than it takes, or something that is no index.",
        _MAP + "IndexMap.from_func(lambda i: [i], 1).inverse([4, 4])",
        "Give as many indices or extents as the map takes.",
    ),
    Page(
        "VT0502",
        "An index map sends two points to one",
        "A layout must be injective.",
        _MAP + "IndexMap.from_func(lambda i: [i // 2], 1).inverse([16])",
        "Keep the remainder, too: `[i // 2, i % 2]`.",
    ),
    Page(
        "VT0503",
        "No inverse of the index map was found",
        "The map may be injective, but no inverse could be found and checked.",
        _SYMBOLIC + "IndexMap.from_func(lambda i: [i * i], 1).inverse([n])",
        "Write the map with sums, constant factors, `//` and `%` by constants.",
    ),
    Page(
        "VT0504",
        "An output of the index map is negative",
        "An index of an array is at least 0, and the message names a point where one is not.",
        _MAP + "IndexMap.from_func(lambda i: [i - 4], 1).padded_shape([16])",
        "Add a constant to that output, or look for a sign that is the wrong way round.",
    ),
    Page(
        "VT0505",
        "No bound of an output is known",
        "The extent of a dimension is the greatest index and one more; of this output no greatest value was found.",
        _SYMBOLIC + "IndexMap.from_func(lambda i: [i * i], 1).padded_shape([n])",
        "Multiply and divide by constants, or pass the new shape.",
    ),
    Page(
        "VT0506",
        "That is not an index map",
        "The function takes another number of indices, its outputs are no indices, or separators stand in the wrong "
        "order.",
        _MAP + "IndexMap.from_func(lambda i, j: [i, j], 3)",
        "Write a function of as many indices as there are dimensions, which gives a list of indices.",
    ),
    Page(
        "VT0601",
        "The program cannot be compiled",
        "Machine code is not made of something: an opaque call that nothing defines, a type without instructions.",
        on(
            program('for i in range(16):\n    A[i] = T.call_extern("float32", "g", A[i])', _HALVES),
            "from verified_tir import build",
            "build(s)",
        ),
        "Replace the call, or lower the program first.",
    ),
    Page(
        "VT0602",
        "A compiled function cannot be called so",
        "An argument has another shape, type, or stride than was proved, or the number of arguments differs.",
        on(
            COPY,
            "import numpy as np",
            "from verified_tir import build",
            'build(s)(np.zeros(8, "float32"), np.zeros(16, "float32"))',
        ),
        "Pass arrays of the shapes and types that the message names.",
    ),
    Page(
        "VT0604",
        "A function of these parameters cannot be called from Python",
        "A parameter is a pointer without a buffer, a vector, or a shape whose size no argument tells.",
        on(
            program("for i in range(16):\n    A[i] = 0.0", f"p: T.handle, {_HALVES}"),
            "from verified_tir import build",
            "build(s)",
        ),
        "Declare a buffer for each pointer, and pass each size as a scalar or as an extent of its own.",
    ),
    Page(
        "VT0606",
        "An assertion of the program failed",
        "The compiled program came to a `T.Assert` whose condition is false of these arguments.",
        on(
            program(
                'with T.Assert(n > 3, "n is small"):\n    for i in range(16):\n        A[i] = 0.0',
                f"{_HALVES}, n: T.int32",
            ),
            "import numpy as np",
            "from verified_tir import build",
            'build(s)(np.zeros(16, "float32"), n=2)',
        ),
        "Call it with arguments of which the condition is true.",
    ),
)
