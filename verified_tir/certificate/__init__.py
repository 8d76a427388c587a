"""Certificates: what was proved of a schedule, written down so that others can check it.

canonical    JSON with one spelling, and hashes of it
store        a folder of certificates: manifest, certificates, obligations
write        from a schedule to its certificate (knows the kernel's theorems)
certify      schedules made in Python to a folder of certificates
integrity    hashes, the chain of programs, texts that parse (knows neither kernel nor tactics)
check        integrity, and every obligation asked anew (likewise)
plans        how certificates make up the plan of a model (form and hashes)
write_plan   from a plan to its certificates and that document
plan_steps   whether the steps of a plan lead from the one graph to the other (``plan_layouts``: layouts as texts)
regenerate   the trace replayed through the kernel, and compared
"""
