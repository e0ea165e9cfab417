# Two commands on a fresh machine: `make demo` and `make test`. Each does its own set-up and says so.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEEL_BIN := .venv-wheel/bin
PEERS := .venv-bench
TOOLS := .venv-tools
DOCS_VENV := .venv-docs
SIDE_BY_SIDE = -n $(LABS) --no-loadscope-reorder
N ?= 3
# Labs side by side: hosts' tests wait more than they compute.
LABS ?= 3

.PHONY: help demo test unit cluster training thorough chaos heavy bounds scale lint format man schema docs reference record lab lab-down bench clean engine images gpu-image data wheel venv
.DEFAULT_GOAL := help

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: engine $(VENV)/.ready ## Train a small example on two workers of this machine's own engine (hvdocker demo)
	@tests/setup/bootstrap.sh
	@$(BIN)/hvdocker demo

test: lint unit engine images data wheel ## Unit, cluster and training tests; fails if one is skipped or deselected
	@echo "test: the cluster's tests, through the installed CLI against real hosts"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest $(SIDE_BY_SIDE) tests/cluster

unit: $(VENV)/.ready ## Tests of the pure parts: seconds, no sockets
	@echo "unit: tests without hosts"
	@HVDOCKER_STRICT=1 $(BIN)/python -m pytest -n auto tests/unit

cluster: engine images wheel ## Tests of the installed CLI against real hosts
	@echo "cluster: the installed CLI against real hosts (the lab is made where it is missing)"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest $(SIDE_BY_SIDE) \
		$(filter-out $(wildcard tests/cluster/test_training*.py),$(wildcard tests/cluster/test_*.py))

training: engine images data wheel ## Real training on real hosts, with several launchers
	@echo "training: real jobs over two real hosts"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest $(SIDE_BY_SIDE) \
		$(wildcard tests/cluster/test_training*.py)

thorough: engine images data wheel ## More tests of clusters and training, not part of test: heads that are lost, the queue, GPUs, images from host to host
	@echo "thorough: what would take test past its time"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest $(SIDE_BY_SIDE) tests/thorough

chaos: engine images wheel ## Every fault of docs/faults.md, on real hosts; prints what was promised and seen (not part of test)
	@echo "chaos: the fault matrix"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest $(SIDE_BY_SIDE) \
		tests/cluster/test_faults.py tests/cluster/test_training_faults.py tests/chaos

heavy: engine images gpu-image wheel ## Long tests, not part of test: 3 GB of data, images built on hosts, the gpu image, registries, requirements
	@echo "heavy: tests that take minutes each"
	@HVDOCKER_STRICT=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest tests/heavy

bounds: $(VENV)/.ready $(TOOLS)/.ready ## Unit tests with the lowest and the newest dependencies on Python 3.10 to 3.13; wheel and sdist; pip, pipx, uv (not part of test)
	@echo "bounds: the wheel, the sdist and their installers"
	@HVDOCKER_STRICT=1 $(BIN)/python -m pytest tests/distribution
	@tests/setup/bounds.sh $(TOOLS)/bin/uv $(PYTHONS)

gpu-image: engine $(VENV)/.ready ## Build doc-hvd:gpu (CUDA, NCCL, TensorFlow, Horovod), without a GPU or a registry
	@PATH="$(CURDIR)/$(BIN):$$PATH" tests/setup/gpu-image.sh

scale: engine images wheel ## How cost grows: 500 SSH servers on loopback, 32 real hosts (not part of test)
	@tests/setup/sshd.sh
	@echo "scale: 500 SSH servers on loopback, then 32 real hosts; nothing else should run meanwhile"
	@HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker $(BIN)/python -m pytest tests/scale

lint: $(VENV)/.ready ## ruff and strict type checking
	@echo "lint: ruff, mypy"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	@MYPYPATH=.:images/doc-hvd/lib:images/doc-hvd/keras:images/doc-hvd/stacks $(BIN)/mypy images/doc-hvd/lib/inside images/doc-hvd/keras/legacy_keras.py images/doc-hvd/stacks/hvdocker_stacks.py images/doc-hvd/stacks/hvdocker_fail_fast.py

format: $(VENV)/.ready ## Let ruff put the code in order
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

man: $(VENV)/.ready ## Write the man page build/hvdocker.1 from the help of all commands (man -l build/hvdocker.1)
	@mkdir -p build && $(BIN)/python -m hvdocker.cli.man_page > build/hvdocker.1 && echo "man: build/hvdocker.1"

schema: $(VENV)/.ready ## Regenerate the inventory's JSON Schema (a test compares it with the model)
	@$(BIN)/hvdocker config --schema > hvdocker/inventory/inventory.schema.json

reference: $(VENV)/.ready ## Write the pages of docs/reference that come from code (a test compares them with it)
	@$(BIN)/python -m docs.generate

docs: $(DOCS_VENV)/.ready ## The documentation as a site in docs/_build/html; a warning or a dead link fails
	@$(DOCS_VENV)/bin/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

record: images data $(DOCS_VENV)/.ready ## Record the picture of the README: real commands on three hosts of the lab
	@$(DOCS_VENV)/bin/python -m docs.record

lab: engine $(VENV)/.ready ## N real hosts to play with (make lab N=3)
	@$(BIN)/python -m tests.cluster.lab up -n $(N)

lab-down: $(VENV)/.ready ## Remove the lab's hosts, volumes and network
	@first=$${HVDOCKER_LAB:-0}; for lab in $$(seq $$first $$((first + $(LABS) - 1))); do \
		HVDOCKER_LAB=$$lab $(BIN)/python -m tests.cluster.lab down; done

bench: engine images wheel $(PEERS)/.ready ## Speed, as ratios taken side by side in one run (ROWS=up,sync or ROWS=quick; KEEP=1 keeps them)
	@HVDOCKER_LAB_CLEAN=1 HVDOCKER_BIN=$(CURDIR)/$(WHEEL_BIN)/hvdocker ROWS="$(ROWS)" KEEP="$(KEEP)" $(BIN)/python -m bench

clean: ## Remove what make made here (images and the engine stay)
	@if [ -x $(BIN)/python ] && docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory lab-down; fi
	rm -rf $(VENV) .venv-wheel $(PEERS) $(TOOLS) $(DOCS_VENV) docs/_build docs/packages docs/repository hvdocker-demo bench/results .lab dist build .pytest_cache .mypy_cache .ruff_cache .cache

engine:
	@tests/setup/engine.sh

images: engine $(VENV)/.ready
	@PATH="$(CURDIR)/$(BIN):$$PATH" tests/setup/images.sh

data:
	@PYTHON="$(PYTHON)" tests/setup/data.sh

wheel: $(WHEEL_BIN)/.ready

venv: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml tests/setup/venv.sh
	@tests/setup/venv.sh $(VENV) "$(PYTHON)" -e '.[dev]'
	@touch $@

$(TOOLS)/.ready: tests/setup/venv.sh
	@tests/setup/venv.sh $(TOOLS) "$(PYTHON)" pipx uv
	@touch $@

$(DOCS_VENV)/.ready: pyproject.toml tests/setup/venv.sh
	@tests/setup/venv.sh $(DOCS_VENV) "$(PYTHON)" -e '.[docs]'
	@touch $@

$(PEERS)/.ready: bench/setup.sh
	@bench/setup.sh $(PEERS) "$(PYTHON)"
	@touch $@

$(WHEEL_BIN)/.ready: pyproject.toml $(VENV)/.ready $(shell find hvdocker templates images examples/digits -type f -not -name '*.pyc')
	@echo "wheel: building it and installing it with nothing else around"
	@rm -rf dist && $(BIN)/python -m build --wheel --outdir dist . > /dev/null
	@tests/setup/venv.sh .venv-wheel "$(PYTHON)" --force-reinstall dist/*.whl
	@touch $@
