# SPDX-License-Identifier: Apache-2.0
#
# The commands of this project. Meson builds it (meson.build); a command longer than one line is a script in tools/.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: all demo test bench table-one table-one-full mutants mutants-http mutants-rest mutants-connections mutants-threads mutants-oracle mutants-apache deciders live-offline survey replays soak fuzz install clean

all: build/setup-build.stamp
	@tools/configure build --prefix=$(abspath $(PREFIX)) -Db_lto=true
	@[ -e build/antiphon ] || echo 'building: about a minute the first time'
	@ninja -C build --quiet release | sed '/no work to do/d'

# Each target installs only the packages that it needs: tools/setup GROUP.
build/setup-%.stamp: tools/setup
	@tools/setup $*
	@mkdir -p build && touch $@

# The demonstration uses the release build if there is one. Otherwise it compiles only the program and two servers, without
# link-time optimization.
demo: build/setup-build.stamp
	@if [ -e build/antiphon ]; then \
	    $(MAKE) --no-print-directory all && ANTIPHON=build/antiphon bash examples/demo.sh; \
	else \
	    echo 'building: about half a minute the first time'; \
	    tools/configure build/demo -Db_lto=false -Doptimization=2 -Ddebug=false && \
	    ninja -C build/demo --quiet antiphon subjects/swap subjects/swap-mutant-08 | sed '/no work to do/d' && \
	    ANTIPHON=build/demo/antiphon ANTIPHON_SUBJECTS=build/demo/subjects bash examples/demo.sh; \
	fi

# Runs all tests: with gcc, with sanitizers, and with clang. The last line has the counts.
test: build/setup-test.stamp
	@tools/test

bench: build/setup-bench.stamp all
	@tools/bench

# Computes the numbers of sequences of the built-in programs; table-one-full visits all sequences of dme-4.
table-one: all
	@tools/table-one

table-one-full: all
	@tools/table-one --full

# Tests each mutant of the swap server repeatedly; every test must reject its mutant.
mutants: all
	@tools/mutants

# Tests the mutants of the web server, and real web servers behind a fault proxy.
mutants-http: build/setup-http.stamp all
	@tools/mutants-http

# Tests the faulty servers of examples/connections.
mutants-connections: build/setup-test.stamp all
	@tools/mutants-connections

# Tests the REST application in examples/rest with 100,000 messages, and finds each of its bugs in each of 20 runs.
mutants-rest: all
	@REST_RUNS=20 REST_MESSAGES=100000 ANTIPHON=$(abspath build/antiphon) ANTIPHON_ROOT=$(abspath .) ANTIPHON_INCLUDE=$(abspath include) \
		bash tests/cli/rest.sh

# Tests mutants of a message-passing program, thread by thread; each must be killed or listed as equivalent.
mutants-threads: all
	@tools/mutants-threads

# Tests mutants of the oracle, the checker and the run of a test with a small tier of the tests; 95 % must be killed.
mutants-oracle: build/setup-test.stamp
	@tools/mutants-oracle

# Builds mutants of Apache from Debian's source, which it fetches, and tests each; every test must reject its mutant.
mutants-apache: build/setup-apache.stamp all
	@tools/mutants-apache

# Compares the oracle with two slow deciders on 100,000 random models with connections, and on networks written in C.
deciders: build/setup-test.stamp
	@tools/deciders

# Compares the verdicts of a thousand short live tests with the verdicts on their traces.
live-offline: all
	@CAMPAIGNS=1000 ANTIPHON=$(abspath build/antiphon) ANTIPHON_ROOT=$(CURDIR) bash tests/cli/live_offline.sh

# Writes pages with the violations and choices of each web server to build/survey.
survey: build/setup-http.stamp all
	@tools/survey

# Records and replays 10,000 random runs of programs on the threads library; explores all orders of 2,000 random programs.
replays: all
	@tools/replays

# Runs long campaigns against correct and wrong servers, for at least ten minutes.
soak: build/setup-http.stamp all
	@tools/soak

# Runs each fuzz target for FUZZ_SECONDS, and adds the new inputs to its corpus.
fuzz: build/setup-fuzz.stamp
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

install: all
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

clean:
	rm -rf build
