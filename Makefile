# Judging by Comparison. `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
# Build back ends are pinned as well; older versions of pip ignore the second.
PIP    := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
          $(PY) -m pip install --quiet --disable-pip-version-check

# Threads of several processes that share few cores wait for one another more than they work.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book pdf test attack lint format notebooks slides judge measure handout check-handout course grade-course wasm lab bench bench-judge clean distclean

help: ## List the targets
	@printf '\nJudging by Comparison: an executable book and a package\n\n'
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile
	@printf '\nThe first target you run sets up $(VENV) with pinned versions (a minute or two).\n\n'

book: $(STAMP) ## Execute every chapter and render the book
	@$(PY) -m book.tools build

pdf: book ## The whole book as a PDF (needs Chromium)
	@$(PY) -m book.tools pdf

test: $(STAMP) ## Run the test suite (ARGS="-k word" to choose)
	@$(PY) -m pytest -n auto --maxprocesses 8 --dist loadgroup $(ARGS)

attack: $(STAMP) ## All faults, kills, mutated replies and inputs (minutes; nightly)
	@POE_ATTACK=1 $(PY) -m pytest tests/test_attack.py $(ARGS)
	@for one in tests/attack_*.py; do \
	  [ ! -e "$$one" ] || $(PY) -m tests.$$(basename $$one .py) || exit 1; done

lint: $(STAMP) ## Check style, format and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(STAMP) ## Format the code
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

notebooks: book ## Write every chapter as a plain .ipynb, with the wheel that runs it
	@$(PY) -m book.tools notebooks

slides: book ## Write a deck of slides for every chapter
	@$(PY) -m book.tools slides

judge: $(STAMP) ## Add what running language models needs (torch), and a small one
	@$(PIP) -e ".[dev,judge]"
	@$(VENV)/bin/poe data fetch smollm2 || echo 'The judge smollm2 is not here; later: $(VENV)/bin/poe data fetch smollm2'

measure: judge ## Ask the small model about the datasets (hours; goes on where it was)
	@$(PY) -m reproduction.measure

handout: $(STAMP) ## Write student notebooks without the solutions
	@$(PY) -m book.tools handout

check-handout: $(STAMP) ## Grade a student notebook (FILE=its path)
	@$(PY) -m book.tools check-handout $(if $(FILE),--file "$(FILE)")

course: book ## Write the course kit: decks, handouts, solutions
	@$(PY) -m book.tools course

grade-course: $(STAMP) ## Mark submissions into a CSV (FOLDER= KIT= CSV=)
	@$(PY) -m book.tools grade-course $(if $(FOLDER),--folder "$(FOLDER)") $(if $(KIT),--kit "$(KIT)") $(if $(CSV),--csv "$(CSV)")

wasm: $(STAMP) ## Run the pages' cells under a WebAssembly Python (ARGS="04 11" to choose)
	@$(PIP) -e ".[dev,wasm]"
	@$(PY) -m book.tools.run_wasm $(ARGS)

lab: $(STAMP) ## Open the chapters in JupyterLab
	@mkdir -p $(VENV)/share/jupyter/lab/settings
	@cp book/tools/lab_settings.json $(VENV)/share/jupyter/lab/settings/overrides.json
	@$(PY) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

bench: $(STAMP) ## Run the benchmarks
	@$(PY) -m benchmarks

bench-judge: judge ## Measure how fast language models judge (on a GPU, if any)
	@$(PY) -m benchmarks.judge $(ARGS)

clean: ## Remove what was built, keep the environment
	@rm -rf _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find poe reproduction tests book notebooks benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove the environment as well
	@rm -rf $(VENV)

# Remade only when the requirements change.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing)."; \
	  echo "Name another one, for example: make PYTHON=python3.12 book"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV) with pinned versions (a minute or two, once)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e ".[dev]"
	@touch $@
