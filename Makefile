# Needs Go, make, a C compiler (for the race detector) and git; the network only
# for Go's module proxy. `make` lists the targets. GOFLAGS is honoured.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO ?= go

# Tools are pinned and built by `go run`, so that every machine checks with the same ones.
TEMPORAL_CLI  := v1.5.1
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
GOLANGCI      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What runs in one process is tested with the race detector; what starts
# processes of its own is not, because the detector sees only the test's half.
UNIT    := . ./scripts/... ./router/... ./activities/... ./workflows/... ./worker/...
OUTER   := ./cmd/... ./deploy/... ./samples/...
PROCESS := ./test/...
# A module of its own: its requirements are not the library's.
JUDGES  := test/judges
# Of one package. It ends what hangs; on a slow machine the process tests take long.
LIMIT   := 60m

RACE  ?= -race# empty on a machine without a C compiler
P     ?= 2# packages tested at once
STORY ?= refund# of make demo
CHAOS ?= 400# schedules of make chaos
CASES ?=# folder of make corpus

export GO

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: temporal ## Run a story with faults and check its claims (STORY=refund)
	$(GO) run ./cmd/onceward demo $(strip $(STORY))

.PHONY: dev
dev: temporal ## Dev server, UI, scripted pool and a worker with the samples, until Ctrl-C
	$(GO) run ./cmd/onceward dev

.PHONY: temporal
temporal: ## Make sure of a Temporal CLI: bin/temporal or PATH, else build it once
	@sh scripts/temporal-cli.sh $(TEMPORAL_CLI)

.PHONY: test
test: temporal race ## Everything: unit tests with -race, commands, samples, real Temporal with kills
	$(GO) test -p $(strip $(P)) -timeout $(LIMIT) $(OUTER)
	$(GO) test -p 1 -count=1 -timeout $(LIMIT) $(PROCESS)
	$(GO) test -C $(JUDGES) -count=1 -timeout $(LIMIT) ./...

.PHONY: unit
unit: ## Unit tests of the library, without -race (seconds)
	$(GO) test -p $(strip $(P)) -timeout $(LIMIT) $(UNIT)

.PHONY: race
race: ## Unit tests of the library with -race
	$(GO) test $(strip $(RACE)) -p $(strip $(P)) -timeout $(LIMIT) $(UNIT)

.PHONY: lint
lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "gofmt: run gofmt -w on:" >&2; echo "$$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -C $(JUDGES) ./...
	$(GO) run $(STATICCHECK) ./...

.PHONY: golangci
golangci: ## golangci-lint with .golangci.yaml (optional: building it takes minutes)
	$(GO) run $(GOLANGCI) run ./...

.PHONY: workflowcheck
workflowcheck: ## Look for what a replay could do differently in workflow code
	$(GO) run $(WORKFLOWCHECK) -test=false -config workflowcheck.yaml ./workflows/... ./samples/...

.PHONY: replay
replay: ## Replay the stored histories against the workflows of this tree
	$(GO) test -count=1 -run Replay -v ./workflows/... $(PROCESS)

.PHONY: bench
bench: ## Benchmarks: medians of five runs, docs/benchmarks.md says what of (BENCH=pattern)
	@sh scripts/bench.sh $(UNIT)

# Without CHAOS_SEED each run has other schedules; the log names each one's seed.
.PHONY: chaos
chaos: temporal ## Random schedules of faults, counted from outside (CHAOS=400 of them, CHAOS_SEED=first seed)
	CHAOS=$(strip $(CHAOS)) CHAOS_SEED=$${CHAOS_SEED:-$$(date +%s)} $(GO) test -count=1 -run '^TestChaos' -v -timeout 0 ./test/chaos

.PHONY: corpus
corpus: temporal ## Check against a folder of cases, fixtures, specs and workloads (CASES=folder)
	@P=$(strip $(P)) sh scripts/corpus.sh "$(strip $(CASES))"

.PHONY: cover
cover: ## Coverage of the library by its unit tests, into coverage.out
	$(GO) test -coverprofile=coverage.out -coverpkg=./,./router/...,./activities/...,./workflows/...,./worker/... -timeout $(LIMIT) $(UNIT)
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: clean
clean: ## Remove what was built or installed, the Temporal CLI included
	rm -rf bin .cache coverage.out
