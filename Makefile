# The phases of .ci/run under their names, and what runs too long for it.
.PHONY: all build gitleaks size style walk lint check test race cover property cross demo ollama s3 serve assistants fuzz matrix long kill soak long-summary bench bench-compare bench-growth bench-baseline golden

.DEFAULT_GOAL = all

# Benchmarks over the length of a session are named BenchmarkX/messages=N.
MESSAGES = go test -run='^$$' -bench=/messages= -cpu=2 -count=$${COUNT:-6} -benchtime=$${BENCHTIME:-50ms} $\
  ./internal/suite ./archive ./internal/bench ./chat ./internal/cooldown ./internal/edit ./embed ./files ./levels ./summarize ./trace ./wire
BENCHSTAT = go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -ignore cpu,cores

OUT = tiercompact
VERSION = $(or $(shell git describe --tags --dirty 2>/dev/null),devel)
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
STAMP = github.com/tiercompact/tiercompact/internal/cli
# grpcnotrace leaves a debug page of grpc out, and with it the template engine,
# which makes the linker keep every exported method.
BUILD = -trimpath -tags grpcnotrace -ldflags '-s -w -X $(STAMP).release=$(VERSION) -X $(STAMP).commit=$(COMMIT)'

build: ## the program, in this folder
	CGO_ENABLED=0 go build $(BUILD) -o $(OUT) ./cmd/tiercompact
gitleaks: ## the program with the rules of gitleaks
	CGO_ENABLED=0 go -C gitleaks build $(BUILD) -o $(abspath $(OUT)) ./cmd/tiercompact
size: ## how many bytes of the program each module takes
	go -C internal/tools run ./size ../.. ./cmd/tiercompact -trimpath -tags grpcnotrace
style: ## lengths of functions and names, and words that are used too often
	go -C internal/tools run ./style ../..
walk: ## a reader's way from AddMessage and Preflight, with its turns back; WALK=FOLDER make walk for another checkout
	go -C internal/tools run ./walk $(abspath $(or $(WALK),.))
lint: ## the analyzers of internal/tools/lint, as the phase check runs them
	go -C internal/tools build -o $(abspath .)/dist/ ./lint
	dist/lint -test=false ./...
all: ## what a change must pass
	.ci/run
check test race cover property cross demo ollama s3 serve: ## ollama, s3: build a real server, and run the tests that need one; serve: SDKs, the hooks and the proxy
	.ci/run $@
fuzz: ## ten minutes for each target; FUZZTIME=1m make fuzz for less
	FUZZTIME=$${FUZZTIME:-10m} .ci/run fuzz
assistants: ## real assistants from npm before the proxy; TIERCOMPACT_OLLAMA=URL, OLLAMA=PROGRAM: before a real server too
	mkdir -p dist/assistants
	npm install --prefix dist/assistants --no-audit --no-fund @qwen-code/qwen-code@0.15.10 opencode-ai@1.18.33 @openai/codex@0.171.0
	ASSISTANTS=$(abspath dist/assistants) go test ./internal/proxy -count=1 -run Assistants -v -timeout 60m
matrix: ## every session, window, level and preset
	TIERCOMPACT_MATRIX=full go test ./internal/suite -run TestMatrix -v -timeout 3h
long: ## a thousand long sessions
	TIERCOMPACT_LONG=full go test ./internal/suite -run Long -v -timeout 3h
long-summary: ## 30,000 tokens on a real model of 8k; start a server as .ci/run does, and name it in TIERCOMPACT_OLLAMA
	TIERCOMPACT_LONG=full go test ./summarize -run TestRealLong -v -timeout 1h
kill: ## a thousand kills while a session and its archive are written
	go test ./internal/suite ./archive -run Killed -kills=1000 -timeout 2h
soak: ## half an hour of sessions by the proxy, with the heap that is left; SOAK=10m SOAK_CLIENTS=4 make soak for less
	SOAK=$${SOAK:-30m} go test ./internal/proxy -run 'TestSoak$$' -v -timeout 3h
bench: ## ten runs, for benchstat
	go test -run='^$$' -bench=. -benchmem -count=10 ./... | tee bench.out
bench-compare: ## what a message goes through, against the baseline; COUNT=4 BENCHTIME=5ms make bench-compare for less
	$(MESSAGES) > bench.out || { cat bench.out; exit 1; }
	$(BENCHSTAT) internal/bench/testdata/baseline.txt bench.out
bench-growth: ## what the baseline says of 100, 1,000 and 10,000 messages
	@$(BENCHSTAT),pkg -filter .unit:sec/op -col /messages internal/bench/testdata/baseline.txt
bench-baseline: ## the baseline anew, on a machine that does nothing else
	$(MESSAGES) > bench.out || { cat bench.out; exit 1; }
	{ echo "cores: 2"; sed -e '/^cpu:/d' -e '/^ok/d' -e '/^PASS/d' bench.out; } > internal/bench/testdata/baseline.txt
golden: ## rewrite the golden files; then read the diff
	go test ./files ./summarize ./trace ./internal/timeline ./internal/bench/report ./internal/cli ./internal/arch -update
