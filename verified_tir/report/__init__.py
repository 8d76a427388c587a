"""What was verified, for people and for programs.

model      the report as plain values
collect    a schedule and its refusals as such values
diff       what a step changed in the program's text
text       for a terminal or a file
as_json    for programs; the schema is described in docs/how-to/verify.md
problems   what went wrong, as the formats of other tools need it
as_junit   for servers that show tests
as_sarif   for services and editors that show findings
as_github  for annotations of GitHub Actions
smt        every obligation as an SMT-LIB file
"""
