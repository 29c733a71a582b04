# Everything runs in .venv in the project directory.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Python keeps what it compiles, apart from the sources. Otherwise, every worker and every command compiles all again.
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL: # the testbed measures time and must run alone
.PHONY: help demo test integration testbed kernels check format lint words types layers nightly nightly-long nightly-testbed nightly-python bench ratio pictures docs clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/.ringsched ## plan an example by every policy, compare, write and verify a plan
	$(BIN)/python examples/compare_policies.py examples/first.toml
	@mkdir -p demo
	$(BIN)/ringsched plan examples/first.toml -o demo/plan.json
	$(BIN)/ringsched verify examples/first.toml demo/plan.json

PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: kernels ## the tests of the package
	$(PYTEST) -m "not integration and not slow and not testbed"

integration: kernels ## the tests with real Slurm, browsers and PyTorch, and all commands of README and docs
	$(PYTEST) -m "integration and not slow and not testbed"

# Compiled once, before parallel tests need them.
kernels: $(VENV)/.dev
	@$(BIN)/python -m ringsched.compiling

testbed: $(VENV)/.dev ## measure real rings between network namespaces; must run alone, because it tests timing
	$(BIN)/python -m pytest -m "testbed and not slow" tests/calibrate

check: $(VENV)/.dev ## what CI runs: format, lint, words, types, import layers, documentation site, tests
	@$(MAKE) kernels & kernels=$$!; $(MAKE) format lint words types layers docs && wait $$kernels
	@$(MAKE) test integration testbed

format: $(VENV)/.dev
	$(BIN)/ruff format --check src tests examples benchmarks docs tools

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests examples benchmarks docs tools

words: $(VENV)/.dev ## check spelling, banned phrases and long sentences
	$(BIN)/codespell *.md docs src examples benchmarks tools
	$(BIN)/python tools/words.py

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

# Those that run kernels; the others would show nothing new as plain Python.
KERNEL_TESTS := $(addprefix tests/,analysis bounds contention differential engine online policies property regression rules search)

# What `check` has not run: the other tests would be the same again.
nightly: kernels ## the long runs, properties with fresh random examples, and the kernels as plain Python
	@$(MAKE) --keep-going nightly-long nightly-testbed nightly-python # a failure of one hides none of another

nightly-long:
	HYPOTHESIS_PROFILE=search $(PYTEST) -m "(slow or hypothesis) and not testbed"

nightly-testbed:
	$(BIN)/python -m pytest -m testbed tests/calibrate

nightly-python:
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "not slow and not testbed" $(KERNEL_TESTS)

bench: $(VENV)/.dev kernels ## measure, keep the results, write the figures into README and docs; about 25 minutes
	$(BIN)/python -m benchmarks.run

ratio: $(VENV)/.dev ## compare the speed with another checkout, run alternately: make ratio BASE=directory
	@test -n "$(BASE)" || { echo "give the checkout to compare with: make ratio BASE=directory" >&2; exit 2; }
	$(BIN)/python -m benchmarks.interleaved --base "$(BASE)"

pictures: $(VENV)/.dev ## redraw the pictures of README and docs; screenshots need chromium
	$(BIN)/python docs/pictures/make.py

docs: $(VENV)/.dev ## build the documentation site, with warnings as errors: build/docs/index.html
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/doctrees docs build/docs
	@echo "site built: build/docs/index.html"

clean: ## remove the environment, the site and all caches
	rm -rf $(VENV) demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The package itself, editable; rebuilt when its metadata change.
$(VENV)/.ringsched: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ringsched needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.ringsched
	$(PIP) --editable '.[dev]'
	@touch $@
