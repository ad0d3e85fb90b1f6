# Soft Lookup: the book, its notebooks and its tests. `make help` lists the targets.
# Everything runs in .venv: the first target makes it, with the packages of requirements-book.txt where they will do,
# and the first that needs more adds those of requirements.txt. TORCH=cpu or TORCH=cuda says for what PyTorch is built.

PYTHON ?= python3
NOTEBOOK ?=
PORT ?= 8000
PAPER ?= a4
TORCH ?=

BIN := .venv/bin
BOOK := .venv/.book
READY := .venv/.ready$(TORCH)
INDEX := _build/html/index.html
LOCK := --quiet --universal --python-version 3.11 --fork-strategy fewest --no-annotate \
	--custom-compile-command "make lock"
PYTHON_SET_BY := $(origin PYTHON)
export PYTHON_SET_BY TORCH
unexport PYTHONDONTWRITEBYTECODE # packages are compiled when they are first imported, and kept so

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help book test lint unit nbval browser chromium notebooks lab serve handout pdf archive package bench environment lock repository clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

$(BOOK): requirements-book.txt
	@sh tools/environment.sh "$(PYTHON)" requirements-book.txt
	@touch $@

$(READY): requirements.txt requirements-model.txt pyproject.toml
	@sh tools/environment.sh "$(PYTHON)" requirements.txt
	@rm -f .venv/.ready*
	@touch $(BOOK) $@

book: $(BOOK) ## build the book and print where it is
	@$(BIN)/python -m tools.book
	@echo "The book: $(CURDIR)/$(INDEX)"

test: lint unit nbval browser ## everything that CI checks

lint: $(READY) ## check the style of the code and of the notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

unit: $(READY) ## test the package and the tools
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests --ignore=tests/browser -n 2

nbval: $(READY) ## re-execute every notebook and compare every output
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --nbval --nbval-current-env --nbval-cell-timeout=60 \
		-n 2 --dist loadfile -p no:hypothesispytest book

browser: chromium book ## test the built book in a real browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser -n 2 --dist loadgroup

chromium: $(READY)
	@$(BIN)/python -m tools.chromium > /dev/null

notebooks: $(READY) ## re-execute and save the notebooks; one with NOTEBOOK=book/05-masking.ipynb
	$(BIN)/python -m tools.notebooks $(NOTEBOOK)

lab: $(READY) ## JupyterLab on the book
	$(BIN)/jupyter lab book

serve: book ## the built book on localhost; another port with PORT=8001
	@echo "http://127.0.0.1:$(PORT)/"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

handout: $(BOOK) ## the notebooks for a class, without solutions
	@$(BIN)/python -m tools.handout

pdf: chromium book ## the whole book for print; on other paper with PAPER=letter
	@$(BIN)/python -m tools.pdf $(PAPER)

archive: pdf ## book, notebooks and printed book in one file
	@$(BIN)/python -m tools.archive

package: $(READY) ## the package's wheel and source, as committed
	@$(BIN)/python -m tools.package

bench: $(READY) ## the benchmarks
	$(BIN)/python -m tools.bench

environment: $(READY) ## everything that runs and checks the book, for an editor

lock: $(READY) ## resolve requirements.in and requirements-book.in into the locks
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile $(LOCK) requirements.in --output-file requirements.txt
	$(BIN)/uv pip compile $(LOCK) requirements-book.in --constraint requirements.txt --output-file requirements-book.txt

repository: $(BOOK) ## change the book's public address: URL=https://github.com/owner/name
	@$(BIN)/python tools/repository.py "$(URL)"

clean: ## remove what was built (the environment .venv stays)
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
