# Soft Lookup: the book, its notebooks and its tests. `make help` lists the targets.
# The first of them makes the environment .venv: what the book is built with, and, when it is wanted, everything else.

PYTHON ?= python3
NOTEBOOK ?=
PORT ?= 8000
PAPER ?= a4
URL ?=

NOTES = $(wildcard $(subst book/,book/more/,$(firstword $(subst -, ,$(NOTEBOOK))))-*.ipynb)

BIN := .venv/bin
BOOK := .venv/.book
READY := .venv/.ready
BUILD := $(BIN)/jupyter-book build . -W --keep-going -q
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses 4
NBVAL := $(PYTEST) --nbval --nbval-cell-timeout=900 --nbval-kernel-startup-timeout=300 -p no:hypothesispytest --dist loadfile
# They train, or draw what was trained, and are compared as an older processor computes them, not as the one at hand,
# on which they were recorded; make processors has others.
TRAINED := $(wildcard book/index.ipynb $(foreach n,10 11 12 15,book/$(n)-*.ipynb book/more/$(n)-*.ipynb))
TORCH := $(shell sed -n 's/^torch==\([^ ;]*\).*/\1/p' requirements.txt)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
LOCK := --quiet --universal --python-version 3.11 --fork-strategy fewest --no-annotate --custom-compile-command "make lock"
unexport PYTHONDONTWRITEBYTECODE # packages are compiled when they are first imported, and kept so

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help book test check format lint unit nbval browser chromium processors notebooks lab serve handout pdf \
	package bench environment lock repository clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

.venv/pyvenv.cfg:
	@"$(PYTHON)" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
		echo "This needs Python 3.11 or newer with its module venv (on Debian: apt-get install python3-venv)," \
		"and '$(PYTHON)' is $$("$(PYTHON)" --version 2> /dev/null || echo not there): name another," \
		"make PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -m venv .venv

$(BOOK): requirements-book.txt | .venv/pyvenv.cfg
	@echo "Installing into .venv what the book is built with: 60 MB to download, 260 MB on disk."
	@$(PIP) --quiet -r requirements-book.txt
	@touch $@

# Without a GPU of NVIDIA's, PyTorch as it is built for CPUs is a tenth of what the usual index has; if it can't be had
# from there, the usual one has to do.
$(READY): requirements.txt pyproject.toml | .venv/pyvenv.cfg
	@echo "Installing into .venv everything that runs and checks the book: 400 MB to download, 1.4 GB on disk."
	@if [ "$$(uname)" = Linux ] && ! nvidia-smi --list-gpus > /dev/null 2>&1; then $(PIP) --no-deps --retries 0 \
		--timeout 5 --extra-index-url https://download.pytorch.org/whl/cpu torch==$(TORCH) || true; fi
	@$(PIP) -r requirements.txt
	@touch $(BOOK) $@

book: $(BOOK) ## build the book and print where it is
	@$(BUILD) --all
	@echo "The book: $(CURDIR)/_build/html/index.html"

test: chromium lint unit nbval browser ## everything that CI checks

check: chromium ## what a change to one chapter needs: NOTEBOOK=book/06-self-attention.ipynb
	@[ -f "$(NOTEBOOK)" ] || { echo "make check NOTEBOOK=book/06-self-attention.ipynb: '$(NOTEBOOK)' is no file" >&2; exit 1; }
	$(NBVAL) "$(NOTEBOOK)" $(NOTES)
	@$(BUILD)
	$(PYTEST) -q tests/notebooks/test_form.py tests/notebooks/test_prose_numbers.py tests/browser/test_book.py \
		tests/browser/test_pages.py -k "test_form or test_prose_numbers or every_internal_link \
		$(foreach name,$(basename $(notdir $(NOTEBOOK) $(NOTES))),or $(name))"

format: $(READY) ## put code and notebooks into the form that git keeps
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .
	$(BIN)/python -m tools.notebooks.form

lint: $(READY) ## check the style of the code and of the notebooks
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

unit: $(READY) ## test the package and the tools
	$(PYTEST)

nbval: $(READY) ## re-execute every notebook and compare every output
	$(NBVAL) $(filter-out $(TRAINED),$(wildcard book/*.ipynb book/more/*.ipynb))
	ATEN_CPU_CAPABILITY=default $(NBVAL) $(TRAINED)

browser: chromium book ## test the built book in a real browser
	$(PYTEST) tests/browser --dist loadgroup --no-loadscope-reorder

chromium: $(READY)
	@$(BIN)/python -m tools.chromium

processors: $(READY) ## the notebooks and unit tests as other processors compute them, and a table of what differs
	@for as in ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE OMP_NUM_THREADS=2 \
		"ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=SSE4_2 ONEDNN_MAX_CPU_ISA=SSE41"; do \
		for tests in "--nbval --nbval-cell-timeout=900 -p no:hypothesispytest book" tests; do \
		found=$$(env OMP_NUM_THREADS=1 $$as $(BIN)/python -m pytest -q --tb=no $$tests) || failed=1; \
		echo "$$found" | grep -E "^(FAILED|ERROR)| (passed|failed|errors?) in " | sed "s/^/$$as | /"; \
		done; done; exit $${failed:-0}

notebooks: $(READY) ## re-execute and save the notebooks; one with NOTEBOOK=book/05-masking.ipynb
	$(BIN)/python -m tools.notebooks.execute $(NOTEBOOK)

lab: $(READY) ## JupyterLab on the book
	$(BIN)/python -m jupyter lab book

serve: book ## the built book on localhost; another port with PORT=8001
	@echo "http://127.0.0.1:$(PORT)/"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

handout: $(BOOK) ## the notebooks for a class, without solutions
	@$(BIN)/python -m tools.editions.handout

pdf: chromium book ## the chapters, and notes and reference, for print; on other paper with PAPER=letter
	@$(BIN)/python -m tools.editions.pdf $(PAPER)

package: $(READY) ## the package's wheel and source
	rm -rf _build/dist
	$(BIN)/python -m build --no-isolation --outdir _build/dist

bench: $(READY) ## the benchmarks
	$(BIN)/python -m tools.bench

environment: $(READY) ## everything that runs and checks the book, for an editor

lock: $(READY) ## resolve requirements-book.in and requirements.in into the locks
	$(PIP) --quiet uv
	$(BIN)/uv pip compile $(LOCK) requirements-book.in --output-file requirements-book.txt
	$(BIN)/uv pip compile $(LOCK) requirements.in --constraint requirements-book.txt --output-file requirements.txt

# The address stands in _config.yml; elsewhere as owner/name, and as where GitHub publishes that.
OLD = $(shell sed -n 's|^  url: https://github.com/||p' _config.yml)
NEW = $(patsubst %.git,%,$(patsubst https://github.com/%,%,$(URL)))
SITE = $(shell echo '$(1)' | awk -F/ '{ print tolower($$1) ".github.io/" $$2 }')
repository: ## change the book's public address: URL=https://github.com/owner/name
	@echo '$(URL)' | grep -qx 'https://github.com/[A-Za-z0-9-]*/[A-Za-z0-9._-]*' \
		|| { echo "make repository URL=https://github.com/owner/name: found '$(URL)'" >&2; exit 1; }
	@grep -rIlE --null --exclude-dir=.git --exclude-dir=.venv --exclude-dir=_build '$(OLD)|$(call SITE,$(OLD))' . \
		| xargs -0 perl -pi -e 's{\Q$(OLD)\E(?![\w-])}{$(NEW)}g; s{\Q$(call SITE,$(OLD))\E(?![\w-])}{$(call SITE,$(NEW))}g'

clean: ## remove what was built (the environment .venv stays)
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
