"""A language server for schedule files: what ``vtir lsp`` runs.

places     lines of a text as ranges; whether a text is a schedule file
findings   the report of a file as diagnostics, hovers, lenses and hints
worker     verifies one text, in a process of its own
server     the protocol
"""
