package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/internal/proxy/redisstate"
	"github.com/tiercompact/tiercompact/trace"
)

// tokenVariable is the environment variable of the proxy's token.
const tokenVariable = "TIERCOMPACT_TOKEN"

// stateVariable is the environment variable of the state's URL.
const stateVariable = "TIERCOMPACT_STATE"

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve --upstream URL",
		Short: "Be a proxy that compacts the conversations of any assistant",
		Long: `serve is a proxy between an assistant and its model server: Ollama, llama.cpp,
LM Studio, vLLM, or another server with the API of OpenAI or Anthropic. The
assistant needs no change but its URL.

A request that fits the model's window passes byte for byte. A conversation
that grows is compacted with the preset steady. The rounds are stored, and
repeated on later requests, so that the server's prompt cache stays valid. A
round that is due is planned while the answer streams; it delays a request only
if the request would not fit, or if the server's cache is cold. If a compaction
fails, the request passes as it came, and the header X-Tiercompact-Passed has
the reason.

With --native, requests of the APIs of OpenAI and Anthropic go to Ollama's own
/api/chat, with the window as num_ctx. Ollama's /v1 takes no window, and drops
messages silently if a request does not fit.

With --recall-tool, requests that have tools get one more: recall, by which the
model finds what was removed. serve answers its calls itself; the assistant does
not see them.

Requests to /v1/responses are compacted, but not translated by --native.

serve prints a line for each round, and warnings; with --verbose, for each
request too.

serve listens on loopback. At another address it needs a token, which
clients send as their API key: set ` + tokenVariable + `, or give --token-file.`,
		Example: `  tiercompact serve --upstream http://127.0.0.1:11434
  tiercompact serve --upstream http://127.0.0.1:11434 --native --window 32768
  tiercompact serve --upstream http://127.0.0.1:8080 --window 16384
  tiercompact serve --print-config opencode`,
		Args: atMostArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.runServe(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.upstream, "upstream", "", "`URL` of the model server")
	f.StringVar(&o.listen, "listen", "127.0.0.1:11435", "`address` of the proxy")
	f.StringVar(&o.dir, "dir", ".compact", "`folder` of the conversations and the archive")
	f.StringVar(&o.state, "state", "", "`URL` of a Redis or Valkey server, redis://HOST:PORT/NUMBER, that several proxies share; "+stateVariable+" hides its password (default: a file in --dir)")
	f.StringVar(&o.fail, "fail", "open", "if a compaction fails: `open` forwards the request as it came, closed refuses it")
	complete(cmd, "fail", "open, closed")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that clients must send")
	f.StringSliceVar(&o.hosts, "allow-host", nil, "`name` by which clients call the proxy, besides localhost; may be repeated")
	f.Int64Var(&o.maxBody, "max-body", 64, "max size of a request in `MiB`")
	f.Int64Var(&o.maxBodies, "max-bodies", 256, "max size of all requests in memory at once, in `MiB`; others wait")
	f.BoolVar(&o.native, "native", false, "the upstream is Ollama: translate the requests of OpenAI and Anthropic to its /api/chat, which accepts the window and never cuts silently")
	f.DurationVar(&o.keepAlive, "keep-alive", 0, "with --native, `time` for which Ollama keeps a model loaded after a request (default: Ollama's)")
	f.BoolVar(&o.recallTool, "recall-tool", false, "add a tool recall to requests that have tools, and answer its calls from the archive")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print a line for each request, not only for each round")
	f.DurationVar(&o.grace, "grace", 30*time.Second, "`time` that answers may go on after an interrupt")
	f.StringVar(&o.print, "print-config", "", "print the configuration of an assistant, by `name`, and exit: "+strings.Join(assistantNames(), ", "))
	complete(cmd, "print-config", strings.Join(assistantNames(), ", "))
	o.settings.registerSettings(cmd, append(settingsOfCompaction(), "archive", "archive_required", "trace")...)
	f.Lookup("preset").DefValue = serveDefaults()["preset"]
	return cmd
}

func serveDefaults() map[string]string {
	return map[string]string{"preset": string(tiercompact.Steady)}
}

type serveOptions struct {
	upstream, listen, state, dir, fail, tokenFile, print string
	hosts                                                []string
	maxBody, maxBodies                                   int64
	native, verbose, recallTool                          bool
	grace, keepAlive                                     time.Duration
	settings                                             settings
}

func (o *serveOptions) runServe(cmd *cobra.Command) (err error) {
	if err := checkOneOf("--fail", o.fail, "open, closed"); err != nil {
		return err
	}
	if err := checkOneOf("--print-config", o.print, strings.Join(assistantNames(), ", ")); err != nil {
		return err
	}
	if o.print != "" {
		return printAssistant(cmd.OutOrStdout(), o.print, o.listen)
	}
	upstream, token, err := o.validateServe(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	l, err := o.listener(ctx, token)
	if err != nil {
		return err
	}
	defer l.Close()
	e, err := openServeEngine(ctx, cmd, o.settings, upstream, o.state, o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close(ctx)) }()
	e.sinks.Sink = trace.Join(e.sinks.Sink, printWarnings(cmd))
	p, err := proxy.New(proxy.Config{
		Upstream: upstream, Open: e.open, State: e.state, Trace: e.sinks.Sink, Native: o.native, RecallTool: o.recallTool, KeepAlive: o.keepAlive, Report: printRequests(cmd, o.verbose), FailClosed: o.fail == "closed",
		Archive: e.store, Token: token, Hosts: o.hosts, MaxBody: o.maxBody << 20, MaxBodies: o.maxBodies << 20,
	})
	if err != nil {
		return usageError{err}
	}
	printNote(cmd, "listening at http://%s, in front of %s; the archive is in %s", l.Addr(), upstream, e.place)
	printNote(cmd, "Ollama's own CLI: OLLAMA_HOST=%s; OpenAI clients: base URL http://%s/v1; Anthropic clients: base URL http://%s", l.Addr(), l.Addr(), l.Addr())
	if o.native {
		printNote(cmd, "note: requests to /v1/responses (codex) are compacted, but without --native")
	}
	return p.Serve(ctx, l, o.grace)
}

// validateServe refuses wrong flags, and returns the upstream and the token.
func (o *serveOptions) validateServe(cmd *cobra.Command) (upstream *url.URL, token string, err error) {
	if o.upstream == "" {
		return nil, "", usageErrorf("--upstream is missing; give the URL of the model server, such as http://127.0.0.1:11434")
	}
	upstream, err = url.Parse(o.upstream)
	if err != nil || upstream.Host == "" {
		return nil, "", usageErrorf("--upstream takes a URL such as http://127.0.0.1:11434, not %q", o.upstream)
	}
	if o.state = cmp.Or(o.state, os.Getenv(stateVariable)); o.state != "" && !isRedis(o.state) {
		return nil, "", usageErrorf("--state takes the URL of a Redis or Valkey server, redis://HOST:PORT/NUMBER; --dir takes the folder of the file")
	}
	if o.maxBody < 1 || o.maxBody > 4096 {
		return nil, "", usageErrorf("--max-body takes 1 to 4096, not %d", o.maxBody)
	}
	if o.maxBodies < 1 || o.maxBodies > 1<<20 {
		return nil, "", usageErrorf("--max-bodies takes 1 to 1048576, not %d", o.maxBodies)
	}
	if o.keepAlive != 0 && !o.native {
		return nil, "", usageErrorf("--keep-alive needs --native; without it, requests pass as they are")
	}
	token = os.Getenv(tokenVariable)
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, "", fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	if token != "" && len(token) < minToken || o.tokenFile != "" && token == "" {
		return nil, "", usageErrorf("the token has %d characters; use at least %d, such as the output of openssl rand -hex 24", len(token), minToken)
	}
	return upstream, token, o.settings.loadSettings(cmd, serveDefaults())
}

const minToken = 16 // characters

// listener opens the address. Any but loopback needs a token.
func (o *serveOptions) listener(ctx context.Context, token string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", o.listen, systemCause(err))
	}
	if !proxy.OnLoopback(l.Addr()) && token == "" {
		return nil, errors.Join(usageErrorf("--listen %s is reachable from other machines, so clients must send a token; set %s, or give --token-file", o.listen, tokenVariable), l.Close())
	}
	return l, nil
}

// A serveState is the state of one proxy, or of several.
type serveState interface {
	proxy.State
	Close() error
}

// openState opens the state at a URL of Redis, or in a folder of dir.
func openState(ctx context.Context, place, dir string) (serveState, error) {
	if isRedis(place) {
		return redisstate.Open(ctx, place, redisstate.Options{})
	}
	return proxy.OpenDisk(filepath.Join(dir, "conversations"), proxy.Limits{})
}

func isRedis(place string) bool {
	return strings.HasPrefix(place, "redis://") || strings.HasPrefix(place, "rediss://")
}

// A serveEngine has what all conversations share.
type serveEngine struct {
	cmd      *cobra.Command
	settings settings
	upstream *url.URL // nil: none
	store    archive.Store
	sinks    *config.Sinks
	state    serveState
	place    string
}

// openServeEngine opens archive, trace and state in dir.
func openServeEngine(ctx context.Context, cmd *cobra.Command, s settings, upstream *url.URL, place, dir string) (e *serveEngine, err error) {
	e = &serveEngine{cmd: cmd, settings: s, upstream: upstream}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close(ctx))
		}
	}()
	state, err := openState(ctx, place, dir)
	if err != nil {
		return e, err
	}
	e.state = state
	kept := s.Config.Archive
	if kept.Adapter == config.Memory {
		kept = config.Archive{Adapter: config.Dir, Dir: filepath.Join(dir, "archive")}
	}
	if isRedis(place) && kept.Adapter == config.Dir {
		printNote(cmd, "warning: other proxies of this state do not see the archive in %s; give --archive s3://BUCKET/PREFIX", kept.Dir)
	}
	e.place = kept.Place()
	if e.store, err = kept.Open(ctx, false); err != nil {
		return e, err
	}
	if e.sinks, err = s.Config.Trace.Open(ctx, cmd.ErrOrStderr()); err != nil {
		return e, err
	}
	for _, warning := range e.sinks.Warnings {
		printNote(cmd, "warning: %s", warning)
	}
	return e, nil
}

func (e *serveEngine) close(ctx context.Context) error {
	var errs []error
	if e.sinks != nil {
		errs = append(errs, flushSinks(ctx, e.sinks.Close))
	}
	if e.state != nil {
		errs = append(errs, e.state.Close())
	}
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	return errors.Join(errs...)
}

// open returns the settings for a model.
func (e *serveEngine) open(ctx context.Context, model string) (tiercompact.Config, error) {
	c := e.settings.Config
	if model != "" {
		c.Model = model
	}
	switch e.settings.Origin("ollama_url").Kind {
	case config.Flag, config.File:
	default: // OLLAMA_HOST may name the proxy itself
		if e.upstream != nil {
			c.Engine.URL = e.upstream.String()
		}
	}
	c.Archive, c.Trace = config.Archive{}, config.Trace{} // all models share them
	opened, err := openSettings(ctx, e.cmd, c)
	if err != nil {
		return tiercompact.Config{}, err
	}
	cfg := opened.Config
	cfg.Archive, cfg.Progress, cfg.Trace = e.store, nil, e.sinks.Sink
	if c.Window == 0 && opened.Window.Source == "" {
		return cfg, fmt.Errorf("%w (%s); give serve --window N", proxy.ErrNoWindow, printableLine(cmp.Or(c.Model, "it has no name")))
	}
	if e.upstream != nil {
		printNote(e.cmd, "model %s: a window of %d tokens", printableLine(cmp.Or(c.Model, "without a name")), cfg.Window)
	}
	return cfg, nil
}
