"""Schedules as pages and pictures, for people who want to see what happened.

Nothing here is trusted, and nothing is decided here: what is shown was proved or refused before.

story       a schedule that was verified: its steps with their lines, programs, layouts
relaid      the layouts that a step changes, at sizes that can be drawn
touched     the elements that an iteration, or a counterexample, touches
answers     what both programs compute where a step was refused
markup      HTML and SVG as values; what comes from a program is always text in them
drawing     the parts that all pictures have
grids       a layout, or an array, as a grid of cells
nests       loops as nested boxes
page        the page, from the ``sections`` of its steps, with ``page.css`` and ``page.js``
pictures    the same pictures as SVG files
terminal    the same story on a terminal
"""
