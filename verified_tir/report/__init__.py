"""What was verified, for people and for programs.

model      the report as plain values
collect    a schedule and its refusals as such values
diff       what a step changed in the program's text
text       for a terminal or a file
as_json    for programs; the schema is described in docs/how-to/verify.md
smt        every obligation as an SMT-LIB file
"""
