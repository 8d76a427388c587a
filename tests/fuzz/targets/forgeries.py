"""What may be done to a plan, by numbers: texts, layouts, steps, constants, elements, hashes."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from tests.fuzz.targets.honest_plans import Honest, pool
from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.plan_graphs import array_hash
from verified_tir.certificate.plan_layouts import read_layout
from verified_tir.certificate.plans import KINDS, PARTS, REPLACEMENTS
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.layouts import pack

Numbers = Sequence[int]
ODD_NUMBERS: Final = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "16",
    "65536",
    "2147483648",
    "9" * 19,
    "9" * 400,
    "1e308",
    "0.5",
    "-0.0",
)
ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**31, 2**63, 10**300, "", "x", "none", "\0", "\u202e", "a\nb", "9" * 5000, [], {}, [[]], [None],
)  # fmt: skip
OPERATORS: Final = ("nn.relu", "tanh", "add", "subtract", "multiply", "nn.softmax", "exp", "negative", "nn.conv2d")
SPELLINGS: Final[tuple[Callable[[str, int], str], ...]] = (
    lambda line, _: line.replace("(", " (", 1),
    lambda line, _: line.replace("(", "((", 1).replace(")", "))", 1),
    lambda line, _: line + "  # a comment",
    lambda line, _: line + ";",
    lambda line, _: line + " ",
    lambda line, _: line + "\r",
    lambda line, _: line + "\f",
    lambda line, _: line.replace(" = ", " = \\\n        ", 1),
    lambda line, _: line.replace(" = ", " = __import__('os').abort() or ", 1),
    lambda line, _: line.replace(" = ", ": int = ", 1),
    lambda line, _: line.replace(", ", ",", 1),
    lambda line, _: line.replace("0.0", "0.00", 1),
    lambda line, _: line.replace("0", "00", 1),
    lambda line, _: line.replace("float32", "float64", 1),
    lambda line, _: line.replace("1", "１", 1),
    lambda line, _: line.replace("R.", "R .", 1),
    lambda line, n: line[: n % (len(line) + 1)] + "(" * 3000 + line[n % (len(line) + 1) :],
    lambda line, n: line[: n % (len(line) + 1)] + "-" * 5000 + line[n % (len(line) + 1) :],
    lambda line, n: line[: n % (len(line) + 1)],
    lambda line, n: line[: n % (len(line) + 1)] + chr(32 + n % 95) + line[n % (len(line) + 1) :],
)  # fmt: skip


@final
@dataclass(slots=True)
class Forged:
    """The documents of a plan and the elements beside it, as a forger left them; the arrays that he knows, by hash."""

    honest: Honest
    documents: dict[str, Any]
    constants: dict[str, bytes]
    arrays: dict[str, Array]
    sealed: bool = True

    @staticmethod
    def of(honest: Honest) -> Forged:
        """Nothing changed yet."""
        documents = copy.deepcopy(dict(honest.documents))
        return Forged(honest, documents, dict(honest.written.constants), dict(honest.arrays))

    def document(self, numbers: Numbers) -> dict[str, Any]:
        """One of the documents."""
        found: dict[str, Any] = self.documents[sorted(self.documents)[numbers[0] % len(self.documents)]]
        return found


# -- forgeries ---------------------------------------------------------------------------------------------------------


def _which(numbers: Numbers) -> str:
    return ("before", "after")[numbers[1] % 2]


def _put(document: dict[str, Any], which: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    document[which] = {"hash": text_hash(text.encode("utf-8", "replace").decode()), "text": text.split("\n")}


def _replaced(text: str, pattern: str, new: Callable[[str], str], number: int) -> str:
    """The text with one of what a pattern finds replaced."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    m = found[number % len(found)]
    return f"{text[: m.start()]}{new(m[0])}{text[m.end() :]}"


def _in_text(numbers: Numbers, forged: Forged, pattern: str, new: Callable[[str], str]) -> None:
    document, which = forged.document(numbers), _which(numbers)
    for side in ("before", "after") if numbers[3] % 4 == 0 else (which,):
        _put(document, side, _replaced("\n".join(document[side]["text"]), pattern, new, numbers[2]).split("\n"))


def number_in_text(forged: Forged, numbers: Numbers) -> None:
    """Another number in a graph's text: an element, an extent, an attribute, a constant of a program."""
    odd = ODD_NUMBERS[numbers[3] % len(ODD_NUMBERS)]
    _in_text(numbers, forged, r"(?<![\w.])\d+(?:\.\d+)?", lambda old: odd if odd != old else "5")


def name_in_text(forged: Forged, numbers: Numbers) -> None:
    """Another name of the same text."""
    document = forged.document(numbers)
    words = sorted(set(re.findall(r"[A-Za-z_]\w*", "\n".join(document[_which(numbers)]["text"]))))
    _in_text(numbers, forged, r"[A-Za-z_]\w*", lambda _: words[numbers[3] % len(words)])


def operator_in_text(forged: Forged, numbers: Numbers) -> None:
    """Another operator, of the graph or of a program."""
    if numbers[3] % 3:
        _in_text(numbers, forged, r"(?<=R\.)[\w.]+(?=\()", lambda _: OPERATORS[numbers[3] % len(OPERATORS)])
    else:
        _in_text(numbers, forged, r" [+*<>/-]+=? ", lambda _: (" + ", " - ", " * ", " < ", " // ")[numbers[3] % 5])


def operand_in_text(forged: Forged, numbers: Numbers) -> None:
    """A node reads another value; or a result of the graph is another one."""
    document, which = forged.document(numbers), _which(numbers)
    lines = list(document[which]["text"])
    start = next((k for k, line in enumerate(lines) if line.startswith("@R.function")), 0)
    bound = re.findall(r"(?<![\w.])[a-z]\w*(?=: R\.Tensor|(?:, \w+)* = R\.)", "\n".join(lines[start:]))
    if not bound:
        return
    pattern = rf"(?<=[(, ])(?:{'|'.join(sorted(bound))})(?=[,)]|$)"
    k = start + 2 + numbers[2] % max(1, len(lines) - start - 2)
    if k < len(lines):
        lines[k] = _replaced(lines[k], pattern, lambda _: bound[numbers[3] % len(bound)], numbers[0])
        _put(document, which, lines)


def line_of_text(forged: Forged, numbers: Numbers) -> None:
    """A line goes, comes twice, or changes places with another."""
    document, which = forged.document(numbers), _which(numbers)
    lines = list(document[which]["text"])
    j, k = numbers[2] % len(lines), numbers[3] % len(lines)
    match numbers[0] % 3:
        case 0:
            del lines[j]
        case 1:
            lines.insert(k, lines[j])
        case _:
            lines[j], lines[k] = lines[k], lines[j]
    _put(document, which, lines)


def spelling_of_text(forged: Forged, numbers: Numbers) -> None:
    """A line in another spelling."""
    document, which = forged.document(numbers), _which(numbers)
    lines = list(document[which]["text"])
    k = numbers[2] % len(lines)
    lines[k] = SPELLINGS[numbers[3] % len(SPELLINGS)](lines[k], numbers[2])
    _put(document, which, lines)


def _layouts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All that have a layout in a document."""
    found = [x for s in document["steps"] for x in s["values"]]
    return found + [c for which in ("before", "after") for c in document["constants"][which].values()]


def layout(forged: Forged, numbers: Numbers) -> None:
    """Another layout: of another value, or a text that is changed."""
    places = _layouts(forged.document(numbers))
    if not places:
        return
    place = places[numbers[1] % len(places)]
    others = sorted({x["layout"] for d in forged.documents.values() for x in _layouts(d)})
    text = place["layout"] if numbers[2] % 2 else others[numbers[2] % len(others)]
    deep = 10 ** (numbers[3] % 5)
    place["layout"] = (
        others[numbers[3] % len(others)],
        _replaced(text, r"(?<=int32 )\d+", lambda _: ODD_NUMBERS[numbers[3] % len(ODD_NUMBERS)], numbers[2]),
        _replaced(
            text, r'(?<=Binary ")\w+', lambda _: ("add", "mul", "floormod", "min", "shl")[numbers[3] % 5], numbers[2]
        ),
        _replaced(text, r"%\d", lambda _: f"%{numbers[3] % 5}", numbers[2]),
        f"(Padded {text} {('0x0.0p+0', '-0x0.0p+0', 'nan', '0x1.0000000000000p+0', 'none', '7')[numbers[3] % 6]} none)",
        f"(Padded {text} none [1 2 {ODD_NUMBERS[numbers[3] % 11]}])",
        _replaced(text, r"%\d", lambda old: f"{'(Not ' * deep}{old}{')' * deep}", numbers[2]),
        _replaced(text, r"%\d", lambda old: _squared(old, numbers[3] % 12), numbers[2]),
        f"lambda i0: [{'(' * deep}i0{')' * deep}]",
        text[: numbers[3] % (len(text) + 1)],
    )[numbers[0] % 10]


def _squared(text: str, times: int) -> str:
    for _ in range(times):
        text = f'(Binary "mul" {text} {text})'
    return text


def step(forged: Forged, numbers: Numbers) -> None:
    """A step is of another kind, goes, comes twice, stands elsewhere, or has something of another one."""
    steps = forged.document(numbers)["steps"]
    j, k = numbers[1] % len(steps), numbers[2] % len(steps)
    kinds = (*KINDS, *REPLACEMENTS)
    certificates = pool(forged.honest.number)
    match numbers[3] % 10:
        case 0:
            steps[j]["kind"] = kinds[numbers[2] % len(kinds)]
        case 1:
            del steps[j]
        case 2:
            steps.insert(k, copy.deepcopy(steps[j]))
        case 3:
            steps[j], steps[k] = steps[k], steps[j]
        case 4:
            key = sorted(steps[j])[numbers[0] % len(steps[j])]
            steps[j][key] = copy.deepcopy(steps[k][key])
        case 5:
            name = sorted(certificates)[numbers[2] % len(certificates)]
            steps[j] |= {"certificate": name, "root": certificates[name]["root"]}
        case 6:
            steps[j] |= {"certificate": None, "root": None, "kind": ("same", "external")[numbers[2] % 2]}
        case 7:
            steps[j]["function"] = (None, "library.f", "exit", "constant w_packed", "a\nb")[numbers[2] % 5]
        case 8:
            key = ("node", "results")[numbers[0] % 2]
            steps[j][key] = steps[j][key][::-1] if numbers[2] % 2 else [*steps[j][key], *steps[k][key]]
        case _:
            steps[j]["values"] = steps[j]["values"] * (numbers[2] % 3)


def constant(forged: Forged, numbers: Numbers) -> None:
    """A constant has something of another one, an odd shape, another hash; or the elements beside are others."""
    document = forged.document(numbers)
    constants = document["constants"][_which(numbers)]
    if not constants:
        return
    names = sorted(constants)
    one, other = (constants[names[numbers[k] % len(names)]] for k in (2, 3))
    hashes = sorted(forged.arrays)
    match numbers[3] % 7:
        case 0:
            key = sorted(one)[numbers[0] % len(one)]
            one[key] = copy.deepcopy(other[key])
        case 1:
            one["sha256"] = hashes[numbers[0] % len(hashes)]
        case 2:
            one["shape"] = [int(ODD_NUMBERS[numbers[0] % 10]), *one["shape"][1:]]
        case 3:
            one["dtype"] = ("int32", "float64", "bool", "float16", "no type", "float8_e5m2", "handle")[numbers[0] % 7]
        case 4:
            del constants[names[numbers[2] % len(names)]]
        case 5:
            one["of"] = sorted(document["constants"]["before"])[numbers[0] % len(document["constants"]["before"])]
        case _:
            one["sha256"] = text_hash(str(numbers[0]))


def packed_otherwise(forged: Forged, numbers: Numbers) -> None:
    """A constant after is another constant, or has another layout of the same shape, and the hash is right."""
    document = forged.document(numbers)
    listed, before = document["constants"]["after"], document["constants"]["before"]
    if not listed:
        return
    c = listed[sorted(listed)[numbers[1] % len(listed)]]
    of = sorted(before)[numbers[2] % len(before)] if numbers[3] % 4 == 0 else c["of"]
    text = c["layout"]
    places = [m.start() + 1 for m in re.finditer(r"%\d", text)]
    if places:  # two indices are exchanged
        j, k = (places[numbers[n] % len(places)] for n in (0, 3))
        digits = list(text)
        digits[j], digits[k] = digits[k], digits[j]
        text = "".join(digits)
    try:
        array = pack(read_layout(text), forged.arrays[before[of]["sha256"]], c["dtype"])
    except (GraphError, ValueError):
        return  # this is no layout
    old, new = c["sha256"], array_hash(array)
    c |= {"of": of, "layout": text, "sha256": new}
    forged.arrays[new] = array
    for other in forged.documents.values():  # those that begin where this one ends
        for listed in other["constants"].values() if other is not document else ():
            for one in listed.values():
                one["sha256"] = new if one["sha256"] == old else one["sha256"]


def beside(forged: Forged, numbers: Numbers) -> None:
    """Elements beside are others, more, fewer, or not there."""
    if not forged.constants:
        return
    digest = sorted(forged.constants)[numbers[0] % len(forged.constants)]
    data = bytearray(forged.constants[digest])
    match numbers[1] % 4:
        case 0:
            data[numbers[2] % len(data)] ^= 1 << numbers[3] % 8
        case 1:
            data = data[: numbers[2] % len(data)]
        case 2:
            data += bytes(1 + numbers[2] % 9)
        case _:
            del forged.constants[digest]
            return
    forged.constants[digest] = bytes(data)


def value(forged: Forged, numbers: Numbers) -> None:
    """Any value of a document is something odd."""
    at: Any = forged.document(numbers)
    for depth in range(2 + numbers[1] % 6):
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at))) if isinstance(at, list) else []
        if not keys:
            return
        key = keys[numbers[(2 + depth) % 4] % len(keys)]
        if depth == 1 + numbers[1] % 6 or not isinstance(at[key], (dict, list)) or not at[key]:
            at[key] = copy.deepcopy(ODD_VALUES[numbers[3] % len(ODD_VALUES)])
            return
        at = at[key]


def nested(forged: Forged, numbers: Numbers) -> None:
    """A document with something that is nested."""
    deep: Any = 0
    for _ in range(10 ** (numbers[1] % 3)):
        deep = [deep] if numbers[2] % 2 else {"a": deep}
    document = forged.document(numbers)
    document[sorted(document)[numbers[3] % len(document)]] = deep


def moved_between_documents(forged: Forged, numbers: Numbers) -> None:
    """A part of one document in another, or a document less."""
    names = sorted(forged.documents)
    one, other = names[numbers[0] % len(names)], names[numbers[1] % len(names)]
    if numbers[2] % 4 == 0 and len(names) > 1:
        del forged.documents[one]
        return
    part = PARTS[numbers[3] % len(PARTS)]
    forged.documents[one][part] = copy.deepcopy(forged.documents[other][part])


def hash_alone(forged: Forged, numbers: Numbers) -> None:
    """A value is another one, and no hash."""
    forged.sealed = False
    (value, step, layout, number_in_text)[numbers[0] % 4](forged, numbers)


Forgery = Callable[[Forged, Numbers], None]
FORGERIES: Final[dict[str, Forgery]] = {
    "a number": number_in_text, "a name": name_in_text, "an operator": operator_in_text, "an operand": operand_in_text,
    "a line": line_of_text, "a spelling": spelling_of_text, "a layout": layout, "a step": step, "a constant": constant,
    "a constant packed otherwise": packed_otherwise, "elements beside": beside, "a value": value, "nesting": nested,
    "another document": moved_between_documents, "no hashes": hash_alone,
}  # fmt: skip


__all__ = ["FORGERIES", "Forged", "Forgery", "Numbers"]
