# Everything a stranger needs: `make demo`, `make test`. Each target sets up .venv first, once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READY_DOCS := $(VENV)/.ready-docs

.DEFAULT_GOAL := help
.PHONY: help demo test check docs kernels bench format clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@echo "== setting up $(VENV) (once; takes a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "vse-ens needs Python 3.11 or newer; call: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: $(READY) ## run the main job on the built-in data set
	@echo "== vse demo"
	@$(BIN)/vse demo

test: $(READY) ## all tests
	@echo "== pytest"
	@$(BIN)/pytest -n 2 --dist loadfile

check: $(READY) ## lint, formatting, types, architecture
	@echo "== ruff check";  $(BIN)/ruff check .
	@echo "== ruff format"; $(BIN)/ruff format --check .
	@echo "== mypy --strict"; $(BIN)/mypy
	@echo "== architecture"; $(BIN)/pytest tests/test_architecture.py

$(READY_DOCS): pyproject.toml constraints.txt | $(READY)
	@echo "== setting up the documentation tools (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	@touch $@

docs: $(READY_DOCS) ## the documentation site, in build/docs
	@echo "== sphinx"
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

kernels: $(READY) ## the tests of kernels once more: as plain Python, and with bounds checks
	@echo "== kernels without the compiler"
	@NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 --dist loadfile tests/kernels tests/contracts -W ignore::RuntimeWarning
	@echo "== kernels with bounds checks"
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds-checked $(BIN)/pytest -n 2 --dist loadfile tests/kernels tests/contracts tests/train/engines/test_base.py

bench: $(READY) ## every claim about speed, memory and accuracy; results go to benchmarks/results
	@echo "== benchmarks"
	@$(BIN)/python -m benchmarks

format: $(READY) ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
