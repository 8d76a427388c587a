"""Annotations and attributes: the dictionaries of ``T.func_attr``, ``T.sblock_attr`` and ``annotations=``.

Values are numbers, strings, expressions, (nested) lists, and the literals of ``verified_tir.ir.script.literals``.
"""

from __future__ import annotations

import ast

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Expr
from verified_tir.ir.script.literals import LITERAL_BUFFER, LiteralParser
from verified_tir.ir.script.values import Selection, checked_literal
from verified_tir.ir.stmt import Annotations, AnnotationValue


class AnnotationParser(LiteralParser):
    """Reads annotation dictionaries."""

    def annotations(self, node: ast.expr) -> Annotations:
        """``{"key": value, …}`` in the order of the text."""
        if not isinstance(node, ast.Dict):
            raise self.error(node, 'a dictionary is needed, such as {"key": 1}')
        found: dict[str, AnnotationValue] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.error(node, "** has no meaning here")
            name = self.string(key)
            if name in found:
                raise self.error(key, f"the key {name!r} is given twice")
            found[name] = self.annotation(value)
        return tuple(found.items())

    def merged(self, place: ast.expr, before: Annotations, given: Annotations, *, again: bool = False) -> Annotations:
        """What two directives give together; a key of both is refused, unless it may be said ``again``."""
        found = dict(before)
        for key, value in given:
            if key in found and not (again and (type(found[key]), found[key]) == (type(value), value)):
                raise self.error(place, f"the key {key!r} is given already")
            found[key] = value
        return tuple(found.items())

    def annotation(self, node: ast.expr) -> AnnotationValue:
        """One value of an annotation."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple([self.annotation(e) for e in node.elts])
        literal = self.literal(node)
        if literal is not None:
            return literal
        self.opaque_depth += 1
        try:
            found = self.value(node)
        finally:
            self.opaque_depth -= 1
        if isinstance(found, Selection):
            found = self.load(node, found)
        if isinstance(found, Buffer):
            return Call(HANDLE, LITERAL_BUFFER, (found.data,))
        if isinstance(found, bool | int | float):
            return checked_literal(found)
        if isinstance(found, (Expr, str)):
            return found
        raise self.error(node, "an annotation is a number, a string, an expression, or a list of these")
