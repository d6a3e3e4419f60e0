FUZZTIME    ?= 10s
KILL_ROUNDS ?= 500

.DEFAULT_GOAL := help
.PHONY: help test race check cross bench recall-bench context-bench microbench fuzz kill hindsight-live modules ci

help: ## print this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "make %-14s %s\n", $$1, $$2 }'

test: ## run all tests
	go test ./...

race: ## run all tests under the race detector (needs a C compiler)
	.ci/run race

check: ## look at formatting, go vet, staticcheck and go.mod
	.ci/run check

cross: ## build for every supported system, without cgo
	.ci/run cross

bench: ## what a durable step costs, beside its floor: the tables of docs/benchmarks.md
	go run ./internal/bench
	go run ./internal/bench -normal
	@command -v strace >/dev/null && internal/bench/strace.sh || echo "no strace: fsyncs and bytes are not counted"

recall-bench: ## what memory's recall finds, and how long ranking takes: the tables of docs/recall.md
	go run ./internal/recallbench
	go run ./internal/recallbench -speed 6000
	go run ./internal/recallbench -speed 100000

context-bench: ## what planning the windows of a long conversation saves and costs: the tables of docs/context.md
	go run ./internal/contextbench

microbench: ## the Benchmark functions of all packages, for benchstat and pprof
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## run each fuzz target for FUZZTIME (10s)
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

kill: ## kill real processes over and over: KILL_ROUNDS (500) per test
	CAIRN_KILL_ROUNDS=$(KILL_ROUNDS) go test -count=1 -run Kill -timeout 3h -v ./...

hindsight-live: ## start real Hindsight servers from PyPI and run the live test of memory/hindsight against them
	memory/hindsight/live/run.sh

modules: ## test what has a module of its own, for its libraries: Claude through Bedrock and Vertex, local embeddings
	.ci/run modules

ci: ## run all that has to pass before a change goes in
	.ci/run
