package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Notices say what a file that was found, not named, does that whoever runs
// this should know: the folder may be somebody else's project.
func (l *Loaded) Notices() []string {
	if !l.Found {
		return nil
	}
	var out []string
	for _, k := range keys() {
		v, at := lookup(l.layers, k.path)
		switch {
		case at.Kind != File:
		case k.kind == address && !isLocal(v.(string)):
			out = append(out, fmt.Sprintf("texts of conversations go to %s, as %s says (%s)", v, k.path, at))
		case k.path == "redact.enabled" && v == false:
			out = append(out, fmt.Sprintf("secrets are not taken out of what leaves a conversation, as %s says (%s)", k.path, at))
		}
	}
	return out
}

// keySent are errors where a file that was found would have the key of the
// user's server sent elsewhere.
func (l *Loaded) keySent(environ []string) (errs Errors) {
	holdsKey := func(v string) bool { return strings.HasPrefix(v, KeyVariable+"=") && v != KeyVariable+"=" }
	if !l.Found || !slices.ContainsFunc(environ, holdsKey) {
		return nil
	}
	for _, path := range []string{"summary.url", "embed.url"} {
		v, at := lookup(l.layers, path)
		if at.Kind == File && !isLocal(v.(string)) {
			errs = append(errs, &Error{Path: path, Want: "left out of a file that nobody named", Origin: at,
				Remedy: fmt.Sprintf("%s would be sent there; name the file with --config, or set %s", KeyVariable, Variables(path)[0])})
		}
	}
	return errs
}

// outside are errors where a file that was found would have files written
// outside of its folder.
func (l *Loaded) outside() (errs Errors) {
	if !l.Found {
		return nil
	}
	for _, path := range []string{"trace.jsonl", "archive.dir", "embed.cache"} {
		v, at := lookup(l.layers, path)
		if s := v.(string); at.Kind == File && s != "" && !filepath.IsLocal(s) {
			errs = append(errs, &Error{Path: path, Want: "inside this folder", Value: strconv.Quote(clip(s)), Origin: at,
				Remedy: "to write elsewhere, name the file with --config"})
		}
	}
	return errs
}

// isLocal reports whether an address is none, or on this machine.
func isLocal(address string) bool {
	u, err := url.Parse(schemed(address))
	if address == "" || err != nil {
		return err == nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
