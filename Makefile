# Two commands do everything, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
# Two more than the two cores that most machines for tests have: many tests wait for processes that they have started.
WORKERS ?= 4
LOOK := from datasets import load_dataset; print(load_dataset("edos", split="train")[0])

# Many tests start processes, which without compiled modules take twice as long to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-fast fuzz lint docs space chat wheel wheel-test install clean

demo: install
	rm -rf $(DEMO) && mkdir -p $(DEMO)
	cd $(DEMO) && $(CURDIR)/$(BIN)/edos sample films
	cd $(DEMO) && $(CURDIR)/$(BIN)/edos curate films --out edos
	cd $(DEMO) && $(CURDIR)/$(BIN)/edos inspect edos --dialogues 5 --seed 1
	cd $(DEMO) && $(CURDIR)/$(BIN)/python -c 'from datasets import load_dataset; print(load_dataset("edos"))'
	@echo 'Yours to try:  cd $(DEMO) && $(CURDIR)/$(BIN)/python -c '"'"'$(LOOK)'"'"

# The thorough tests (tests/support/slow_tests.py) take more than half of the time of all, so `test` leaves them to
# `test-all`. What lint says follows the tests, beside which it runs, in one piece; the end is that of both.
test: TESTS := -m 'not thorough'
test test-all: install
	@mkdir -p build
	@$(MAKE) --no-print-directory lint > build/lint.log 2>&1 & lint=$$!; trap "kill $$lint" INT TERM; \
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(TESTS); tests=$$?; \
	wait $$lint; linted=$$?; cat build/lint.log; exit $$((tests + linted))

# The tests that take less than a second each and start no process, Hub or browser: for while one works.
test-fast: install
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

# Broken inputs for an hour (SECONDS=...): subtitles, archives, lines to label, recipes, records, models.
fuzz: install
	EDOS_FUZZ_SECONDS=$(or $(SECONDS),3600) $(BIN)/pytest tests/fuzz -n 2 --dist worksteal -rP

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python .ci/check_code.py

# The documentation site in build/site; what does not resolve is an error.
docs: install
	$(BIN)/mkdocs build --quiet

# The page of spaces/labeler on this machine. SEED: a folder of `edos crowd seed`, or a data set of the Hub.
space: install
	$(BIN)/python spaces/labeler/app.py $(if $(SEED),--seed '$(SEED)') $(if $(PORT),--port $(PORT))

# The page of spaces/chat on this machine. MODEL: folder or Hub id of another response model than the one that ships.
chat: install
	$(BIN)/python spaces/chat/app.py $(if $(MODEL),--model '$(MODEL)') $(if $(PORT),--port $(PORT))

# The sdist, the wheel built from it, and the same wheel built from the checkout, to compare.
wheel: install
	rm -rf dist build/dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --wheel --outdir build/dist
	cmp dist/*.whl build/dist/*.whl
	$(BIN)/python .ci/check_dist.py dist

wheel-test: wheel
	PYTHON='$(PYTHON)' .ci/wheel_test.sh

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
	"Python 3.10 or newer is needed; name it: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
