// Package remote is the HTTP side of calls to untrusted model servers: it limits
// their answers, refuses redirects to other hosts, and reports failures as errors
// of package model, whatever the protocol.
package remote

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Address parses the address of a server: a URL, or host, host:port or :port for
// http, with port if none is given. An address on which servers listen (0.0.0.0,
// [::]) means this machine. A path that only names the protocol (/v1, /api) is
// omitted.
func Address(text, port string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	whole := text
	bare := !strings.Contains(text, "://")
	if bare {
		if net.ParseIP(text) != nil && strings.Contains(text, ":") {
			whole = "[" + text + "]"
		}
		whole = "http://" + whole
	}
	u, err := url.Parse(whole)
	if err != nil {
		return nil, fmt.Errorf("read address %q: it is not a URL; write it as http://host:port", text)
	}
	n, err := strconv.ParseUint("0"+u.Port(), 10, 16)
	if u.Scheme != "http" && u.Scheme != "https" || text == "" || err != nil || u.Hostname() == "" && n == 0 {
		return nil, fmt.Errorf("read address %q: it names no server; write it as http://host:port", u.Redacted())
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	switch {
	case u.Port() != "":
		u.Host = net.JoinHostPort(host, u.Port())
	case bare && port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, protocol := range []string{"/v1", "/api"} {
		u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, protocol), "/")
	}
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u, nil
}
