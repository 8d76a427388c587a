"""The same program in words that TVM does not fold: ``T.Add(a, b)`` for ``a + b``, ``T.Max(a, b)`` for ``T.max(a, b)``.

The operators and functions of TVM's script fold constants at once: ``T.float32(0) + A[i]`` is read as ``A[i]``, which
is another number if ``A[i]`` is ``-0.0``, and the greater one of ``0.0`` and ``-0.0`` as the first, where machine code
takes the second (docs/tvm-findings.md, section *Floats*).  If a round trip differs, and does not with the words, it
was that.
"""

from __future__ import annotations

import ast
from typing import Final

WORDS: Final[dict[type[ast.operator], str]] = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div"}
FUNCTIONS: Final = {"max": "Max", "min": "Min"}


class _Words(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        word = WORDS.get(type(node.op))
        if word is None:
            return node
        name = ast.Attribute(ast.Name("T", ast.Load()), word, ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, node.right], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name("T"), name) if name in FUNCTIONS:
                node.func.attr = FUNCTIONS[name]
        return node


def in_words(text: str) -> str:
    """The text of a program with calls that build nodes, and nothing else; what is in strings and slices stays."""
    return ast.unparse(ast.fix_missing_locations(_Words().visit(ast.parse(text))))
