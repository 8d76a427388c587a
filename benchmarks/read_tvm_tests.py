"""Read pairs of programs out of another compiler's test files, where they stand as ``before`` and ``expected``.

    python benchmarks/read_tvm_tests.py OUT.jsonl.gz test_tir_transform_simplify.py …

For tests of versions that are not installed, such as those of TVM 0.20, in which simplification still propagated what
buffers hold (RFC 77).  Each class with functions ``before`` and ``expected`` (or ``expected = before``) is one line, as
``tvm_passes.py`` reads it; the class's switches are its ``config``.  Nothing of the files is executed.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

KINDS = {
    "simplify": "tirx.StmtSimplify",
    "remove_no_op": "tirx.RemoveNoOp",
    "storage_rewrite": "tirx.StorageRewrite",
    "reduce_branching_through_overcompute": "tir.ReduceBranchingThroughOvercompute",
    "flatten_buffer": "tirx.FlattenBuffer",
    "hoist_expression": "s_tir.HoistExpression",
    "compact_buffer_region": "s_tir.CompactBufferAllocation",
    "unroll_loop": "tirx.UnrollLoop",
    "loop_partition": "s_tir.LoopPartition",
    "lower_init_block": "s_tir.LowerInitBlock",
    "remove_undef": "s_tir.RemoveStoreUndef",
    "remove_assume": "tirx.RemoveAssume",
}
"""The pass that a file tests, by the end of its name."""


def pairs(file: Path) -> Iterator[dict[str, object]]:
    """One record for each class with both programs."""
    kind = next((KINDS[k] for k in sorted(KINDS, key=len, reverse=True) if file.stem.endswith(k)), None)
    if kind is None:
        return
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        programs = {s.name: s for s in node.body if isinstance(s, ast.FunctionDef)}
        same = any(
            isinstance(s, ast.Assign) and ast.unparse(s) in ("expected = before", "after = before") for s in node.body
        )
        before = programs.get("before")
        after = before if same else programs.get("expected") or programs.get("after")
        if before is not None and after is not None:
            switches = [ast.unparse(s).replace(" ", "") for s in node.body if isinstance(s, ast.Assign)]
            yield {
                "id": f"{file.name}::{node.name}", "kind": kind, "level": "pass", "before": text(before),
                "after": text(after), "config": {kind: ", ".join(switches)},
            }  # fmt: skip


def text(function: ast.FunctionDef) -> str:
    """The program as a text of its own; ``main`` is its name on both sides."""
    function = ast.FunctionDef(**{**{f: getattr(function, f, None) for f in ast.FunctionDef._fields}, "name": "main"})
    function.decorator_list = [ast.parse("T.prim_func", mode="eval").body]
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        function.body = body[1:]
    return ast.unparse(ast.fix_missing_locations(function))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT.jsonl.gz")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    with gzip.open(options.out, "wt", encoding="utf-8") as out:
        for file in options.files:
            for record in pairs(file):
                print(json.dumps(record), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
