"""Annotations and attributes: the dictionaries of ``T.func_attr``, ``T.sblock_attr`` and ``annotations=``.

Values are numbers, strings, expressions and (nested) lists.  A dictionary, such as the one inside ``T.target({…})``,
becomes a call whose argument is the dictionary as JSON: nothing here looks into it, and the printer writes it back.
"""

from __future__ import annotations

import ast
import json

from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Expr, StringImm
from verified_tir.ir.script.regions import RegionParser
from verified_tir.ir.script.values import Selection, checked_literal
from verified_tir.ir.stmt import Annotations, AnnotationValue

# no call in a text has these names
LITERAL_DICT = "dict{}"
LITERAL_TARGET = "target{}"


class AnnotationParser(RegionParser):
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
        if isinstance(node, ast.Dict):
            return Call(HANDLE, LITERAL_DICT, (self._json(node),))
        if isinstance(node, ast.Call) and self.t_name(node.func) == "target":
            if len(node.args) != 1 or node.keywords:
                raise self.error(node, "T.target takes one dictionary here, with the host in it")
            inner = node.args[0]
            return Call(HANDLE, LITERAL_TARGET, (self._json(inner),))
        self.opaque_depth += 1
        try:
            found = self.value(node)
        finally:
            self.opaque_depth -= 1
        if isinstance(found, Selection):
            found = self.load(node, found)
        if isinstance(found, bool | int | float):
            return checked_literal(found)
        if isinstance(found, (Expr, str)):
            return found
        raise self.error(node, "an annotation is a number, a string, an expression, or a list of these")

    def _json(self, node: ast.expr) -> StringImm:
        """The literal as JSON."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Dict):
                keys = [k.value for k in inner.keys if isinstance(k, ast.Constant)]
                if len(set(keys)) < len(keys):
                    raise self.error(inner, "a key is given twice")
        try:
            text = json.dumps(ast.literal_eval(node), allow_nan=False)
            return StringImm(json.dumps(json.loads(text)))  # keys that JSON takes for one are one
        except (ValueError, TypeError, RecursionError):
            raise self.error(node, "a literal of numbers, strings, lists and dictionaries is needed") from None
