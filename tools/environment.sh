#!/bin/sh
# Make .venv or refresh it from a lock. Usage: tools/environment.sh PYTHON LOCK (called by the Makefile).
set -eu

wanted=$1
usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; }

# What is wrong with an interpreter, in a few words.
fault() {
    command -v "$1" > /dev/null || {
        echo "'$1' was not found"
        return
    }
    version=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2> /dev/null) || {
        echo "'$1' does not run"
        return
    }
    if "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' > /dev/null 2>&1; then
        echo "'$1' is Python $version without the modules venv and ensurepip (on Debian: apt-get install python3-venv)"
    else
        echo "'$1' is Python $version"
    fi
}

if ! usable .venv/bin/python || ! .venv/bin/python -c 'import pip' 2> /dev/null; then
    candidates=$wanted
    case ${PYTHON_SET_BY:-} in
        command* | environment*) ;; # named on purpose: no other is tried
        *) candidates="$wanted python3.13 python3.12 python3.11 python3.14" ;;
    esac
    python=
    for candidate in $candidates; do
        if usable "$candidate"; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        echo "Soft Lookup needs Python 3.11 or newer, and $(fault "$wanted"): name another with make PYTHON=/path/to/python3." >&2
        exit 1
    fi
    "$python" -m venv --clear .venv
fi

exec .venv/bin/python tools/environment.py "$2"
