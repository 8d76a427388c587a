"""Rules of the kernel, applied without any tactic in between: families of small programs, and random ones.

A tactic asks for what it believes to be right; so a rule that forgets to ask something may go unnoticed behind a tactic
that looks first.  Here rules are applied to whatever there is, right or wrong.

    pool, building       the words of the grammars
    family               grammars, enumerated; one file for each group of rules
    random_programs, random_rules, programs_for_rules      larger programs, and rules at any place of them
    cases                all of that as a strategy
"""
