"""Whole texts: ``parse`` and ``parse_func``.

A text holds functions decorated with ``@T.prim_func``, classes decorated with ``@I.ir_module``, imports (ignored,
except that they may rename ``T``), constants such as ``N = 16`` and symbols such as ``n = TypeVar("n")``.  It is never
executed.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.dtype import VOID, DType
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.exprs import ExprParser, dotted
from verified_tir.ir.script.funcs import FuncParser
from verified_tir.ir.script.metadata import load
from verified_tir.ir.script.names import identifier
from verified_tir.ir.script.scope import Scope
from verified_tir.ir.script.separators import SeparatorNumbering
from verified_tir.ir.script.source import Located, ScriptError, Source
from verified_tir.ir.script.values import Value

_FUNCTION_OPTIONS = ("private", "check_well_formed", "s_tir", "persistent")
_NAMESPACES = frozenset({"tir", "tirx", "T"})


def parse(text: str, filename: str = "<string>", *, axis_separators: SeparatorNumbering = "tvm") -> IRModule:
    """The functions of a text, in its order; a module class contributes its functions.

    :param axis_separators: how the text counts them: by the axis behind, as TVM does, or by the one in front
        (``"rfc39"``).
    :raises ScriptError: for any mistake in the text.
    """
    return parse_source(Source(text, filename, numbering=axis_separators), Surroundings())


def parse_func(
    text: str, filename: str = "<string>", name: str | None = None, *, axis_separators: SeparatorNumbering = "tvm"
) -> PrimFunc:
    """The one function of a text, or the one called ``name``.

    :param axis_separators: see :func:`parse`.
    :raises ScriptError: for any mistake in the text, if there is no such function, or several and no name is given.
    """
    module = parse(text, filename, axis_separators=axis_separators)
    names = [key for key, _ in module.functions]
    if name is None:
        if len(names) != 1:
            raise ScriptError(f"one function is expected, the text has {len(names)}", filename, 1, 1)
        return module.functions[0][1]
    if name not in names:
        raise ScriptError(f"the text has no function {name}; it has {', '.join(names) or 'none'}", filename, 1, 1)
    return module[name]


@final
@dataclass(slots=True)
class Surroundings:
    """What stands around a source: constants, names of ``T``, symbols declared by ``TypeVar``, functions to call."""

    constants: Mapping[str, Value] = field(default_factory=dict)
    aliases: frozenset[str] = frozenset({"T"})
    type_vars: frozenset[str] = frozenset()
    functions: Mapping[str, DType] = field(default_factory=dict)
    """The type that each returns."""


def parse_source(source: Source, around: Surroundings) -> IRModule:
    """The functions of a source.

    :raises ScriptError: for any mistake in it.
    """
    tree = source.tree()
    try:
        contents = _Contents(
            source, around.constants, set(around.aliases), dict(around.functions), set(around.type_vars)
        )
        contents.read(tree)
        return contents.module()
    except RecursionError:
        raise source.too_deep() from None


@final
@dataclass(slots=True)
class _Contents:
    """What stands at the outermost level of a text."""

    source: Source
    outer: Mapping[str, Value]
    aliases: set[str]
    known: dict[str, DType]
    type_vars: set[str]
    constants: dict[str, Value] = field(default_factory=dict)
    functions: list[ast.FunctionDef] = field(default_factory=list)

    def read(self, nodes: list[ast.stmt]) -> None:
        """Sort the statements of a module or a class."""
        for node in nodes:
            match node:
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case ast.FunctionDef():
                    self._check_decorators(node)
                    self.functions.append(node)
                case ast.ClassDef(body=body):
                    self._check_class(node)
                    self.read(body)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assignment(name, value)
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="module_attrs" | "module_global_infos"))):
                    pass
                case _:
                    raise self.source.error(node, f"{type(node).__name__} has no meaning outside a function")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name in node.names:
            if name.name.split(".")[-1] in _NAMESPACES:
                self.aliases.add((name.asname or name.name).split(".")[0])

    def _check_class(self, node: ast.ClassDef) -> None:
        if not any(_ends_with(d, "ir_module") for d in node.decorator_list):
            raise self.source.error(node, f"the class {node.name} lacks @I.ir_module")
        bases = [b for b in node.bases if not _ends_with(b, "BasePyModule")]  # Relax's modules with Python functions
        extra: list[Located] = [*node.decorator_list[1:], *bases, *(k.value for k in node.keywords)]
        if extra:
            raise self.source.error(extra[0], "a module is a class with the one decorator @I.ir_module, and no bases")

    def _check_decorators(self, node: ast.FunctionDef) -> None:
        if not any(_ends_with(d, "prim_func") for d in node.decorator_list):
            raise self.source.error(node, f"the function {node.name} lacks @T.prim_func")
        if len(node.decorator_list) > 1:
            other = next((d for d in node.decorator_list if not _ends_with(d, "prim_func")), node.decorator_list[1])
            raise self.source.error(other, "a function has the one decorator @T.prim_func; another has no meaning here")
        (decorator,) = node.decorator_list
        if isinstance(decorator, ast.Call):
            self._check_options(decorator)
        type_params: list[Located] = getattr(node, "type_params", [])  # since Python 3.12
        if type_params:
            raise self.source.error(type_params[0], "a function has no type parameters here; n = T.int32() is a symbol")

    def _check_options(self, decorator: ast.Call) -> None:
        """``@T.prim_func(private=True)`` and the like: who may call the function, and what TVM checks of it."""
        args = match_arguments(self.source, decorator, ("func", *_FUNCTION_OPTIONS), positional=0)
        for name, given in args.items():
            if name == "func" or not isinstance(given, ast.Constant) or not isinstance(given.value, bool):
                raise self.source.error(given, f"{', '.join(_FUNCTION_OPTIONS)} are True or False")

    @contextmanager
    def _located(self, node: Located) -> Iterator[None]:
        """Reports at ``node`` what is refused inside."""
        try:
            yield
        except IRError as e:
            raise self.source.error(node, str(e)) from None

    def _assignment(self, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "TypeVar":
            self.type_vars.add(name)
            return
        match value:
            case ast.Call(func=called, args=[ast.Constant(value=str() as text)], keywords=[]) if dotted(called) in (
                "tvm.ir.load_json", "ir.load_json"
            ):  # fmt: skip
                with self._located(value):
                    self.constants[name] = load(text)
                return
        scope = Scope(_merged(self.constants, self.outer))
        found = ExprParser(self.source, scope, frozenset(self.aliases), {}).value(value)
        if not isinstance(found, (bool, int, float, str)):
            raise self.source.error(value, "only numbers and strings can be named outside a function")
        before = self.constants.setdefault(name, found)
        if before != found or type(before) is not type(found):  # functions are read after all names are known
            raise self.source.error(value, f"{name} has another value already; choose another name")

    def module(self) -> IRModule:
        """All functions, parsed."""
        names: set[str] = set()
        for node in self.functions:
            if node.name in names:
                raise self.source.error(node, f"the function {node.name} is defined twice")
            if (kept := identifier(node.name)) != node.name:  # it would be printed under another name
                raise self.source.error(node, f"no function can be called {node.name} here; {kept} would do")
            names.add(node.name)
            self.known[node.name] = self._return_type(node)
        outer: Mapping[str, Value] = _merged(self.constants, self.outer)
        parsed = []
        for node in self.functions:
            symbols = frozenset(self.type_vars & _names_in_signature(node))
            parser = FuncParser(self.source, node, frozenset(self.aliases), self.known, outer, symbols)
            parser.persistent = _option(node, "persistent")
            try:
                parsed.append((node.name, parser.parse()))
            except ScriptError:
                raise
            except IRError as e:
                raise self.source.error(node, str(e)) from None
        return IRModule(tuple(parsed))

    def _return_type(self, node: ast.FunctionDef) -> DType:
        """The declared type of the result; what is not a dtype is reported when the function itself is read."""
        match node.returns:
            case ast.Attribute(value=ast.Name(id=base), attr=name) if base in self.aliases and is_dtype_name(name):
                try:
                    return dtype_named(name)
                except IRError as e:
                    raise self.source.error(node.returns, str(e)) from None
        return VOID


def _option(node: ast.FunctionDef, name: str) -> ast.expr | None:
    """The option of the decorator that is set; ``None`` if it is not."""
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == name and isinstance(keyword.value, ast.Constant) and keyword.value.value:
                return keyword.value
    return None


def _names_in_signature(node: ast.FunctionDef) -> set[str]:
    """All names in the annotations, those inside quotes included."""
    found: set[str] = set()
    for arg in (*node.args.posonlyargs, *node.args.args):
        for inner in ast.walk(arg.annotation) if arg.annotation is not None else ():
            if isinstance(inner, ast.Name):
                found.add(inner.id)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                try:
                    quoted = ast.parse(inner.value, mode="eval")
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
                found.update(n.id for n in ast.walk(quoted) if isinstance(n, ast.Name))
    return found


def _ends_with(decorator: ast.expr, name: str) -> bool:
    """Whether the decorator is ``name``, ``T.name`` or ``T.name(…)``."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    match decorator:
        case ast.Name(id=found) | ast.Attribute(attr=found):
            return found == name
    return False


def _merged(inner: Mapping[str, Value], outer: Mapping[str, Value]) -> Mapping[str, Value]:
    """Names of ``inner``, then of ``outer``, which may be computed on demand."""
    # ChainMap only reads its maps here, though its type asks for mutable ones
    return ChainMap(inner, outer)  # type: ignore[arg-type]
