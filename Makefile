# make verify    prove the schedules in examples/, and check their certificates with two solvers
# make test      everything: lint, types, layers, documentation, tests
# make nightly   the tests whole: "make test" runs samples of those that take long
# make fuzz      a campaign with random programs and schedules, for an hour (TIME=10m for ten minutes)
#
# All set up a virtual environment first (VENV, .venv unless given), from nothing but Python 3.11 or newer.

VENV ?= .venv
# One more than two cores: some tests wait for processes that they start.
WORKERS ?= 3
# The examples of which proofs/ has the certificates whole.
KEPT = nhwc_to_nchwc.py row_summation.py
TIME ?= 60m
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

# Many tests start a Python of their own; to compile the package for each of them anew would be a fifth of the time.
export PYTHONDONTWRITEBYTECODE :=

# Each context of Z3 takes some megabytes and gives them back; glibc would hand them to the system and fetch them anew,
# page by page, which takes longer than most questions.
export MALLOC_TRIM_THRESHOLD_ := 500000000
export MALLOC_TOP_PAD_ := 33554432
export MALLOC_MMAP_THRESHOLD_ := 67108864

BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROVING := $(VENV)/.proving

.PHONY: help verify certificates test setup lint types layers docs links compiled unit nightly nets proofs exhaustive mutate fuzz clean

help:
	@sed -n 's/^# \?//;1,4p' Makefile

verify: $(PROVING)
	$(BIN)/vtir verify examples/
	$(MAKE) --no-print-directory certificates
	$(BIN)/vtir check build/certificates --solver both

# Of all examples but those in examples/rfc77, which are many; proofs/ keeps their hashes.
certificates: $(PROVING)
	rm -rf build/certificates
	cd examples && $(abspath $(BIN))/vtir verify *.py padding/*.py --quiet --certify ../build/certificates

# Every check runs, also after one has failed; those of the source side by side, then the tests, which take all cores.
test: $(READY)
	@$(MAKE) --no-print-directory --keep-going --jobs=$(WORKERS) --output-sync=target compiled lint types layers docs; \
	checked=$$?; $(MAKE) --no-print-directory unit && test $$checked -eq 0

setup: $(READY)

# What is installed is compiled when it is first imported: of most of it nobody imports more than a part.
$(PROVING): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; say which: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[cvc5]'
	@touch $@

# On top of it, what the tests need: TVM, onnxruntime, Sphinx and so on are three times as much.
$(READY): $(PROVING)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# Asks every external link of the pages; needs the network.
links: $(READY)
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/links

# Collects all tests, so that they and what they import are compiled.  The workers of "unit" begin at the same time, and
# each would compile everything for itself.
compiled: $(READY)
	$(BIN)/python -m pytest --collect-only --quiet --quiet > /dev/null

# Random tests draw less than pytest alone lets them, and much less than campaigns do.
unit: $(READY)
	VTIR_EXAMPLES=20 VTIR_EXHAUSTIVE=500 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The tests whole: every case of those of which "unit" runs a sample (tests/nightly.py), and as many examples of random
# tests as pytest alone lets them draw; takes about an hour on two cores, half of it for "nets".
nightly: $(READY)
	VTIR_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal; tested=$$?; \
	$(MAKE) --no-print-directory links && test $$tested -eq 0

# What proofs/ has of the examples, written anew: the hashes of all certificates, some of them whole, near misses, and
# two columns of the table of the rules.
proofs: certificates $(READY)
	cp build/certificates/manifest.json proofs/hashes.json
	rm -rf proofs/certificates
	cd examples && $(abspath $(BIN))/vtir verify $(KEPT) --quiet --certify ../proofs/certificates
	$(BIN)/python proofs/collect.py
	rm -rf proofs/library
	$(BIN)/python proofs/library.py
	$(BIN)/python -m pytest tests/test_proofs.py -k table --update-golden

# The rules of the kernel on a million programs of small grammars (in "unit": on some hundreds); takes hours.  When it is
# stopped, the same command goes on from what proofs/exhaustive.jsonl says was done with the kernel as it is.
exhaustive: $(READY)
	$(BIN)/python -m tests.kernel.exhaustive.campaign --programs 1000000 --jobs $(WORKERS) --log proofs/exhaustive.jsonl

# The nets whole (in "unit": a sample of each): names, views, calls, licensed results, races, forgery; takes half an hour.
nets: $(READY)
	VTIR_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/nets

# Each obligation and side condition of the kernel taken away, and the table of who noticed; takes hours, and goes on from
# where it was stopped.
mutate: $(READY)
	$(BIN)/python -m tests.mutation --jobs $(WORKERS); test $$? -le 1
	$(BIN)/python -m tests.mutation --write-docs

# A campaign of the fuzzer over all targets, for TIME; goes on where it was stopped, findings are in fuzz-findings/.
fuzz: $(READY)
	$(BIN)/vtir fuzz --time $(TIME) --jobs $(WORKERS)

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
