"""The search for the fastest candidate among those that a strategy leaves open; each is proved before it is timed.

space      the free parameters: what a strategy samples, and what is decided
bench      a candidate: proved, built, compared with the plain program, timed against the best so far
search     which candidates are tried (Optuna), here or by an executor, and which one is the best in the end
paste      the strategy's text with the decisions in it
"""
