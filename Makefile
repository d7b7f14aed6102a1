# SPDX-License-Identifier: Apache-2.0
#
# The commands of this project. Meson builds (meson.build); anything longer than a line is a script in tools/.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: all demo test bench table-one table-one-full mutants mutants-http mutants-threads survey replays soak fuzz install clean

all: build/setup-build.stamp
	@tools/configure build --prefix=$(abspath $(PREFIX)) -Db_lto=true
	@[ -e build/antiphon ] || echo 'building: about a minute the first time'
	@ninja -C build --quiet release | sed '/no work to do/d'

# Each target installs only the packages that it needs: tools/setup GROUP.
build/setup-%.stamp: tools/setup
	@tools/setup $*
	@mkdir -p build && touch $@

# With a release build, the demonstration uses it. Without one, it compiles only the program and two servers, without
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

# All tests: with gcc, under sanitizers, with clang. The last line counts them.
test: build/setup-test.stamp
	@tools/test

bench: build/setup-bench.stamp all
	@tools/bench

# The numbers of the built-in programs of antiphon reach; table-one-full visits all of dme-4.
table-one: all
	@tools/table-one

table-one-full: all
	@tools/table-one --full

# Each mutant of the swap server must be rejected, every time.
mutants: all
	@tools/mutants

# The same for the web server and for faults injected before real web servers.
mutants-http: build/setup-http.stamp all
	@tools/mutants-http

# Mutants of a message-passing program, tested thread by thread: each must be killed or be listed as equivalent.
mutants-threads: all
	@tools/mutants-threads

# The violations and choices of each web server: pages in build/survey.
survey: build/setup-http.stamp all
	@tools/survey

# 10,000 random runs of programs on the threads library, each replayed; all orders of 2,000 random programs.
replays: all
	@tools/replays

# Long campaigns against correct and wrong servers: ten minutes and more.
soak: build/setup-http.stamp all
	@tools/soak

# FUZZ_SECONDS for each target.
fuzz: build/setup-fuzz.stamp
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

install: all
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

clean:
	rm -rf build
