# SPDX-License-Identifier: Apache-2.0
#
# The commands of this project. Meson does the work (meson.build); what takes more than a line is in tools/.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: all demo test bench table-one table-one-full mutants mutants-http mutants-threads survey replays soak fuzz install clean

all: build/setup.stamp
	@tools/configure build --prefix=$(abspath $(PREFIX)) -Db_lto=true
	@[ -e build/antiphon ] || echo 'building: a minute or two the first time'
	@ninja -C build --quiet release | sed '/no work to do/d'

# What it takes to build, installed if it is missing.
build/setup.stamp: tools/setup
	@tools/setup
	@mkdir -p build && touch $@

demo: all
	@ANTIPHON=$(CURDIR)/build/antiphon bash examples/demo.sh

# Plain and under sanitizers; the last line counts both.
test: build/setup.stamp
	@tools/test

bench: all
	@tools/bench

# The numbers of the programs that antiphon reach has built in; the full one visits all of dme-4.
table-one: all
	@tools/table-one

table-one-full: all
	@tools/table-one --full

# Each mutant of the swap server must be rejected, every time.
mutants: all
	@tools/mutants

# The same of the web server, and the real ones.
mutants-http: all
	@tools/mutants-http

# Mutants of a message-passing program, tested thread by thread: each must be killed, or be known to be equivalent.
mutants-threads: all
	@tools/mutants-threads

# What each web server breaks and chooses: pages in build/survey.
survey: all
	@tools/survey

# 10,000 random runs of programs on the threads library, each replayed; all orders of 2,000 random programs.
replays: all
	@tools/replays

# The long campaigns against servers that are right and servers that are wrong: ten minutes and more.
soak: all
	@tools/soak

# FUZZ_SECONDS for each target.
fuzz: build/setup.stamp
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

install: all
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

clean:
	rm -rf build
