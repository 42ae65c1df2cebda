package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/redact"
)

// Notices reports what the user should know: variables with the prefix COMPACT_ that are
// not settings, and the effects of a file that was found, not named, because its folder
// may be a foreign project.
func (l *Loaded) Notices() []string {
	var out []string
	for _, layer := range l.layers {
		out = append(out, layer.unknown...)
	}
	if !l.Found {
		return out
	}
	out = append(out, l.greedy...)
	for _, k := range allSettings() {
		v, at := lookupPath(l.layers, k.path)
		switch {
		case at.Kind != File:
		case k.kind == address && !isLocalAddress(v.(string)):
			out = append(out, fmt.Sprintf("texts of conversations go to %s, as %s says (%s)", v, k.path, at))
		case k.path == "archive.s3.bucket" && l.effectiveValue("archive.adapter") == S3:
			out = append(out, fmt.Sprintf("what is removed of conversations goes to the bucket %s, as %s says (%s)", v, k.path, at))
		case k.kind == listen && !isLocalAddress(v.(string)):
			out = append(out, fmt.Sprintf("others can read figures of this session at %s, as %s says (%s)", v, k.path, at))
		case k.path == "redact.pii" && v == false && l.effectiveValue("redact.enabled") == true:
			out = append(out, fmt.Sprintf("e-mail addresses and phone numbers are not taken out of what leaves a conversation, as %s says (%s)", k.path, at))
		case k.path == "redact.enabled" && v == false:
			out = append(out, fmt.Sprintf("secrets are not taken out of what leaves a conversation, as %s says (%s)", k.path, at))
		}
	}
	return out
}

// tooMuch is the share of ordinary text that the patterns of a found file must not
// redact: an archived conversation would be unreadable.
const tooMuch = 0.25

// leaveOutGreedy removes the patterns of a found file from its layer if they redact
// nearly everything, alone or together.
func (l *Loaded) leaveOutGreedy() {
	const path = "redact.patterns"
	v, at := lookupPath(l.layers, path)
	patterns, ok := v.([]Pattern)
	if !l.Found || !ok || at.Kind != File || len(patterns) == 0 {
		return
	}
	why := func(what string, share float64) string {
		return fmt.Sprintf("%s would take out %.0f %% of ordinary text, and the archive could not restore it; left out, because the file of %s (%s) was found, not named; to use it, name the file with --config", what, 100*share, path, at)
	}
	var kept []Pattern
	for _, p := range patterns {
		share, err := redact.Share(p)
		if err == nil && share >= tooMuch {
			l.greedy = append(l.greedy, why(fmt.Sprintf("the pattern %s", strconv.Quote(clipValue(p.Regexp))), share))
			continue
		}
		kept = append(kept, p)
	}
	if share, err := redact.Share(kept...); err == nil && share >= tooMuch {
		l.greedy = append(l.greedy, why(fmt.Sprintf("%d patterns together", len(kept)), share))
		kept = nil
	}
	if len(l.greedy) == 0 {
		return
	}
	for _, layer := range l.layers {
		if layer.origins[path] == at {
			layer.values[path] = slices.Concat([]Pattern{}, kept)
		}
	}
}

// effectiveValue is the value of a path that is in effect.
func (l *Loaded) effectiveValue(path string) any { v, _ := lookupPath(l.layers, path); return v }

// checkKeySent returns errors if a found file would send the key of the user's server
// elsewhere.
func (l *Loaded) checkKeySent(environ []string) (errs Errors) {
	if !l.Found {
		return nil
	}
	for _, to := range []struct {
		path string
		keys []string
	}{
		{"summary.url", []string{KeyVariable}}, {"embed.url", []string{KeyVariable}},
		{"trace.otlp.endpoint", []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}},
	} {
		v, at := lookupPath(l.layers, to.path)
		if at.Kind != File || isLocalAddress(v.(string)) {
			continue
		}
		if i := slices.IndexFunc(to.keys, func(name string) bool { return isEnvSet(environ, name) }); i >= 0 {
			errs = append(errs, &Error{Path: to.path, Want: "left out of a file that was found, not named", Origin: at,
				Remedy: fmt.Sprintf("%s would be sent there; name the file with --config, or set %s", to.keys[i], Variables(to.path)[0])})
		}
	}
	return errs
}

// isEnvSet reports whether a variable has a value.
func isEnvSet(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(v string) bool { return len(v) > len(name)+1 && strings.HasPrefix(v, name+"=") })
}

// checkOutsidePaths returns errors if a found file would cause files to be written
// outside of its folder.
func (l *Loaded) checkOutsidePaths() (errs Errors) {
	if !l.Found {
		return nil
	}
	for _, path := range []string{"trace.jsonl", "archive.dir", "embed.cache"} {
		v, at := lookupPath(l.layers, path)
		s := v.(string)
		if path == "archive.dir" && at.Kind == Default && l.effectiveValue("archive.adapter") == Dir {
			at = l.Origin("archive.adapter") // the source that enables it
		}
		if at.Kind == File && s != "" && !isInside(filepath.Dir(l.File), s) {
			errs = append(errs, &Error{Path: path, Want: "inside this folder", Value: strconv.Quote(clipValue(s)), Origin: at,
				Remedy: "to write elsewhere, name the file with --config"})
		}
	}
	return errs
}

// isInside reports whether a path is in a folder, with links resolved.
func isInside(dir, path string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(path)
	return filepath.IsLocal(path) && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// isLocalAddress reports whether an address is empty, or on this machine.
func isLocalAddress(address string) bool {
	u, err := url.Parse(withScheme(address))
	if address == "" || err != nil {
		return err == nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
