"""VT038 and VT039: what stands in the way of a primitive, and has no code of its own."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import ROWS, STAGES, Page, on, program

_AB = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
_TWO = program("for i in range(16):\n    A[i] = 0.0\nfor j in range(16):\n    B[j] = A[j]", _AB)

PAGES: Final = (
    Page(
        "VT0380",
        "The loops do not fit the step",
        "What stands in the way of a step about loops, and has no code of its own; the reason says what it is.",
        on(_TWO.replace("range(16):\n        B", "T.parallel(16):\n        B"), 's.merge_adjacent_loops("i", "j")'),
        "Look at the nest with `print(s)`, and bring the loops side by side or into one another.",
    ),
    Page(
        "VT0381",
        "The mark or annotation does not fit",
        "What stands in the way of a step that marks or annotates, and has no code of its own.",
        on(STAGES, 's.annotate("double", "buffer_dim_align", 3)', 's.storage_align("double", 0, 0, 8, 1)'),
        "Remove the annotation that is there (`unannotate`), or write it in the form that the step reads.",
    ),
    Page(
        "VT0382",
        "The layout does not fit the step",
        "What stands in the way of a step about layouts, and has no code of its own.",
        on(
            program(
                'V = T.decl_buffer((16,), "int32", data=A.data)\nfor i in range(16):\n    B[i] = V[i]',
                'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")',
            ),
            's.transform_layout("A", lambda i: [i // 4, i % 4])',
        ),
        "Look at the reason; views and strides of a buffer are in the way of a change of its layout.",
    ),
    Page(
        "VT0383",
        "The copy cannot be made there",
        "What stands in the way of a step about buffers and copies, and has no code of its own.",
        on(
            program(
                'for i in range(16):\n    with T.sblock("b"):\n        v = T.axis.spatial(16, i)\n'
                '        T.evaluate(T.call_extern("int32", "f", A.data))\n        A[v] = A[v] + 1.0',
                _AB,
            ),
            's.cache_inplace("b", "A", "local")',
        ),
        "Make the copy at a place where one block alone uses the buffer.",
    ),
    Page(
        "VT0384",
        "The computation cannot be moved there",
        "What stands in the way of a step that moves or inlines a computation, and has no code of its own.",
        on(
            _TWO.replace("        A[i] = 0.0", '        with T.sblock("a"):\n            A[i] = 0.0'),
            's.compute_at("a", "j")',
        ),
        "Move it step by step; what is seen after the end (a parameter) stays where it is.",
    ),
    Page(
        "VT0385",
        "The reduction cannot be taken apart so",
        "What stands in the way of a step about reductions and writes, and has no code of its own.",
        on(
            program("for i in range(16):\n    B[0] = A[i] - B[0]", _AB),
            's.rfactor("i")',
        ),
        "Bring the reduction to the form `B[…] = B[…] + e`, with its initialisation before it.",
    ),
    Page(
        "VT0386",
        "The branch cannot be changed so",
        "What stands in the way of a step about branches, and has no code of its own.",
        on(ROWS, "s.hoist_expression()"),
        "Name the block that is meant, or `simplify` first.",
    ),
    Page(
        "VT0387",
        "The function or block cannot be made so",
        "What stands in the way of a step about functions and blocks, and has no code of its own.",
        on(
            program('for i in range(16):\n    x: T.float32 = A[i]\n    with T.sblock("row"):\n        B[i] = x', _AB),
            's.outline("row", "g")',
        ),
        "Move what the function cannot take into its block: `inline_let`, `compute_at`.",
    ),
    Page(
        "VT0390",
        "The step or pass cannot be applied",
        "What stands in the way of a lowering pass, or of a step of no family, and has no code of its own.",
        on(
            program(
                'B[0] = 0\nfor k in T.serial(16, annotations={"thread_allreduce": 4}):\n    B[0] = A[k] - B[0]',
                'A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")',
            ),
            "from verified_tir import lower",
            "lower.LowerThreadAllreduce().run(s)",
        ),
        "Leave the pass out of the pipeline, or take its step by hand in the schedule.",
    ),
)
