# Everything a contributor runs. `make` alone lists the targets; each does its own set-up.

# What the formatter reads: folders by name, so that it never walks into a build.
SOURCES = $(wildcard Package.swift Sources Tests Examples \
	Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Benchmarks Benchmarks/Counted \
	Benchmarks/PostgresLoad/Package.swift Benchmarks/PostgresLoad/Sources)

.DEFAULT_GOAL := help
.PHONY: demo example-matrix test test-all test-rules test-postgres test-traits test-release test-matrix test-long \
	test-wake-ups test-processes test-wal test-models test-mutants test-sanitizers test-reliability bench bench-quick bench-postgres bench-check build format lint interface docs \
	setup setup-web setup-traits setup-tests setup-bench setup-counts clean help

demo: setup  ## Chat over a flaky network, killed once and resumed, checked at the end
	swift build --traits CommandLineTool --product sluice-demo
	@swift run --traits CommandLineTool --skip-build --quiet sluice-demo

# SLUICE_STRICT makes a warning in this package an error; the manifest reads it.
test: export SLUICE_STRICT = 1
test: setup  ## Test the library, the tool and GRDB, in seven minutes; installs nothing but SQLite
	@.ci/test

test-all: export SLUICE_STRICT = 1
test-all: setup-tests  ## Test all the rest: servers, browser, release build; half an hour, installs them
	@.ci/test-all $(PARTS)

test-rules: setup-traits  ## Check format, public interface, client packages, tutorial, documentation
	@.ci/test-all rules

test-postgres: setup-tests  ## Test the queues on PostgreSQL
	@.ci/test-all sql postgres

test-traits: setup-traits  ## Test the other traits
	@.ci/test-all traits

test-release: setup-tests  ## Test tool, demo, page and library as users build them
	@.ci/test-all release

test-matrix: setup-tests  ## Test with a Matrix server
	@.ci/test-all matrix

test-long: setup-tests  ## Test the long forms, the models in Promela, and processes on one file
	@.ci/test-all promela long processes

test-wake-ups: setup-tests  ## Have 100,000 commits of another process answered, and tell the times
	.ci/reliability 100 wake-ups

test-processes: setup-tests  ## Have 2 to 8 processes on a file killed and stopped for ten minutes
	.ci/reliability 100 processes

test-wal: setup-tests  ## Have many commit to and checkpoint a file for five minutes
	.ci/reliability 100 wal

test-models: setup-tests  ## Search the models of claims through, and see each removed guard fail
	.ci/reliability 100 claims

test-mutants: setup-tests  ## Take out one guard after the other, and see a test go red for each
	.ci/reliability 100 mutants

example-matrix: setup-tests  ## Send real chat to a Matrix server through kills and a bad network, in some minutes
	swift build --traits CommandLineTool,GRDB --product sluice-matrix-outbox
	@Examples/MatrixOutbox/Server/trial whole "$$(swift build --show-bin-path)/sluice-matrix-outbox"

test-reliability: setup-tests  ## Everything that is too long for `make test`, with counts: some three hours
	.ci/reliability

test-sanitizers: setup-tests  ## Run the tests under Thread Sanitizer, three times, and Address Sanitizer
	.ci/reliability 100 thread address

bench: setup-bench  ## Measure, beside a plain C loop on the same disk, and the peers
	Benchmarks/run

bench-quick: setup-bench  ## The same with fewer actions, peers included, in under five minutes
	Benchmarks/run quick

bench-postgres: setup-tests  ## Measure the queues on PostgreSQL, beside plain SQL and procrastinate
	Benchmarks/postgres

bench-check: setup-counts  ## Fail if a core loop takes more instructions than committed
	Benchmarks/check

build: setup  ## Build the tool for use, in two minutes
	swift build -c release --traits CommandLineTool --product sluice

format:  ## Rewrite the Swift files in the project's format
	swift format --in-place --recursive --parallel $(SOURCES)

lint:  ## Check the Swift files against the project's format
	swift format lint --strict --recursive --parallel $(SOURCES)

interface: setup-traits  ## Write the public interface, which `make test-all` compares, to Interface/
	swift build --build-tests --enable-all-traits
	.ci/interface --update

docs: setup-traits  ## Write the documentation of the libraries to .build/documentation
	swift build --enable-all-traits
	.ci/docs

setup-web:  ## Install the browser that the tests of the operator's page drive: see Tests/Web
	@.ci/setup web

setup-tests: setup-web
	@.ci/setup tests
	@Examples/MatrixOutbox/Server/install

setup-traits:
	@.ci/setup traits

setup-bench:
	@.ci/setup bench

setup-counts:
	@.ci/setup counts

setup:  ## Install SQLite's headers and shell where they are missing
	@.ci/setup

clean:  ## Remove what builds have made
	swift package clean
	rm -rf .build/documentation Benchmarks/.build

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
