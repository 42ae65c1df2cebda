package remote

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Cause is a reason why a call does not reach its server, if the reason and its
// remedy are the same for servers of each kind.
type Cause string

// The causes.
const (
	NoName       Cause = "no such host"
	NoConnection Cause = "no connection in time"
	Slow         Cause = "no answer in time"
	NoTLS        Cause = "no TLS at this port"
	NeedsTLS     Cause = "TLS at this port"
	Untrusted    Cause = "certificate"
	NoProxy      Cause = "proxy not reachable"
	ProxyAuth    Cause = "proxy wants a password"
	NoKey        Cause = "no key"
	WrongPath    Cause = "wrong path"
)

// remedy returns the remedy, "" if it depends on the server.
func (c Cause) remedy() string {
	switch c {
	case NoName:
		return "check the host's name in the address, or give its number"
	case NoConnection:
		return "check the address, and whether a firewall is between"
	case Slow:
		return "it is there, and busy or loading a model: try again later, or see its log"
	case NoTLS:
		return "the server speaks no TLS: write http:// in place of https://"
	case NeedsTLS:
		return "the server speaks TLS: write https:// in place of http://"
	case Untrusted:
		return "have this machine trust who signed its certificate (SSL_CERT_FILE), or use the name that the certificate is for"
	case NoProxy:
		return "correct HTTP_PROXY or HTTPS_PROXY, or put the server's host into NO_PROXY"
	case ProxyAuth:
		return "the proxy asks who you are: put the user's name and password before its host in HTTP_PROXY or HTTPS_PROXY, or the server's host into NO_PROXY"
	}
	return ""
}

// causeOf returns the cause of a rejection.
func causeOf(status int, text string, page bool) Cause {
	switch {
	case status == http.StatusProxyAuthRequired:
		return ProxyAuth
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return NoKey
	case status == http.StatusBadRequest && mentions(text, "http request to an https server", "plain http request was sent to https port", "speaking plain http to an ssl-enabled"):
		return NeedsTLS // Go, nginx, Apache
	case status == http.StatusNotFound && page:
		return WrongPath
	}
	return ""
}

func mentions(text string, found ...string) bool {
	text = strings.ToLower(text)
	for _, s := range found {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// isPage reports whether a body is a web page, not an API's answer.
func isPage(body []byte) bool {
	body = bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	return bytes.HasPrefix(body, []byte("<!doctype html")) || bytes.HasPrefix(body, []byte("<html"))
}

// networkCause returns the cause of an error of the network.
func (c *Call) networkCause(err error) Cause {
	var name *net.DNSError
	var record tls.RecordHeaderError
	var distrust *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	text := err.Error()
	switch {
	case mentions(text, "proxy authentication required"):
		return ProxyAuth // of a proxy for a tunnel
	case strings.HasPrefix(text, "proxyconnect "):
		return NoProxy
	case errors.As(err, &name):
		return NoName
	case errors.As(err, &distrust) || errors.As(err, &unknown):
		return Untrusted
	case errors.As(err, &record) || mentions(text, "server gave http response to https client", "tls handshake timeout"):
		return NoTLS
	case c.hangsUp(err) && c.speaksTLS():
		return NeedsTLS
	}
	return ""
}

// hangsUp reports whether an error comes from a server that does not understand its
// input: those with OpenSSL close the connection silently if they receive no TLS.
func (c *Call) hangsUp(err error) bool {
	return isHangUp(err) || mentions(err.Error(), "malformed http response")
}

// isHangUp reports whether an error is the end of a connection.
func isHangUp(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &network) && !errors.Is(err, syscall.ECONNREFUSED) && mentions(err.Error(), "reset by peer", "forcibly closed", "broken pipe")
}

const probeWithin = time.Second

// speaksTLS reports whether the server of a call without TLS expects TLS. It sends
// only the beginning of a handshake, so the server need not be trusted.
func (c *Call) speaksTLS() bool {
	if c.url == nil || c.url.Scheme != "http" {
		return false
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: c.url}); err != nil || proxy != nil {
		return false
	}
	port := c.url.Port()
	if port == "" {
		port = "80"
	}
	d := &net.Dialer{Timeout: probeWithin}
	conn, err := tls.DialWithDialer(d, "tcp", net.JoinHostPort(c.url.Hostname(), port), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// late returns the failure of a call that passed its deadline.
func (c *Call) late() *Failure {
	switch {
	case !c.connected.Load():
		return &Failure{Kind: model.ErrUnreachable, Text: string(NoConnection), Cause: NoConnection}
	case c.securing.Load() && !c.secured.Load():
		return &Failure{Kind: model.ErrSlow, Text: "the TLS handshake took too long", Cause: NoTLS}
	}
	return &Failure{Kind: model.ErrSlow, Text: string(Slow), Cause: Slow}
}
