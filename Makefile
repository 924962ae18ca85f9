# gpuops.node: the checkout's commands. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= python3

# Relative paths count from where make was called, also with -C.
export GPUOPS_CALLER_DIR := $(or $(PWD),$(CURDIR))
export CAPTURE LIMIT PRICE CURRENCY REPORT CASES

.PHONY: help diagnose test lint unit cases readme link clean distclean

help:
	@echo "make diagnose                            the bundled sample: gpu-17 after a kernel update in the night"
	@echo "make diagnose CAPTURE=path LIMIT=node    your own capture; without LIMIT, all its nodes"
	@echo "              PRICE=2.50 CURRENCY=EUR    what one GPU costs in one hour"
	@echo "              REPORT=dir                 write JSON and an HTML page there"
	@echo "make test                                every test and check;  make test ONLY='unit lint'  some of them"
	@echo "make lint | make unit                    the linters; the unit tests"
	@echo "make cases CASES=dir REPORT=out.json     judge a folder of cases and compare with what they expect"
	@echo "make readme                              put what the sample says into README.md"
	@echo "make link                                make this checkout the gpuops.node that Ansible finds everywhere"
	@echo "make clean | make distclean              remove what was built; and the Python environments too"

diagnose:
	@'$(PYTHON)' tests/tools/env.py diagnose

test:
	@'$(PYTHON)' tests/tools/env.py check $(ONLY)

lint:
	@'$(PYTHON)' tests/tools/env.py check ruff yamllint changelog docs lint

unit:
	@'$(PYTHON)' tests/tools/env.py check unit

cases:
	@'$(PYTHON)' tests/tools/env.py cases

readme:
	@'$(PYTHON)' tests/tools/env.py readme

link:
	@'$(PYTHON)' tests/tools/env.py link

clean:
	@'$(PYTHON)' tests/tools/env.py clean

distclean:
	@'$(PYTHON)' tests/tools/env.py distclean
