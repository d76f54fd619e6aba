# Judging by Comparison. `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
CORE   := .venv-core
FIRST  := _build/html/index.html
# Build back ends are pinned as well; older versions of pip ignore the second.
PIP    := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
          $(PY) -m pip install --quiet --disable-pip-version-check

# Threads of several processes that share few cores wait for one another more than they work.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book pdf test test-core attack lint format notebooks slides judge measure handout exam course pyodide copies lab bench bench-judge clean distclean

help: ## List the targets
	@printf '\nJudging by Comparison: an executable book and a package\n\n'
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile
	@printf '\nThe first target you run sets up $(VENV) with pinned versions (two to five minutes).\n'
	@if test -f $(FIRST); then printf '\nThe book is built: open $(FIRST) in a browser.\n\n'; \
	else printf '\nNext: make book (six minutes or so), then open $(FIRST) in a browser.\n\n'; fi

book: $(STAMP) ## Execute every chapter and render the book
	@$(PY) -m book.tools build

pdf: book ## The whole book as a PDF (needs Chromium)
	@$(PY) -m book.tools pdf

test: $(STAMP) ## Run what a change can break (ARGS="-k word" chooses, ARGS="-m long": what CI adds)
	@echo "Running the tests$(if $(ARGS),, (about four minutes on two cores)); the percentage says how far they are"
	@$(PY) -m pytest -n auto --maxprocesses 8 --dist loadgroup --max-worker-restart 3 $(or $(ARGS),-m "not long")

# numpy, scipy, cvxpy-base, clarabel and highspy are what poe imports.
test-core: ## Run the tests of poe in an environment with its five dependencies alone
	@test -x $(CORE)/bin/python || { echo "Setting up $(CORE) (half a minute, once)"; $(PYTHON) -m venv $(CORE); }
	@PIP_CONSTRAINT=constraints.txt $(CORE)/bin/python -m pip install --quiet --disable-pip-version-check \
	  numpy scipy cvxpy-base clarabel highspy pytest hypothesis
	@$(CORE)/bin/python -m pytest tests/poe $(ARGS)

attack: $(STAMP) ## All faults, kills, mutated replies and inputs (minutes; nightly)
	@POE_ATTACK=1 $(PY) -m pytest tests/judging/test_attack.py $(ARGS)
	@$(PY) -m tests.poe.attack_fits
	@$(PY) -m tests.poe.attack_optima

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

judge: $(STAMP) ## Add what running language models needs (torch, llama.cpp), and a small one
	@$(PIP) -e ".[dev,judge,llama]"
	@$(VENV)/bin/judging data fetch smollm2 || echo 'The judge smollm2 is not here; later: $(VENV)/bin/judging data fetch smollm2'
	@printf 'A judge that can judge, Qwen2.5-Coder 1.5B, takes a download of 1.1 GB, 2.3 GB of disk while it is put\ntogether and 2.3 GB of memory; no GPU: $(VENV)/bin/judging data fetch qwen\n'

measure: judge ## Ask the small model about the datasets (hours; goes on where it was)
	@$(PY) -m reproduction.ask_model

handout: $(STAMP) ## Write student notebooks without the solutions
	@$(PY) -m book.tools handout

exam: $(STAMP) ## Write an examination with its answers (SEED=7)
	@$(PY) -m book.tools exam --seed $(or $(SEED),1)

course: book ## Write the course kit: decks, handouts, solutions
	@$(PY) -m book.tools course

pyodide: $(STAMP) ## Fetch the browser's Python (106 MB), for the tests that press "Run this page here"
	@$(PY) -m tests.browser.pyodide

copies: book ## Write copies of the chapters as notebooks, yours to write in (_build/lab), for VS Code
	@$(PY) -m book.tools lab

lab: copies ## Open these copies in JupyterLab
	@mkdir -p $(VENV)/share/jupyter/lab/settings
	@cp book/tools/lab_settings.json $(VENV)/share/jupyter/lab/settings/overrides.json
	@$(PY) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) _build/lab

bench: $(STAMP) ## Run the benchmarks
	@$(PY) -m benchmarks

bench-judge: judge ## Measure how fast language models judge (on a GPU, if any)
	@$(PY) -m benchmarks.judge $(ARGS)

clean: ## Remove what was built, keep the environment and _build/lab
	@test ! -d _build || find _build -mindepth 1 -maxdepth 1 ! -name lab -exec rm -rf {} +
	@rm -rf dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find poe judging reproduction studies tests book notebooks benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove the environment as well
	@rm -rf $(VENV) $(CORE)

# Remade only when the requirements change.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing)."; \
	  echo "Name another one, for example: make PYTHON=python3.12 book"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV) with pinned versions (two to five minutes, once)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@rm -f $@
	@{ $(subst --quiet,--progress-bar off,$(PIP)) -e ".[dev]" && touch $@; } | awk \
	  '/^Collecting/ && ++n % 25 == 0 { print "  " n " packages found" } \
	   /^Installing collected/ { print "  " n " packages: putting them in place" } { fflush() }'
	@test -f $@
