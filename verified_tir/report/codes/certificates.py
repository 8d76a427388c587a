"""VT08: certificates, and what can be found in them."""

from __future__ import annotations

from typing import Final

from verified_tir.report.codes.page import COPY, Page

_FILE = (
    "$ cat copy.py\nfrom verified_tir import schedule\nfrom verified_tir.script import tir as T\n"
    + COPY
    + COPY.replace("def copy", "def double").replace("A[i]", "A[i] * 2.0")
    + '\n\n@schedule(copy)\ndef tiled(s):\n    s.split("i", [4, 4])\n'
)
_CERTIFIED = _FILE + "$ vtir verify copy.py --certify proofs\n"
_MAPPED = _FILE.replace('s.split("i", [4, 4])', 'n = [8, 2]\n    s.transform_layout("A", lambda i: [i // n[1], i % 2])')

PAGES: Final = (
    Page(
        "VT0801",
        "There are no such certificates",
        "The folder holds no manifest that `vtir verify --certify` wrote, or the manifest is damaged.",
        "$ vtir check nowhere",
        "Write the certificates with `vtir verify --certify DIR`.",
    ),
    Page(
        "VT0804",
        "A certificate was changed, or is incomplete",
        "A hash is not that of what it stands for, or a file that is listed is missing or has another form.",
        _CERTIFIED + "$ sed -i s/copy.py/cope.py/ proofs/copy/tiled.json\n$ vtir check proofs",
        "Write the certificates again; if nobody meant to change them, find out who did.",
    ),
    Page(
        "VT0805",
        "The kernel does not come to what the certificate says",
        "The rules were applied again, and gave another program or other obligations.",
        _CERTIFIED + "$ sed -i s/0x0.0p+0/0x1.0p+0/;s/float32/float64/ proofs/copy/tiled.json\n$ vtir check proofs",
        "Do not trust the certificate; write it again with this version.",
    ),
    Page(
        "VT0806",
        "The recorded calls lead elsewhere",
        "`--regenerate` repeated the calls of primitives, and they gave another certificate, or were refused. Another "
        "version of the tool may choose other proofs.",
        "",
        "Write the certificates again with this version.",
    ),
    Page(
        "VT0807",
        "The certificate is about another program",
        "The program in the file that `--before` or `--after` names is not the one of the certificate.",
        _CERTIFIED + "$ vtir check proofs --before copy.py:double",
        "Name the program that was proved, or prove the one that you have.",
    ),
    Page(
        "VT0808",
        "The steps of a plan do not lead from its first graph to its last",
        "A program was replaced by another one, and no certificate of the folder is about the two.",
        "",
        "Write the plan and its certificates again.",
    ),
    Page(
        "VT0809",
        "A claim of the certificate is false",
        "A solver found values of which the claim does not hold: what the certificate says is not proved.",
        "",
        "Do not trust the certificate. If `vtir verify` has written it, this is a mistake of vtir: please report it.",
    ),
    Page(
        "VT0810",
        "A claim of the certificate was not decided",
        "The solver gave up within its resource limit.",
        _CERTIFIED + "$ vtir check proofs --budget 1",
        "Try a greater `--budget`, or the other solver.",
    ),
    Page(
        "VT0811",
        "A certificate could not be followed to its end",
        "The kernel did not decide something that it needs to apply a rule again, or a call was not recorded in a form "
        "that can be repeated.",
        "",
        "Try a greater `--budget`; leave `--regenerate` out, which is not needed for the proof.",
    ),
)
