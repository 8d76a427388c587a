"""Values of annotations and attributes that are no expressions: dictionaries, targets, buffers, reducers.

Each becomes a call that nothing looks into and that the printer writes back; no call in a text has these names.

    ``dict{}``           a dictionary, as JSON
    ``target{}``         ``T.target(…)``: the target as JSON, or target and host
    ``buffer{}``         a buffer, by its data variable
    ``comm_reducer{}``   ``T.comm_reducer(lambda …, […])``: the lambda as text, its variables named as TVM prints them,
                         and the identity elements
"""

from __future__ import annotations

import ast
import json
from typing import Final

from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Expr, FloatImm, IntImm, StringImm, Var
from verified_tir.ir.script.exprs import dotted
from verified_tir.ir.script.opaque import REDUCER
from verified_tir.ir.script.regions import RegionParser
from verified_tir.ir.script.values import typed
from verified_tir.ir.visit import walk

LITERAL_DICT: Final = "dict{}"
LITERAL_TARGET: Final = "target{}"
LITERAL_BUFFER: Final = "buffer{}"


class LiteralParser(RegionParser):
    """Reads values that are no expressions."""

    def literal(self, node: ast.expr) -> Expr | None:
        """The call that stands for a literal; ``None`` if the node is none."""
        if isinstance(node, ast.Dict):
            return Call(HANDLE, LITERAL_DICT, (self._json(node),))
        if isinstance(node, ast.Call):
            name = self.t_name(node.func)
            if name == "target" or dotted(node.func) in ("tvm.target.Target", "target.Target", "Target"):
                return self._target(node)
            if name == "comm_reducer":
                return self._reducer(node)
        return None

    def _target(self, node: ast.Call) -> Expr:
        """``T.target("cuda", host="llvm")``, ``T.target({…, "host": {…}})``."""
        hosts = [k.value for k in node.keywords if k.arg == "host"]
        hosts += node.args[1:]
        if len(node.args) not in (1, 2) or len(hosts) > 1 or len(node.keywords) + len(node.args) - 1 != len(hosts):
            raise self.error(node, "T.target takes a string or a dictionary, and the host")
        for given in (node.args[0], *hosts):
            if not isinstance(given, (ast.Dict, ast.Constant)):
                raise self.error(given, "a target is a string or a dictionary")
        whole = node.args[0] if not hosts else ast.copy_location(ast.List([node.args[0], hosts[0]], ast.Load()), node)
        return Call(HANDLE, LITERAL_TARGET, (self._json(whole),))

    def _json(self, node: ast.expr) -> StringImm:
        """The literal as JSON."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Dict):
                keys = [k.value for k in inner.keys if isinstance(k, ast.Constant)]
                if len(set(keys)) < len(keys):
                    raise self.error(inner, "a key is given twice")
        parser = self

        class Plain(ast.NodeTransformer):
            """Takes the dictionary out of an inner ``T.target``, such as the host's."""

            def visit_Call(self, node: ast.Call) -> ast.AST:
                inner = parser.t_name(node.func) == "target" and len(node.args) == 1 and not node.keywords
                return self.visit(node.args[0]) if inner else node

        node = Plain().visit(node)
        try:
            text = json.dumps(ast.literal_eval(node), allow_nan=False)
            return StringImm(json.dumps(json.loads(text)))  # keys that JSON takes for one are one
        except (ValueError, TypeError, RecursionError):
            raise self.error(node, "a literal of numbers, strings, lists and dictionaries is needed") from None

    def _reducer(self, node: ast.Call) -> Expr:
        """``T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0)])``; several values are combined together."""
        match node:
            case ast.Call(args=[ast.Lambda() as combine, (ast.List() | ast.Tuple()) as listed], keywords=[]):
                pass
            case _:
                raise self.error(node, "T.comm_reducer takes a lambda and the list of identity elements")
        identities = [self.expr(e) for e in listed.elts]
        for place, e in zip(listed.elts, identities, strict=True):
            if not isinstance(e, (IntImm, FloatImm)):
                raise self.error(place, "an identity element of a reducer is a constant")
        names = [a.arg for a in combine.args.args]
        extra = (combine.args.vararg, combine.args.kwarg, *combine.args.kwonlyargs, *combine.args.defaults)
        if len(names) != 2 * len(identities) or len(set(names)) < len(names) or any(extra):
            raise self.error(combine, f"the lambda takes two variables for each of the {len(identities)} identities")
        n = len(identities)
        variables = {name: Var.fresh(name, identities[k % n].dtype) for k, name in enumerate(names)}
        results = combine.body.elts if isinstance(combine.body, ast.Tuple) else [combine.body]
        if len(results) != n:
            raise self.error(combine.body, f"the lambda gives {n} values, one for each identity")
        with self.scope.frame():
            for name, var in variables.items():
                self.scope.hide(name, var)
            for result, identity in zip(results, identities, strict=True):
                made = typed(self.number(result, identity.dtype), identity.dtype)
                if made.dtype is not identity.dtype:
                    raise self.error(result, f"the reducer gives {made.dtype} where its identity is {identity.dtype}")
                if free := [v.name for v in walk(made) if isinstance(v, Var) and v not in variables.values()]:
                    raise self.error(result, f"{free[0]} is no variable of the reducer")
        return Call(HANDLE, REDUCER, (StringImm(self._combiner(combine, names)), *identities))

    def _combiner(self, combine: ast.Lambda, names: list[str]) -> str:
        """The lambda with its variables called ``x0, x1, …, y0, y1, …``, as TVM prints them."""
        n = len(names) // 2
        canonical = {name: f"{'xy'[k // n]}{k % n}" for k, name in enumerate(names)}
        aliases = self.aliases

        class Renamed(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.Name:
                name = canonical.get(node.id) or ("T" if node.id in aliases else node.id)
                return ast.Name(name, node.ctx)

        results = combine.body.elts if isinstance(combine.body, ast.Tuple) else [combine.body]
        shown = [ast.unparse(Renamed().visit(ast.parse(ast.unparse(r), mode="eval").body)) for r in results]
        body = shown[0] if n == 1 else f"({', '.join(shown)})"
        return f"lambda {', '.join(canonical.values())}: {body}"
