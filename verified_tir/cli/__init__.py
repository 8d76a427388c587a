"""The command ``vtir``.

main        the commands and their options; imports nothing heavy, so that ``--help`` is quick
discover    which files the given paths mean
load        a schedule file, executed
verify      files to a report
progress    the bar that is shown meanwhile
"""
