"""The command ``vtir``.

main        the commands; imports nothing heavy, so that ``--help`` is quick
commands_*  their options, a file for a group of commands
settings    what [tool.vtir] in pyproject.toml says
discover    which files the given paths mean
load        a schedule file, executed
verify      files to a report
explain     one schedule as a page or on the terminal
programs    the functions of a file, to be lowered or run
lower       a function through a pipeline
execute     a function compiled and called
progress    the bar that is shown meanwhile
imports     which files import which
changed     what changed since a revision of Git
watch       verify again what changes
new_project a project to begin with
doctor      what is installed and works
"""
