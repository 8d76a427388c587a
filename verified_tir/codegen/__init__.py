"""Machine code: from a theorem to a function that is called with arrays.

build             the way from a theorem to a ``Function``
emit, compile     a program as LLVM IR; LLVM IR as object code
entry_*           what a call must look like, checked in compiled code and in Python
runtime*          functions, their code in memory, layouts and assumptions of their arguments
cache*            object code on disk
"""
