# Everything here sets itself up from nothing: `make test` in a fresh clone makes .venv first.
# To use an environment that exists already, name it: `make test VENV=path/to/env` (it is then used as it is).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := crawltwin analytic simulate fitting validate

ifeq ($(origin VENV),file)
READY := $(VENV)/.ready
else
READY :=
endif

# One thread for each numerical library: two test workers share two cores, and results keep their last bit.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Byte-compiling every package at once would double the time of the set-up; Python does it when it imports.
PIP := $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadscope
BENCH ?=

.PHONY: help setup report live test test-all bench docs lint release clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## make .venv with everything in it (done by the others when needed)

report: $(READY)  ## from a log of 65,000 deliveries to a policy, and the paper checked (pages in report/)
	@mkdir -p report
	$(BIN)/crawltwin example trace --out report/demo.crawl.log
	$(BIN)/crawltwin plan report/demo.crawl.log --config docs/demo-plan.toml --report report/plan
	$(BIN)/crawltwin reproduce --report report/paper
	@echo "report/plan/report.html, report/plan/explore.html, report/paper/report.html"

live: $(READY)  ## ten minutes of real crawls on this machine, predicted beforehand (page in report/live)
	@mkdir -p report
	$(BIN)/crawltwin live demo --report report/live
	@echo "report/live/report.html"

test: lint  ## linters, types, import arrows, and every test that is not slow
	$(PYTEST) -m "not slow"

test-all: lint  ## the same with the slow tests
	$(PYTEST)

bench: $(READY)  ## side by side with the peers; BENCH="name ..." for some, BENCH="--help" for more
ifneq ($(READY),)
	@$(BIN)/python -c 'import duckdb, fastwarc, polars' 2>/dev/null || $(PIP) -e '.[bench]' || \
	  echo "Not every contestant could be installed; going on with those that are there." >&2
endif
	$(BIN)/python -m benchmarks $(BENCH)

docs: $(READY)  ## the documentation site with its notebooks run (open site/html/index.html)
ifneq ($(READY),)
	@$(BIN)/python -c 'import furo, myst_nb, sphinx' 2>/dev/null || $(PIP) -e '.[docs]'
endif
	$(BIN)/python -m sphinx -q -W --keep-going -E -d site/doctrees docs site/html
	@echo "site/html/index.html"

release: lint  ## sdist and wheel in dist/, installed into an empty environment, every command run from there
	rm -rf dist
	$(BIN)/python -m tests.installed.building dist

lint: $(READY)  ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

clean:  ## forget the environment, caches and reports
	rm -rf .venv build dist report site *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find $(PACKAGES) tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The oracles are other people's solvers, Scrapy is the crawler. Where a platform has no wheel for one, the rest is
# installed without it and the tests that need it are skipped.
$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "crawltwin needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian or Ubuntu: apt-get install python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }
	@if $(PIP) -e '.[dev,oracles,cluster,live]'; then :; else \
	  echo "The oracles and Scrapy could not be installed together; going on with those that can." >&2; \
	  $(PIP) -e '.[dev,cluster]' || exit 1; \
	  for other in stormpy line-solver ciw scrapy; do \
	    $(PIP) $$other || \
	      echo "No $$other on this platform: the tests that need it will be skipped." >&2; \
	  done; fi
	@touch $@
