package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	headersWithin = 10 * time.Second // limit of a request's headers
	idleWithin    = 2 * time.Minute  // limit of an idle connection
	maxHeaders    = 256 << 10        // bytes
)

// Serve answers requests at l until ctx ends. Then it takes no more, lets answers
// stream on for at most grace, and ends.
func (p *Proxy) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	s := &http.Server{Handler: p, ReadHeaderTimeout: headersWithin, IdleTimeout: idleWithin, MaxHeaderBytes: maxHeaders, ErrorLog: quietLog}
	s.RegisterOnShutdown(p.page.Close) // an open page has a stream without an end
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		p.Close()
		return err
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	err := s.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // the streams that have not ended
	}
	p.Close()
	return err
}

// OnLoopback reports whether an address to listen at is reachable from this machine
// alone.
func OnLoopback(l net.Addr) bool {
	a, ok := l.(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}
