"""The faults of ``changed_source``: each a change of one line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """``old``, which stands once in the module, becomes ``new``."""

    target: str
    name: str
    module: str
    old: str
    new: str


def _faults(target: str, package: str, *rows: tuple[str, str, str, str]) -> list[Fault]:
    return [Fault(target, name, f"verified_tir.{package}.{module}", old, new) for name, module, old, new in rows]


FAULTS: list[Fault] = [
    *_faults(
        "parser",
        "ir.script",
        ("parentheses are dropped", "write_expr", 'return f"({text})" if own < level else text', "return text"),
        ("the right operand needs none", "write_expr", "self.expr(part.b, level + 1)", "self.expr(part.b, level)"),
        ("shifts bind like sums", "write_expr", '"shr": (">>", 8)', '"shr": (">>", 9)'),
        (
            "the type of a constant is dropped",
            "write_expr",
            'return f"T.{e.type}({e.value})", ATOM',
            "return str(e.value), ATOM",
        ),
        ("a negative zero is a zero", "write_expr", "return repr(v)\n", "return repr(v + 0.0)\n"),
        ("floats are rounded", "write_expr", "return repr(v)\n", 'return f"{v:.16e}"\n'),
        ("strides are dropped", "write_expr", "        if b.strides:", "        if False:"),
        ("an offset is dropped", "write_expr", "if b.elem_offset is not const(0):", "if False:"),
        ("a scope is dropped", "write_expr", 'if b.scope != "global" or inherited != "global":', "if False:"),
        ("separators are dropped", "write_expr", "        if b.axis_separators:", "        if False:"),
        (
            "a mask is dropped",
            "write_expr",
            ".vload([{self.exprs(indices)}], predicate={self.expr(predicate)})",
            ".vload([{self.exprs(indices)}])",
        ),
        ("a step of lanes is dropped", "write_expr", 'return text if step == 1 else f"{text}:{step}"', "return text"),
        ("names are not unique", "names", "while name in self.used:", "while False:"),
        (
            "shifts change places",
            "exprs",
            'ast.LShift: "shl", ast.RShift: "shr"',
            'ast.LShift: "shr", ast.RShift: "shl"',
        ),
        ("and binds bits like or", "exprs", 'ast.BitAnd: "bitand"', 'ast.BitAnd: "bitor"'),
        (
            "deep texts are no mistakes",
            "module",
            "        except ScriptError:\n                raise\n            except IRError",
            "        except ScriptError:\n                raise\n            except KeyError",
        ),
        (
            "a branch forgets the lets of its condition",
            "write_stmt",
            "case If() as inner if not has_let(inner.condition):",
            "case If() as inner:",
        ),
        ("nesting is not caught", "module", "    except RecursionError:", "    except KeyError:"),
        ("a syntax error has no line", "source", "line, column = e.lineno or 1, e.offset or 1", "line, column = 0, 1"),
        ("null bytes are not caught", "source", "except ValueError as e:  # null bytes", "except KeyError as e:"),
        (
            "a division of constants is not caught",
            "reader",
            "except (OverflowError, ZeroDivisionError, ValueError) as e:",
            "except (OverflowError, ValueError) as e:",
        ),
    ),
    *_faults(
        "codegen",
        "codegen",
        (
            "shifts right are unsigned",
            "operators",
            "text = f\"{'ashr' if signed else 'lshr'} {kind}\"",
            'text = f"lshr {kind}"',
        ),
        (
            "divisions are signed",
            "operators",
            "text = f\"{'s' if signed else 'u'}{_DIVIDE[op]} {kind}\"",
            'text = f"s{_DIVIDE[op]} {kind}"',
        ),
        ("comparisons are signed", "operators", '"s" if dtype.code == "int" else "u"', '"s"'),
        (
            "floors round to nought",
            "operators",
            'differ = b.assign(f"icmp slt {kind} {signs}, {zero}")',
            'differ = b.assign(f"icmp sgt {kind} {remainder}, {splat(dtype, dtype.max_value)}")',
        ),
        (
            "a power of two divides to nought",
            "operators",
            'f"ashr {kind} {x}, {y.bit_length() - 1}"',
            'f"sdiv {kind} {x}, {y}"',
        ),
        ("comparisons hold of NaN", "order", '"lt": "olt"', '"lt": "ult"'),
        (
            "LLVM sees what is compared",
            "order",
            "    if not definitions:\n        return text",
            "    if definitions:\n        return text",
        ),
        ("unequal is ordered", "operators", '"ne": "une"', '"ne": "one"'),
        ("bfloat16 is cut off", "floats", 'splat(words, 0x7FFF)}")  # ties', 'splat(words, 0)}")  # ties'),
        (
            "ties go up",
            "floats",
            'half = b.assign(f"add {word} {odd}, {splat(words, 0x7FFF)}")',
            'half = b.assign(f"or {word} {splat(words, 0x8000)}, {splat(words, 0)}")',
        ),
        (
            "float64 is rounded twice",
            "floats",
            "round_to_odd(b, x, lanes) if source.bits == 64 else x",
            'b.assign(f"fptrunc {REGISTER[source]} {x} to {REGISTER[lanes_of(FLOAT32, lanes)]}") '
            "if source.bits == 64 else x",
        ),
        (
            "sums are contracted",
            "operators",
            'return f"{_FLOAT[op]} {kind}", f"{_FLOAT[op]} {kind}", dtype',
            'return f"{_FLOAT[op]} contract {kind}", f"{_FLOAT[op]} contract {kind}", dtype',
        ),
        (
            "zeros have no sign",
            "operators",
            'return f"{_FLOAT[op]} {kind}", f"{_FLOAT[op]} {kind}", dtype',
            'return f"{_FLOAT[op]} nsz {kind}", f"{_FLOAT[op]} nsz {kind}", dtype',
        ),
        (
            "data do not wrap",
            "operators",
            "return f\"{op} {kind}\", f\"{op} {'nsw' if signed else 'nuw'} {kind}\", dtype",
            "return f\"{op} nsw {kind}\", f\"{op} {'nsw' if signed else 'nuw'} {kind}\", dtype",
        ),
        ("casts forget the sign", "casts", '"sext" if source.code == "int" else "zext"', '"zext"'),
        (
            "integers become unsigned floats",
            "casts",
            'how = "sitofp" if source.code == "int" else "uitofp"',
            'how = "uitofp"',
        ),
        (
            "floats become signed integers",
            "casts",
            'how = "fptosi" if target.code == "int" else "fptoui"',
            'how = "fptosi"',
        ),
        ("a NaN is no truth", "casts", "fcmp une {kind}", "fcmp one {kind}"),
        (
            "indices are not extended by sign",
            "indices",
            'how = "zext nneg" if flags & NONNEGATIVE else "sext"',
            'how = "zext"',
        ),
        ("a stride is forgotten", "views", "constant += index * stride", "constant += index"),
        ("an offset is forgotten", "views", "        constant += view.offset", "        constant += 0"),
        (
            "a mask loses its last lane",
            "memory",
            "    mask, kind = access.mask, REGISTER[bools(access.lanes)]\n",
            "    kind = REGISTER[bools(access.lanes)]\n"
            '    mask = b.assign(f"insertelement {kind} {access.mask}, i1 true, '
            'i64 {access.lanes - 1}")\n',
        ),
        (
            "lanes run forwards",
            "memory",
            "for g in groups for k in range(width)",
            "for g in reversed(groups) for k in range(width)",
        ),
        ("views never alias", "aliases", "return a[1] <= b[0] or b[1] <= a[0]", "return a != b"),
        (
            "a ramp wraps too early",
            "vectors",
            "(k * stride - low) % size + low for k",
            "(k * stride - low) % 128 + low for k",
        ),
        (
            "parallel loops lose an iteration",
            "parallel",
            "%longer = icmp ult i64 %k, %rest",
            "%longer = icmp ugt i64 %k, %rest",
        ),
        (
            "assertions always hold",
            "statements",
            'failed = b.assign(f"xor i1 {condition}, true")',
            'failed = b.assign(f"and i1 {condition}, false")',
        ),
        (
            "zeros are counted in 32 bits",
            "calls",
            "@llvm.ctlz.{suffix}({kind} {x}, i1 false)",
            "@llvm.ctlz.{suffix}({kind} {x}, i1 true)",
        ),
        (
            "an infinity is finite",
            "calls",
            "'oeq' if e.op == 'isinf' else 'one'",
            "'oeq' if e.op == 'isinf' else 'une'",
        ),
    ),
    *_faults(
        "simplify",
        "schedule",
        ("a negative divisor", "division", "return quotient, remainder.scale(-1)", "return quotient, remainder"),
        (
            "a carry is forgotten",
            "division",
            "return whole + carry, rest - carry * c",
            "return whole, rest - carry * c",
        ),
        (
            "less is at most",
            "simplify_index",
            "return self._at_least(difference.scale(-1) - 1, dtype)",
            "return self._at_least(difference.scale(-1), dtype)",
        ),
        ("a comparison is negated wrongly", "simplify_index", 'NEGATED = {"lt": "ge"', 'NEGATED = {"lt": "gt"'),
        (
            "arms change places",
            "simplify_index",
            "return b if condition is FALSE else kind(condition, a, b)",
            "return b if condition is FALSE else kind(condition, b, a)",
        ),
        (
            "low terms always are idle",
            "simplify_index",
            "least // size == most // size:\n                return self._coarsest",
            "least <= most:\n                return self._coarsest",
        ),
        (
            "a shift turns the other way",
            "simplify_index",
            "(-signed.offset - shift) % c",
            "(-signed.offset + shift) % c",
        ),
        ("digits of two numbers are one", "division", "if upper.source is source and upper.lower", "if upper.lower"),
        ("a digit may be any", "division", "and high.weight.same(low.weight * extent)", "and high.weight is not None"),
        (
            "truncation is floor",
            "simplify_index",
            "if self.bounds.nonneg(x) and self.bounds.positive(y):",
            "if self.bounds.positive(y):",
        ),
        ("the greater is the less", "simplify_index", "return b if least else a", "return a if least else b"),
        (
            "an interval is too narrow",
            "bounds",
            "most = None if y[1] is None else y[1] - 1",
            "most = None if y[1] is None else y[1] - 2",
        ),
        (
            "products of intervals forget signs",
            "bounds",
            "return min(corners), max(corners)",
            "return corners[0], corners[-1]",
        ),
        (
            "an interval of a choice is one arm's",
            "bounds",
            "                return _least(al, bl), _greatest(ah, bh)\n            case _:",
            "                return al, ah\n            case _:",
        ),
    ),
    *_faults(
        "simplify",
        "logic",
        (
            "not below is below",
            "formula",
            '    if a.op == "<=":\n        return lt(a.args[1], a.args[0])',
            '    if a.op == "<=":\n        return le(a.args[1], a.args[0])',
        ),
        (
            "a sum forgets its constant",
            "formula",
            "return add(a.args[0], integer(value_of(a.args[1]) + k))",
            "return add(a.args[0], integer(k))",
        ),
        (
            "differences change sign",
            "formula",
            "return add(a, integer(-value_of(b)))",
            "return add(a, integer(value_of(b)))",
        ),
        (
            "floor of a negative divisor",
            "formula",
            "else euclid_div(neg(a), neg(b))\n    return ite(lt(integer(0), b), euclid_div(a, b)",
            "else euclid_div(a, b)\n    return ite(lt(integer(0), b), euclid_div(a, b)",
        ),
        (
            "remainders are never negative",
            "formula",
            "    return ite(le(integer(0), a), euclid_mod(a, b), neg(euclid_mod(neg(a), b)))",
            "    return euclid_mod(a, b)",
        ),
        (
            "wrapping is off by one",
            "formula",
            "half = integer(1 << (bits - 1))",
            "half = integer((1 << (bits - 1)) - 1)",
        ),
        (
            "what is implied implies",
            "formula",
            "    if b is FALSE:\n        return not_(a)",
            "    if b is FALSE:\n        return a",
        ),
        ("bits between zero and all", "partly_known", 'found, none if op == "bvxor" else left', "found, left"),
        (
            "a product with one",
            "partly_known",
            "implies(eq(x, one), eq(found, y))",
            "implies(eq(x, one), eq(found, x))",
        ),
        (
            "floats of one operation are one",
            "congruence",
            'f"float constant {t.sort} {t.payload}"',
            'f"float constant {t.sort}"',
        ),
        (
            "verdicts of similar questions are one",
            "solver",
            "key = script.text, self.budget",
            "key = script.text[:180], self.budget",
        ),
        (
            "the store forgets half of the question",
            "verdict_store",
            "digest.update(text.encode())",
            "digest.update(text[:180].encode())",
        ),
        ("numbers lose their sign in text", "smtlib", 'return str(v) if v >= 0 else f"(- {-v})"', "return str(abs(v))"),
        ("a model is another one", "solver", "found[short] = value.as_long()", "found[short] = value.as_long() + 1"),
        (
            "conjunctions are proved by their first part",
            "solver",
            "            if not isinstance(verdict, Proved):\n                return verdict\n        return Proved()",
            "            return verdict\n        return Proved()",
        ),
        (
            "premises are dropped",
            "solver",
            "return self._prove((*given, goal.args[0]), goal.args[1], small)",
            "return self._prove(given, goal.args[0], small)",
        ),
    ),
    *_faults(
        "simplify",
        "schedule",
        (
            "a box is too small",
            "index_layout",
            "return const(int(values.max()) + 1, output.dtype)",
            "return const(int(values.max()), output.dtype)",
        ),
        (
            "a box is too large",
            "index_layout",
            "return const(high + 1, output.dtype)",
            "return const(high + 2, output.dtype)",
        ),
        ("padding is filled before", "index_map", "flat[...] = pad_value", "flat[0] = pad_value"),
    ),
]
