# `make demo` and `make test` need Python 3.11 or newer with pip and venv, and make. The first call of a target sets up .venv.
PYTHON ?= python3
# Of `make fuzz`, for each target.
SECONDS ?= 60
VENV   := .venv
BIN    := $(VENV)/bin
# What .venv has installed: the package alone, what the tests use, that and the tools of checks, or those of the documentation.
READY_BASE := $(VENV)/.ready-base
READY_TEST := $(VENV)/.ready-test
READY_DOCS := $(VENV)/.ready-docs
READY_DEV  := $(VENV)/.ready
READY_ALL  := $(VENV)/.ready-all
# Our own plug-in, whose tests run with the others.
PLUGIN := plugins/vse-ens-interop

PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
UV      = $(BIN)/python -m uv pip install --quiet --native-tls --python $(BIN)/python --constraint constraints.txt
# uv takes a quarter of the time. It knows nothing of pip's settings, such as a package index of one's own; then pip does it.
INSTALL = install() { $(PIP) uv && $(UV) --compile-bytecode --editable "$$@" || $(PIP) --editable "$$@"; }; install
# tests/conftest.py says which tests share a worker, and starts the longest first. Three workers keep two cores busy: tests
# of the page and of a cluster often wait.
PYTEST  = $(BIN)/pytest -n 3
# Compiled modules are kept, which halves the time to collect the tests from the second run on.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast check docs kernels kernels-interpreted kernels-checked fuzz mutants rehearse bench format clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	@echo "== making $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "vse-ens needs Python 3.11 or newer; call: make PYTHON=python3.11 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
		{ echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(READY_BASE): pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing vse-ens (once)"
	@$(INSTALL) "."
	@touch $@

$(READY_DOCS): pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing the documentation tools (once)"
	@$(INSTALL) ".[docs]"
	@touch $@ $(READY_BASE)

$(READY_TEST): pyproject.toml $(PLUGIN)/pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing what the tests use (once; takes a minute)"
	@$(INSTALL) ".[test]" --editable $(PLUGIN)
	@touch $@ $(READY_BASE)

$(READY_DEV): pyproject.toml $(PLUGIN)/pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing the development tools (once; takes a minute)"
	@$(INSTALL) ".[dev]" --editable $(PLUGIN)
	@touch $@ $(READY_BASE) $(READY_TEST)

$(READY_ALL): pyproject.toml $(PLUGIN)/pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing the tools of development and of the documentation (once; takes a minute)"
	@$(INSTALL) ".[dev,docs]" --editable $(PLUGIN)
	@touch $@ $(READY_BASE) $(READY_TEST) $(READY_DOCS) $(READY_DEV)

demo: $(READY_BASE) ## train on the built-in data set and show suggestions
	@echo "== vse demo"
	@$(BIN)/vse demo

test: $(READY_TEST) ## all tests; those of the documentation site need `make docs` once
	@echo "== pytest"
	@$(PYTEST)

test-fast: $(READY_TEST) ## four tests in five, in a minute: none of kernels or benchmarks, and none that takes a second
	@echo "== pytest, fast tests"
	@$(BIN)/pytest -n 2 -m "not browser and not cluster and not docs and not slow and not unhurried"

TSC = npx --yes --package typescript@5.9.3 -- tsc --project jsconfig.json
# Without npm the types of the JavaScript are not checked; in a workflow that is an error.
check: $(READY_DEV) ## lint, formatting, English, types, architecture
	@echo "== ruff check";  $(BIN)/ruff check .
	@echo "== ruff format"; $(BIN)/ruff format --check .
	@echo "== English"; $(BIN)/python -m tools.voice
	@echo "== mypy --strict"; $(BIN)/mypy
	@if command -v npx > /dev/null; then echo "== tsc --checkJs"; $(TSC); else echo "== tsc --checkJs: skipped, needs npm"; test -z "$$GITHUB_ACTIONS"; fi
	@echo "== architecture"; $(BIN)/pytest tests/test_architecture.py

docs: $(READY_DOCS) ## the documentation site, in build/docs
	@echo "== sphinx"
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

kernels: $(READY_TEST) ## the tests of the kernels without the compiler, and with bounds checks
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target kernels-interpreted kernels-checked

# Contracts of readers and formats call no kernel.
KERNEL_TESTS := tests/kernels tests/contracts/test_losses.py tests/contracts/test_samplers.py
kernels-interpreted: $(READY_TEST)
	@echo "== kernels without the compiler"
	@NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(KERNEL_TESTS) -W ignore::RuntimeWarning

kernels-checked: $(READY_TEST)
	@echo "== kernels with bounds checks, which need little optimization"
	@NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds-checked $(BIN)/pytest -n 2 $(KERNEL_TESTS) tests/train/engines/test_base.py tests/model/test_image_products.py

fuzz: $(READY_DEV) ## fuzz every reader and the loader of models: make fuzz SECONDS=60, for each of them
	@$(BIN)/python -m tests.fuzz $(SECONDS) $(TARGETS)

rehearse: $(BIN)/python ## build a release, install it in an empty environment, run README's lines; log in build/rehearsal.log
	@mkdir -p build
	@PYTHON=$(BIN)/python bash -o pipefail -c '.ci/steps build install 2>&1 | tee build/rehearsal.log'

bench: $(READY_TEST) ## every claim about speed, memory and accuracy; results go to benchmarks/results
	@echo "== benchmarks"
	@$(BIN)/python -m benchmarks

AREAS ?=
mutants: $(READY_TEST) ## change single lines and see whether the tests notice (AREAS="feedback security"); takes hours
	@echo "== mutants"
	@$(BIN)/python -m tools.mutation $(AREAS)

format: $(READY_DEV) ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

clean: ## remove the environment, caches and built documentation
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src plugins tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
