# The commands of this repository. Each runs on a fresh machine: an environment is made where none is active.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# An active virtual environment or a conda environment other than base is used; else .venv is made.
ACTIVE := $(or $(VIRTUAL_ENV),$(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX)))
ENV := $(or $(ACTIVE),.venv)
PYTHON := $(ENV)/bin/python
BASE_PYTHON ?= python3
EXTRAS := test,explore,formats
# Named after the environment, and kept here: a target cannot have a space in its path.
STAMP := build/installed-$(shell printf %s "$(ENV)" | cksum | cut -d' ' -f1)
RUN := PYTHONDONTWRITEBYTECODE= "$(PYTHON)" -m

.PHONY: help page test test-all bench bench-report lint clean install absent

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

page: install ## build the shipped pages: the sweep's, the comparison, the compute cards, the tour
	@rm -rf build/reports
	@$(RUN) traincost page notebooks/runs/demo-sweep -f params/demo.yaml -o build/reports/demo-sweep
	@$(RUN) traincost compare notebooks/runs/demo-sweep-control notebooks/runs/demo-sweep-once -o build/reports/demo-sweep-once
	@$(RUN) traincost estimate notebooks/runs/demo-sweep -o build/reports/demo-sweep
	@$(RUN) traincost estimate params/milestones.yaml -f params/milestones-card.yaml -o build/reports/milestones
	@$(RUN) traincost publish notebooks/tour.ipynb -o build/reports/tour
	@"$(PYTHON)" -c "from traincost.pages.alike import update; update('build/reports', 'reports')"
	@$(RUN) traincost site reports

test: install ## run the tests that take no more than a few minutes
	@$(RUN) pytest -n auto -m "not slow and not torch and not browser and not scale"

test-all: install ## run every test; needs all extras, a Chromium and a LaTeX
	@$(RUN) pytest -n auto

bench: install ## measure against floor and peers (the peers and torch extras; PEERS_VENV=FOLDER adds ydata-profiling)
	@OPENBLAS_NUM_THREADS=1 $(RUN) pytest -q -s tests/bench --benchmarks $(if $(PEERS_VENV),--peers-venv "$(PEERS_VENV)")

bench-report: install ## build reports/benchmark/benchmark.html from what make bench measured
	@mkdir -p reports/benchmark
	@cp build/bench/results.json reports/benchmark/results.json
	@"$(PYTHON)" tests/bench/benchmark_page.py reports/benchmark/results.json reports/benchmark

lint: install ## check style and format
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .

clean: ## remove the environment made here, and caches
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

install: $(STAMP)

absent: # an environment that was removed is made again, whatever the stamp says
	@true

$(STAMP): pyproject.toml constraints.txt $(if $(ACTIVE),,$(if $(wildcard .venv/bin/python),,absent))
	@command -v "$(BASE_PYTHON)" >/dev/null || { echo "traincost needs Python 3.11 or newer; install it (Debian: apt install python3 python3-venv)"; exit 1; }
	@if [ -z "$(ACTIVE)" ] && [ ! -x "$(PYTHON)" ]; then \
	    "$(BASE_PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "traincost needs Python 3.11 or newer, $(BASE_PYTHON) is $$("$(BASE_PYTHON)" --version); set BASE_PYTHON"; exit 1; }; \
	    "$(BASE_PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(BASE_PYTHON) cannot make a virtual environment; install its venv module (Debian: apt install python3-venv)"; exit 1; }; \
	    echo "Making a virtual environment in .venv"; \
	    "$(BASE_PYTHON)" -m venv .venv || exit 1; \
	fi
	@echo "Installing traincost into $(ENV) (once; about a minute)"
	@"$(PYTHON)" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]' || { echo "The installation failed; see the messages above"; exit 1; }
	@mkdir -p build && touch "$(STAMP)"
