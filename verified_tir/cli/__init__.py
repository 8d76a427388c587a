"""The command ``vtir``.

main        the commands; imports nothing heavy, so that ``--help`` is quick
commands_*  their options, a file for a group of commands
discover    which files the given paths mean
load        a schedule file, executed
verify      files to a report
explain     one schedule as a page or on the terminal
programs    the functions of a file, to be lowered or run
lower       a function through a pipeline
execute     a function compiled and called
progress    the bar that is shown meanwhile
"""
