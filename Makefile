# Two commands: make run, make test. Everything else is for those who change chasephone.

.DEFAULT_GOAL := help
.PHONY: help run test check build postgres pgbouncer fmt fmt-check vet lint generate generate-check bench bench-scale bench-parts contract model proof mutants drill drill-mutants restore fuzz clean

GO      ?= go
TOOLS   := $(CURDIR)/.tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION       := v0.12.0

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 18

run: build postgres ## Build, and run a demonstration: the real daemon, a simulated telephone company
	@exec bin/chasephone serve --demo $(if $(DATABASE_URL),,--embedded)

test: postgres pgbouncer ## Run every test, with the race detector, against a real PostgreSQL
	$(GO) test -race -parallel 4 -timeout 10m ./...
	$(GO) -C bench test -race -timeout 10m ./...

check: fmt-check vet lint generate-check test contract ## What CI runs

build: ## Build bin/chasephone
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/chasephone ./cmd/chasephone

pgbouncer: ## See to it that PgBouncer is on this machine, for the tests through it
	@sh scripts/pgbouncer.sh

postgres: ## See to it that PostgreSQL's programs are on this machine
	@if [ -z "$(DATABASE_URL)" ]; then sh scripts/postgres.sh; fi

fmt: $(TOOLS)/gofumpt ## Format the source
	$(TOOLS)/gofumpt -w $$(git ls-files '*.go')

fmt-check: $(TOOLS)/gofumpt
	@bad=$$($(TOOLS)/gofumpt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted, run make fmt:"; echo "$$bad"; exit 1; }

vet: ## Run go vet
	$(GO) vet ./...
	$(GO) -C bench vet ./...

lint: $(TOOLS)/golangci-lint ## Run the linter
	$(TOOLS)/golangci-lint run ./...
	cd bench && $(TOOLS)/golangci-lint run ./...

generate: ## Bring generated files up to date: the README's table, example.env, the diagram
	$(GO) test ./config ./internal/followup -run 'TestREADME|TestExample|TestDiagram' -update

generate-check: ## Fail where a generated file is not up to date
	$(GO) test ./config ./internal/followup -run 'TestREADME|TestExample|TestDiagram'

bench: postgres ## Measure what is drained in a second, beside the database's limit and others: ten minutes
	$(GO) -C bench run . speed -json $(or $(JSON),$(CURDIR)/bin/speed.json)

bench-scale: postgres ## Measure what a tick costs with ten thousand to ten million rows: half an hour, 15 GB
	$(GO) -C bench run . scale -json $(or $(JSON),$(CURDIR)/bin/scale.json)

bench-parts: postgres ## Measure what a follow-up costs the database, the gates, and a storm of webhooks
	$(GO) test ./internal/drain -run '^$$' -bench . -benchtime 1x
	$(GO) test ./internal/gates -run '^$$' -bench . -benchtime 300ms
	$(GO) test ./cmd/chasephone -run '^$$' -bench . -benchtime 1x

contract: ## Hold the carriers' requests to others' words: Twilio's document by Prism, SIP by SIPp
	@sh scripts/contract.sh
	$(GO) test -count=1 -tags contract -run Contract ./internal/carrier/...

model: ## Check the model of the protocol exhaustively, and that each of its mutants is caught
	@sh scripts/spin.sh
	@bash model/check.sh

proof: postgres ## Walk every point at which a process can die, with every fault and every answer
	$(GO) test -count=1 -timeout 15m ./internal/proof -run TestCrashPoints -full -workers 16 -v

mutants: postgres ## Walk chasephones that lack one guard: each must be found out
	$(GO) test -count=1 -timeout 20m -tags mutants ./internal/proof -run TestMutants -v

drill: postgres ## Kill real processes for three minutes, or DRILL=60m, and ask the ring book
	$(GO) run ./drill -for $(or $(DRILL),3m)

drill-mutants: postgres ## Drill chasephones that lack one guard: each must be found out
	$(GO) run ./drill -mutants

restore: postgres ## Restore old dumps and fail over: ringing is held where attempts are lost, and only there
	$(GO) run ./drill -restore -race=false

fuzz: ## Fuzz every target for 10 s, or FUZZ=5m
	@sh scripts/fuzz.sh

clean: ## Remove what was built
	rm -rf bin

$(TOOLS)/golangci-lint:
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(TOOLS)/gofumpt:
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
