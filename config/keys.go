package config

import (
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
	path  string
	kind  kind
	value any    // the default; nil in the table: the value of [tiercompact.Defaults]
	words string // the valid words of kind word or words, separated by ", "
	least float64
	above bool   // least itself is invalid
	auto  bool   // Auto is valid
	also  string // another name of it, from other tools; "": none
	// synonyms are alternatives to words; nil: none.
	synonyms map[string]string
	blank    bool   // "" is a valid word
	full     bool   // its variable includes the sections: without them it would look like another
	flag     string // "no-…" has the opposite meaning; "": there is none
	not      string // effect of a flag "no-…"
	doc      string // documentation; the word in backquotes is the flag's placeholder

	eager, steady any // values of the presets; nil: value
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

// presetValue is the value of a preset, or nil.
func (k key) presetValue(name string) any {
	switch name {
	case "eager":
		return k.eager
	case "steady":
		return k.steady
	}
	return nil
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
		if k.sectionPath() == thresholdsFlag {
			keys = append(keys, k)
		}
	}
	return keys
}

// thresholdTable has the properties of thresholds that the library lacks.
func thresholdTable() (keys []key) {
	for _, l := range levels.All() {
		keys = append(keys, key{path: thresholdsFlag + "." + string(l.Name), kind: share, above: true, flag: thresholdsFlag, doc: "usage from which " + string(l.Name) + " is due"})
	}
	return keys
}

// allSettings is the table: every setting, in the order of files and documents, with the
// library's default if it has the setting. It must not be changed.
var allSettings = sync.OnceValue(func() []key {
	all := settingTable()
	for i := range all {
		k := &all[i]
		v := libraryValue(tiercompact.Default, k.path)
		if v == nil || k.auto || k.path == "preset" {
			continue
		}
		k.value = v
		for preset, into := range map[tiercompact.Preset]*any{tiercompact.Eager: &k.eager, tiercompact.Steady: &k.steady} {
			if p := libraryValue(preset, k.path); !reflect.DeepEqual(p, v) || k.sectionPath() == thresholdsFlag { // presets set all thresholds together
				*into = p
			}
		}
	}
	return all
})

// libraryValue is the value of a path in a preset of the library; nil if the library
// lacks the setting, or has it in another form.
func libraryValue(preset tiercompact.Preset, path string) any {
	f := fieldOf(reflect.ValueOf(tiercompact.Defaults(preset)), path)
	switch f.Kind() {
	case reflect.String:
		return f.String()
	case reflect.Slice:
		out := make([]string, f.Len())
		for i := range out {
			out[i] = f.Index(i).String()
		}
		return out
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return f.Interface()
	}
	return nil
}

// fieldOf returns the field of a path: the name of a setting is that of its field, in
// small letters and with underscores. A threshold is the value of its level.
func fieldOf(of reflect.Value, path string) reflect.Value {
	name, rest, deeper := strings.Cut(path, ".")
	name = strings.ReplaceAll(name, "_", "")
	f := of.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	switch {
	case !deeper:
		return f
	case f.Kind() == reflect.Struct:
		return fieldOf(f, rest)
	case f.Kind() == reflect.Map:
		return f.MapIndex(reflect.ValueOf(rest).Convert(f.Type().Key()))
	}
	return reflect.Value{}
}

// settingTable has the properties of settings that the library lacks.
func settingTable() []key {
	return slices.Concat([]key{
		{path: "preset", kind: word, value: "default", words: presetWords, flag: "preset", doc: "bundle of settings: default (each level at its threshold), eager (small windows, long answers), steady (few rounds: for whoever waits for a local server)"},
		{path: "model", kind: text, flag: "model", doc: "count tokens as this `model` does (default: the transcript's, else cl100k_base)"},
		{path: "window", kind: size, value: Auto, auto: true, least: 1, also: "max_context_tokens", flag: "window", doc: "`tokens` that the model takes; auto: as the server has it, else 8192"},
		{path: "auto", kind: toggle, value: true, also: "auto_compact", flag: "auto", doc: "compact by itself at all, preflights included"},
		{path: "trigger", kind: word, words: "every_message, assistant_only, manual", flag: "trigger", doc: "when a check runs: every_message, assistant_only, manual"},
		{path: "level", kind: word, words: levelWords(), blank: true, flag: "level", doc: "this level instead of the one by usage: " + levelWords()},
		{path: "escalation", kind: word, words: "direct, cascade", flag: "escalation", doc: "direct: the picked level alone; cascade: soft first"},
		{path: "ranking", kind: word, words: "cosine, fused", flag: "ranking", doc: "how hard ranks: cosine, fused"},
		{path: "min_gain", kind: share, flag: "min-gain", doc: "`share` of the tokens that need not stay that a round must free; 0: any gain"},
		{path: "fill", kind: share, flag: "fill", doc: "usage up to which a summary holds parts of files that the work is at; under steady outlines grow up to it, too; 0: off"},
		{path: "summary_role", kind: word, words: "assistant, system", flag: "summary-role", doc: "whose message the summary is: assistant, system"},
		{path: "archive_required", kind: toggle, value: true, flag: "archive-required", doc: "where the archive cannot be written: an error; false: go on without compacting"},
		{path: "engine", kind: word, value: "auto", words: "auto, ollama, built-in", flag: "engine", doc: "what ranks and summarises: auto (Ollama where it has the models, else what is built in), ollama, built-in"},
		{path: "ollama_url", kind: address, value: "", flag: "ollama-url", doc: "`address` of Ollama (default: OLLAMA_HOST, else http://127.0.0.1:11434)"},
		{path: "num_thread", kind: count, value: 0, flag: "num-thread", doc: "`threads` that Ollama computes with, for each of its models; 0: as many as it chooses"},
		{path: "exact_tokens", kind: toggle, value: false, flag: "exact-tokens", doc: "count with the tokenizer of the model, as Ollama has it"},
		{path: "seed", kind: count, value: 42, flag: "seed", doc: "for models; what is built in gives the same bytes with any seed"},
	}, thresholdTable(), []key{
		{path: "policy.trigger_pct", kind: share, flag: "trigger-pct", doc: "`usage` from which a preflight compacts; 0: every preflight does"},
		{path: "policy.hard_cap_buffer", kind: size, value: Auto, auto: true, flag: "hard-cap-buffer", doc: "`tokens` of the window that stay free; auto: 1500, at most an eighth of it"},
		{path: "policy.reserve", kind: size, flag: "reserve", doc: "`tokens` kept for the answer beside that"},
		{path: "policy.keep_recent_turns", kind: count, least: 1, flag: "keep-recent-turns", doc: "turns that the three layers keep"},
		{path: "policy.keep_tool_io_pairs", kind: count, least: 1, flag: "keep-tool-io-pairs", doc: "calls with results that the three layers keep"},
		{path: "policy.roles_never_prune", kind: words, words: roleWords, flag: "roles-never-prune", doc: "`roles` whose messages no level touches"},
		{path: "policy.pin_first_user", kind: toggle, value: true, flag: "no-pin-first-user", doc: "the first user message stays, whatever happens", not: "let the first user message go like any other"},
		{path: "policy.protect", kind: rules, value: []string{}, flag: "protect", doc: "further messages that no level touches: an id, role:NAME, or /regexp/ over the text"},
		{path: "policy.strategy", kind: word, words: "task_state, decision_log, code_delta, brief", flag: "strategy", doc: "form of the summary: task_state, decision_log, code_delta, brief"},
		{path: "policy.message_threshold", kind: count, also: "compact_threshold", flag: "message-threshold", doc: "so many `messages` not yet summarised lead to a summary; 0: off"},
		{path: "policy.context_threshold", kind: share, flag: "context-threshold", doc: "`usage` that leads to a summary; 0: off"},

		{path: "soft.stale_after", kind: count, least: 1, flag: "stale-after", doc: "`messages` without a reference that make a file stale"},

		{path: "hard.until", kind: word, words: "half, soft", flag: "hard-until", doc: "half: half of the old messages stay; soft: on, until usage is below the soft threshold"},
		{path: "hard.query", kind: text, flag: "query", doc: "hard ranks by this `text` in place of the last user message"},

		{path: "emergency.keep_last", kind: count, flag: "keep-last", doc: "newest `messages` that emergency keeps; 0: only the latest user message"},
		{path: "emergency.keep_share", kind: share, flag: "keep-share", doc: "emergency keeps more, while it fills less than this `share` of the window"},

		{path: "summary.model", kind: text, value: "", flag: "summary-model", doc: "`model` that summarises, or session, or extractive (default llama3.2:3b)"},
		{path: "summary.url", kind: address, value: "", flag: "summary-url", doc: "`address` of a server with /v1/chat/completions in place of Ollama"},
		{path: "summary.max_tokens", kind: size, value: Auto, auto: true, least: 1, flag: "summary-max-tokens", doc: "`tokens` of a whole summary; auto: an eighth of the window, at most 1024 of them what a model writes"},
		{path: "summary.fallback", kind: word, words: "extractive, pruning-only", flag: "summary-fallback", doc: "where the model fails: extractive (a summary without one), pruning-only (none)"},

		{path: "embed.model", kind: text, value: "", flag: "embed-model", doc: "`model` that ranks, or lexical (default nomic-embed-text)"},
		{path: "embed.url", kind: address, value: "", flag: "embed-url", doc: "`address` of a server with /v1/embeddings in place of Ollama"},
		{path: "embed.cache", kind: text, value: CacheAuto, flag: "embed-cache", doc: "keep vectors in this `folder`; auto: tiercompact in the user's cache folder; none: nowhere"},

		{path: "deadlines.ranking", kind: span, flag: "rank-deadline", doc: "most `time` for a ranking by a model; 0: none"},
		{path: "deadlines.summary", kind: span, flag: "summary-deadline", doc: "most `time` for one call of the summarizer; 0: none"},
		{path: "deadlines.round", kind: span, flag: "round-deadline", doc: "most `time` for the models of a whole round; 0: none"},

		{path: "archive.adapter", kind: word, value: Memory, words: "memory, dir, s3", synonyms: map[string]string{"fs": Dir}, doc: "where removed messages go: memory, dir (or fs), s3"},
		{path: "archive.dir", kind: text, value: ".compact/archive", doc: "folder of adapter dir"},
		{path: "archive.s3.bucket", kind: text, value: "", doc: "bucket of adapter s3; credentials come from the standard chain"},
		{path: "archive.s3.prefix", kind: text, value: "", doc: "what keys in the bucket begin with"},
		{path: "archive.s3.region", kind: text, value: "", flag: "s3-region", doc: "`region` of the bucket (default: as the environment says)"},
		{path: "archive.s3.endpoint", kind: address, value: "", flag: "s3-endpoint", doc: "`address` of a server with the protocol of S3 (default: AWS_ENDPOINT_URL, else Amazon's)"},
		{path: "archive.s3.kms_key", kind: text, value: "", flag: "kms-key", doc: "`id` of the key that the server encrypts with"},

		{path: "redact.enabled", kind: toggle, full: true, value: true, flag: "redact", doc: "take secrets out of archive, traces, logs and error texts"},
		{path: "redact.pii", kind: toggle, value: true, flag: "redact-pii", doc: "take e-mail addresses and phone numbers out, too"},
		{path: "redact.prompts", kind: toggle, flag: "redact-prompts", doc: "models that rank and summarise get redacted texts too"},
		{path: "redact.gitleaks", kind: toggle, value: false, flag: "redact-gitleaks", doc: "look by the rules of gitleaks too, in the build that has them; takes longer"},
		{path: "redact.patterns", kind: patterns, value: []Pattern{}, doc: "further rules, each a regular expression, or a mapping of name and regexp"},

		{path: "trace.console", kind: toggle, value: false, flag: "trace-console", doc: "tell of each event in a line on stderr"},
		{path: "trace.jsonl", kind: text, value: "", flag: "trace", doc: "write every event to this `file`, one JSON object a line"},
		{path: "trace.ariadne.url", kind: address, value: "", flag: "ariadne-url", doc: "`address` of an Ariadne server that is sent every event, like http://localhost:5175; /ingest may stand at its end"},
		{path: "trace.ariadne.name", kind: text, value: "", doc: "stands in brackets behind the name of each of its traces, as in check 3: soft (NAME)"},
		{path: "trace.ariadne.group", kind: text, value: "", doc: "group of its traces (default: the session)"},
		{path: "trace.otlp.endpoint", kind: address, value: "", flag: "otlp-endpoint", doc: "`address` of a collector that is sent spans by OTLP over HTTP"},
		{path: "trace.otlp.insecure", kind: toggle, value: false, doc: "http, not https, where the address is host:port alone"},
		{path: "trace.otlp.service", kind: text, value: "", doc: "name of the service in its spans (default: OTEL_SERVICE_NAME, else tiercompact)"},
		{path: "trace.prometheus.listen", kind: listen, value: "", flag: "prometheus-listen", doc: "serve /metrics for Prometheus at this `host:port`; a port alone is on loopback"},
	})
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
