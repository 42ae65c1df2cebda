module github.com/tiercompact/tiercompact/internal/tools

go 1.26.0

tool mvdan.cc/unparam

require (
	github.com/gordonklaus/ineffassign v0.2.0
	github.com/nishanths/exhaustive v0.17.1
	github.com/nishanths/predeclared v0.3.1
	github.com/polyfloyd/go-errorlint v1.8.0
	github.com/sivchari/containedctx v1.0.3
	golang.org/x/tools v0.52.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	mvdan.cc/unparam v0.0.0-20260823230713-2fa3d841b0c8 // indirect
)
