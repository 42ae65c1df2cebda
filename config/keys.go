package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/levels"
)

// A key describes one setting.
type key struct {
	path     string
	field    any         // pointer to the field of a Config
	level    levels.Name // key of a threshold, whose field is a map; "": another setting
	opposite bool        // the field has the opposite value
	doc      string      // documentation; the word in backquotes is the flag's placeholder
	flag     string      // "no-…" has the opposite meaning; "": there is none
	not      string      // effect of a flag "no-…"
	group    string      // heading of the flag in help texts
	rare     bool        // few users need it

	kind  kind
	words string // the valid words of kind word or words, separated by ", "
	least float64
	above bool   // least itself is invalid
	auto  bool   // auto is valid, and the default
	also  string // another name of it, from other tools; "": none
	// synonyms are alternatives to words; nil: none.
	synonyms map[string]string
	blank    bool // "" is a valid word
	full     bool // its variable includes the sections: without them it would look like another

	value   any            // the default
	presets map[string]any // values of the presets that have others
}

// lastSegment is the last part of the path.
func (k key) lastSegment() string { return k.path[strings.LastIndexByte(k.path, '.')+1:] }

// sectionPath is the path without its last part; "" at the top.
func (k key) sectionPath() string {
	return strings.TrimSuffix(strings.TrimSuffix(k.path, k.lastSegment()), ".")
}

// docText is doc without the marks for flags.
func (k key) docText() string {
	doc := strings.ReplaceAll(k.doc, "`", "")
	if k.also != "" {
		doc += "; also named " + k.also
	}
	return doc
}

// levelWords are the names of the levels.
func levelWords() string { return strings.Join(levels.Names(), ", ") }

const (
	presetWords = "default, eager, steady"
	roleWords   = "system, developer, user, assistant, tool"
)

// thresholdSettings are the thresholds, one for each level.
func thresholdSettings() (keys []key) {
	for _, k := range allSettings() {
		if k.level != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// thresholdTable has one setting for each level.
func thresholdTable(c *Config) (keys []key) {
	for _, l := range levels.All() {
		keys = append(keys, key{path: thresholdsFlag + "." + string(l.Name), field: &c.Thresholds, level: l.Name, kind: share, above: true, flag: thresholdsFlag, group: "Levels",
			doc: "usage from which " + string(l.Name) + " is due"})
	}
	return keys
}

// allSettings is the table: every setting with its defaults, in the order of files and
// documents. It must not be changed.
var allSettings = sync.OnceValue(func() []key {
	c := Defaults(tiercompact.Default)
	all := settingTable(&c)
	for i := range all {
		all[i].value, all[i].presets = all[i].current(), make(map[string]any)
	}
	for _, preset := range []tiercompact.Preset{tiercompact.Eager, tiercompact.Steady} {
		c := Defaults(preset)
		for i, k := range settingTable(&c) {
			if v := k.current(); k.path != "preset" && (k.level != "" || !reflect.DeepEqual(v, all[i].value)) { // presets set all thresholds together
				all[i].presets[string(preset)] = v
			}
		}
	}
	return all
})

// current returns the value of the field, in the type of the kind.
func (k key) current() any {
	f := reflect.ValueOf(k.field).Elem()
	switch {
	case k.level != "":
		return f.MapIndex(reflect.ValueOf(k.level)).Interface()
	case k.opposite:
		return !f.Bool()
	case f.Kind() == reflect.String:
		return f.String()
	case k.kind == words:
		items := make([]string, f.Len())
		for i := range items {
			items[i] = f.Index(i).String()
		}
		return items
	}
	return f.Interface()
}

// set sets the field to a value in the type of the kind.
func (k key) set(v any) {
	f, to := reflect.ValueOf(k.field).Elem(), reflect.ValueOf(v)
	switch {
	case k.level != "":
		f.SetMapIndex(reflect.ValueOf(k.level), to)
	case k.opposite:
		f.SetBool(!to.Bool())
	case k.kind == words:
		f.Set(reflect.MakeSlice(f.Type(), to.Len(), to.Len()))
		for i := range to.Len() {
			f.Index(i).SetString(to.Index(i).String())
		}
	default:
		f.Set(to.Convert(f.Type()))
	}
}

// settingTable returns every setting, with pointers to the fields of c.
func settingTable(c *Config) []key {
	p, e, s3, ariadne, otlp := &c.Policy, &c.Engine, &c.Archive.S3, &c.Trace.Ariadne, &c.Trace.OTLP
	return slices.Concat([]key{
		{path: "preset", field: &c.Preset, kind: word, words: presetWords, flag: "preset", group: "Levels", doc: "set of defaults: default; eager, for small windows and long answers; steady, for few rounds with a local server"},
		{path: "model", field: &c.Model, flag: "model", group: "Budget", doc: "count tokens as this `model` does (default: the model of the transcript, else cl100k_base)"},
		{path: "window", field: &c.Window, kind: size, auto: true, least: 1, also: "max_context_tokens", flag: "window", group: "Budget", doc: "max `tokens` of the model; auto: what its server reports, or 8192 if it reports none. A command that reads a transcript needs this or --model"},
		{path: "auto", field: &c.NoAuto, opposite: true, kind: toggle, also: "auto_compact", flag: "auto", group: "Levels", rare: true, doc: "compact automatically, in preflights too"},
		{path: "trigger", field: &c.Trigger, kind: word, words: "every_message, assistant_only, manual", flag: "trigger", group: "Levels", rare: true, doc: "messages after which usage is checked: every_message; assistant_only, complete answers; manual, none"},
		{path: "level", field: &c.Level, kind: word, words: levelWords(), blank: true, flag: "level", group: "Levels", doc: "use this level in place of the one by usage: " + levelWords()},
		{path: "escalation", field: &c.Escalation, kind: word, words: "direct, cascade", flag: "escalation", group: "Levels", rare: true, doc: "direct: the due level alone; cascade: soft first"},
		{path: "ranking", field: &c.Ranking, kind: word, words: "cosine, fused", flag: "ranking", group: "Levels", rare: true, doc: "how hard ranks messages: cosine, fused"},
		{path: "min_gain", field: &c.MinGain, kind: share, flag: "min-gain", group: "Levels", rare: true, doc: "smallest `share` of the removable tokens that a round must free; 0: any"},
		{path: "fill", field: &c.Fill, kind: share, flag: "fill", group: "Levels", rare: true, doc: "usage up to which a summary adds excerpts of current files (and outlines grow under steady); 0: off"},
		{path: "summary_role", field: &c.SummaryRole, kind: word, words: "assistant, system", flag: "summary-role", group: "Levels", rare: true, doc: "role of the summary's message: assistant, system"},
		{path: "archive_required", field: &c.ArchiveOptional, opposite: true, kind: toggle, flag: "archive-required", group: "Archive", rare: true, doc: "if the archive cannot be written, report an error; false: go on without compacting"},
		{path: "engine", field: &e.Kind, kind: word, words: "auto, ollama, built-in", flag: "engine", group: "Models", doc: "what ranks and summarizes: ollama, built-in, or auto (Ollama if it has the models, else built-in)"},
		{path: "ollama_url", field: &e.URL, kind: address, flag: "ollama-url", group: "Models", doc: "`address` of Ollama (default: OLLAMA_HOST, else http://127.0.0.1:11434)"},
		{path: "num_thread", field: &e.Threads, kind: count, flag: "num-thread", group: "Models", rare: true, doc: "`threads` of each model on Ollama; 0: Ollama's choice"},
		{path: "exact_tokens", field: &c.ExactTokens, kind: toggle, flag: "exact-tokens", group: "Budget", rare: true, doc: "count with the model's own tokenizer, from Ollama"},
		{path: "seed", field: &e.Seed, kind: count, flag: "seed", group: "Models", rare: true, doc: "seed of models; the built-in engines need none"},
	}, thresholdTable(c), []key{
		{path: "policy.trigger_pct", field: &p.TriggerPct, kind: share, flag: "trigger-pct", group: "Levels", rare: true, doc: "`usage` from which a preflight compacts; 0: always"},
		{path: "policy.hard_cap_buffer", field: &p.HardCapBuffer, kind: size, auto: true, flag: "hard-cap-buffer", group: "Budget", rare: true, doc: "`tokens` of the window that stay free; auto: 1500, at most an eighth of the window"},
		{path: "policy.reserve", field: &p.Reserve, kind: size, flag: "reserve", group: "Budget", rare: true, doc: "`tokens` kept free for the answer, beside the buffer"},
		{path: "policy.keep_recent_turns", field: &p.KeepRecentTurns, kind: count, least: 1, flag: "keep-recent-turns", group: "Levels", rare: true, doc: "turns that a preflight or manual compaction keeps"},
		{path: "policy.keep_tool_io_pairs", field: &p.KeepToolIOPairs, kind: count, least: 1, flag: "keep-tool-io-pairs", group: "Levels", rare: true, doc: "pairs of tool calls and results that it keeps"},
		{path: "policy.roles_never_prune", field: &p.RolesNeverPrune, kind: words, words: roleWords, flag: "roles-never-prune", group: "Levels", rare: true, doc: "`roles` whose messages no level changes"},
		{path: "policy.pin_first_user", field: &p.NoPinFirstUser, opposite: true, kind: toggle, flag: "no-pin-first-user", group: "Levels", rare: true, doc: "keep the first user message, whole if the request fits with it", not: "do not pin the first user message"},
		{path: "policy.protect", field: &c.Protect, kind: rules, flag: "protect", group: "Levels", doc: "more messages that no level changes: an id, role:NAME, or /regexp/"},
		{path: "policy.strategy", field: &p.Strategy, kind: word, words: "task_state, decision_log, code_delta, brief", flag: "strategy", group: "Levels", rare: true, doc: "form of the summary: task_state, decision_log, code_delta, brief"},
		{path: "policy.message_threshold", field: &p.MessageThreshold, kind: count, also: "compact_threshold", flag: "message-threshold", group: "Levels", rare: true, doc: "number of `messages` outside of a summary that leads to one; 0: off"},
		{path: "policy.context_threshold", field: &p.ContextThreshold, kind: share, flag: "context-threshold", group: "Levels", rare: true, doc: "`usage` that leads to a summary; 0: off"},

		{path: "soft.stale_after", field: &c.Soft.StaleAfter, kind: count, least: 1, flag: "stale-after", group: "Levels", rare: true, doc: "`messages` without a reference after which a file is stale"},

		{path: "hard.until", field: &c.Hard.Until, kind: word, words: "half, soft", flag: "hard-until", group: "Levels", rare: true, doc: "half: half of the old messages stay; soft: fewer, until usage is below the soft threshold"},
		{path: "hard.query", field: &c.Hard.Query, flag: "query", group: "Levels", doc: "hard ranks by this `text` in place of the last user message"},

		{path: "emergency.keep_last", field: &c.Emergency.KeepLast, kind: count, flag: "keep-last", group: "Levels", rare: true, doc: "newest `messages` that emergency keeps; 0: only the latest user message"},
		{path: "emergency.keep_share", field: &c.Emergency.KeepShare, kind: share, flag: "keep-share", group: "Levels", rare: true, doc: "emergency keeps more messages, up to this `share` of the window"},

		{path: "summary.model", field: &e.Summarizer, flag: "summary-model", group: "Models", doc: "`model` that summarizes, or session, or extractive (default llama3.2:3b)"},
		{path: "summary.url", field: &e.SummaryURL, kind: address, flag: "summary-url", group: "Models", rare: true, doc: "`address` of a server with /v1/chat/completions in place of Ollama"},
		{path: "summary.max_tokens", field: &c.Summary.MaxTokens, kind: size, auto: true, least: 1, flag: "summary-max-tokens", group: "Models", rare: true, doc: "max `tokens` of a summary; auto: an eighth of the window, at most 1024 of them from a model; with steady, 7 % more for lines of names"},
		{path: "summary.fallback", field: &c.Summary.Fallback, kind: word, words: "extractive, pruning-only", flag: "summary-fallback", group: "Models", rare: true, doc: "if the model fails: extractive (a summary without a model), pruning-only (no summary)"},

		{path: "embed.model", field: &e.Embedder, flag: "embed-model", group: "Models", doc: "`model` that ranks, or lexical (default nomic-embed-text)"},
		{path: "embed.url", field: &e.EmbedURL, kind: address, flag: "embed-url", group: "Models", rare: true, doc: "`address` of a server with /v1/embeddings in place of Ollama"},
		{path: "embed.cache", field: &e.Cache, flag: "embed-cache", group: "Models", rare: true, doc: "keep vectors in this `folder`; auto: tiercompact in the user's cache folder; none: in memory"},

		{path: "deadlines.ranking", field: &c.Deadlines.Ranking, kind: span, flag: "rank-deadline", group: "Models", rare: true, doc: "max `time` of a ranking by a model; 0: no limit"},
		{path: "deadlines.summary", field: &c.Deadlines.Summary, kind: span, flag: "summary-deadline", group: "Models", rare: true, doc: "max `time` of one call of the summarizer; 0: no limit"},
		{path: "deadlines.round", field: &c.Deadlines.Round, kind: span, flag: "round-deadline", group: "Models", rare: true, doc: "max `time` of all models in a round; 0: no limit"},

		{path: "archive.adapter", field: &c.Archive.Adapter, kind: word, words: "memory, dir, s3", synonyms: map[string]string{"fs": Dir}, group: "Archive", doc: "where removed messages are kept: memory, dir (or fs), s3"},
		{path: "archive.dir", field: &c.Archive.Dir, group: "Archive", doc: "folder of adapter dir"},
		{path: "archive.s3.bucket", field: &s3.Bucket, group: "Archive", rare: true, doc: "bucket of adapter s3; credentials come from the standard chain"},
		{path: "archive.s3.prefix", field: &s3.Prefix, group: "Archive", rare: true, doc: "prefix of the keys in the bucket"},
		{path: "archive.s3.region", field: &s3.Region, flag: "s3-region", group: "Archive", rare: true, doc: "`region` of the bucket (default: AWS_REGION, else as the server reports)"},
		{path: "archive.s3.endpoint", field: &s3.Endpoint, kind: address, flag: "s3-endpoint", group: "Archive", rare: true, doc: "`address` of a server with the S3 protocol (default: AWS_ENDPOINT_URL, else Amazon)"},
		{path: "archive.s3.kms_key", field: &s3.KMSKey, flag: "kms-key", group: "Archive", rare: true, doc: "`id` of the KMS key that encrypts the archive"},

		{path: "redact.enabled", field: &c.Redact.Off, opposite: true, kind: toggle, full: true, flag: "redact", group: "Archive", rare: true, doc: "remove secrets from archive, traces, logs and errors"},
		{path: "redact.pii", field: &c.Redaction.KeepPII, opposite: true, kind: toggle, flag: "redact-pii", group: "Archive", rare: true, doc: "remove e-mail addresses and phone numbers too"},
		{path: "redact.prompts", field: &c.Redact.Prompts, kind: toggle, flag: "redact-prompts", group: "Archive", rare: true, doc: "redact the input of models too"},
		{path: "redact.gitleaks", field: &c.Redaction.Gitleaks, kind: toggle, flag: "redact-gitleaks", group: "Archive", rare: true, doc: "use the rules of gitleaks too (slower, and only in a separate build)"},
		{path: "redact.patterns", field: &c.Redaction.Patterns, kind: patterns, group: "Archive", rare: true, doc: "more rules, each a regular expression, or a mapping of name and regexp"},

		{path: "trace.console", field: &c.Trace.Console, kind: toggle, flag: "trace-console", group: "Trace", doc: "write each event to stderr, one line each"},
		{path: "trace.jsonl", field: &c.Trace.JSONL, flag: "trace", group: "Trace", doc: "write each event to this `file`, one JSON object a line"},
		{path: "trace.ariadne.url", field: &ariadne.URL, kind: address, flag: "ariadne-url", group: "Trace", rare: true, doc: "send events to the Ariadne server at this `address` (like http://localhost:5175, with or without /ingest)"},
		{path: "trace.ariadne.name", field: &ariadne.Name, group: "Trace", rare: true, doc: "suffix of the names of its traces, as in check 3: soft (NAME)"},
		{path: "trace.ariadne.group", field: &ariadne.GroupID, group: "Trace", rare: true, doc: "group of its traces (default: the session)"},
		{path: "trace.otlp.endpoint", field: &otlp.Endpoint, kind: address, flag: "otlp-endpoint", group: "Trace", rare: true, doc: "send spans to the collector at this `address`, by OTLP over HTTP"},
		{path: "trace.otlp.insecure", field: &otlp.Insecure, kind: toggle, group: "Trace", rare: true, doc: "use http in place of https if the address is only host:port"},
		{path: "trace.otlp.service", field: &otlp.ServiceName, group: "Trace", rare: true, doc: "service name of the spans (default: OTEL_SERVICE_NAME, else tiercompact)"},
		{path: "trace.prometheus.listen", field: &c.Trace.Prometheus.Listen, kind: listen, flag: "prometheus-listen", group: "Trace", rare: true, doc: "serve /metrics for Prometheus at this `host:port`; a port alone is on loopback"},
	})
}

// settingOf returns the setting of a field of [tiercompact.Config] by its path, such as
// Policy.TriggerPct. [tiercompact.FieldError] has the path of a threshold as it is in files.
func settingOf(field string) (key, bool) {
	var c Config
	fields := libraryFields("", reflect.ValueOf(&c.Config).Elem())
	for i, k := range settingTable(&c) {
		if k.path == field || k.level == "" && fields[k.field] == field {
			return allSettings()[i], true
		}
	}
	return key{}, false
}

// libraryFields returns the paths of the fields of a [tiercompact.Config] by pointers to
// them.
func libraryFields(path string, of reflect.Value) map[any]string {
	out := make(map[any]string)
	for f, v := range of.Fields() {
		switch {
		case !f.IsExported():
		case isSection(f):
			maps.Copy(out, libraryFields(path+f.Name+".", v))
		default:
			out[v.Addr().Interface()] = path + f.Name
		}
	}
	return out
}

// isSection reports whether a field of a [tiercompact.Config] has fields of its own.
func isSection(f reflect.StructField) bool {
	return f.Type.Kind() == reflect.Struct && strings.HasSuffix(f.Type.Name(), "Config")
}

// settingByPath returns the setting of a path.
func settingByPath(path string) (key, bool) {
	for _, k := range allSettings() {
		if k.path == path {
			return k, true
		}
	}
	return key{}, false
}

// canonical returns the path of the setting that a file names: by its path, by the path
// in camelCase, or, at the top and in policy, by its name in other tools. Other names
// are returned unchanged.
func canonical(name string) string {
	if _, known := settingByPath(name); known {
		return name
	}
	plain := snakeCase(name)
	if _, known := settingByPath(plain); known {
		return plain
	}
	leaf := strings.TrimPrefix(plain, "policy.")
	for _, k := range allSettings() {
		if k.also == leaf || k.sectionPath() == "policy" && k.lastSegment() == leaf && plain != name {
			return k.path
		}
	}
	return name
}

// snakeCase puts an underscore before each capital of a camelCase name and makes it
// small. It does not change parts of a path that begin with a capital.
func snakeCase(name string) string {
	var b strings.Builder
	camel := false
	for i, r := range name {
		if begins := i == 0 || name[i-1] == '.'; begins {
			camel = unicode.IsLower(r)
		}
		if camel && unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
