// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	maxHeaders = 16 << 10    // bytes, with the request's line
	slop       = 4 << 10     // which net/http reads beyond MaxHeaderBytes
	closeTime  = time.Second // which closing may take where the time of draining is over
)

// run serves until ctx ends, then drains. It listens before the model and the index are open, and sends its address to
// ready, if given, once they are.
func run(ctx context.Context, o options, e *events, ready chan<- string) error {
	hangup := make(chan os.Signal, 1)
	defer close(hangup)
	signal.Notify(hangup, syscall.SIGHUP) // from now on SIGHUP does not end the process
	defer signal.Stop(hangup)
	f, err := newFront(&o, e)
	if err != nil {
		return err
	}
	bare, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	connections := &listener{Listener: bare, most: o.connections, whole: f.whole}
	f.connections = connections.open.Load
	server := &http.Server{Handler: f, ConnContext: remember, ConnState: idles, ErrorLog: e.failures(),
		MaxHeaderBytes: maxHeaders - slop, ReadHeaderTimeout: o.headerTime, ReadTimeout: o.bodyTime, IdleTimeout: o.idleTime}
	defer f.close(server, closeTime)
	served := make(chan error, 1)
	go func() { served <- server.Serve(connections) }()
	e.info("listening", member{"address", bare.Addr().String()})

	opened := make(chan error, 1)
	go func() { opened <- f.open(o) }()
	go f.reloads(hangup)
	for {
		select {
		case err := <-opened:
			if err != nil {
				return err
			}
			if ready != nil {
				ready <- bare.Addr().String()
			}
		case err := <-served:
			return err
		case <-ctx.Done():
			end := time.Now().Add(o.drain)
			f.drain(connections, &o)
			f.close(server, time.Until(end))
			e.info("ended")
			return nil
		}
	}
}

// open opens the model and the index, and tells so, also of a service that drains meanwhile.
func (f *front) open(o options) error {
	s, err := newService(o, f.metrics, f.events)
	if err == nil {
		f.service.Store(s)
		f.events.info("ready", member{"version", s.version()})
	}
	if f.draining.Load() {
		if err != nil {
			f.events.error("failed", member{"message", err.Error()}) // nobody else looks at it any more
		} else {
			s.end()
		}
	}
	return err
}

// reloads reloads with each signal; those that come during a reload are one.
func (f *front) reloads(hangup <-chan os.Signal) {
	for range hangup {
		if s := f.service.Load(); s != nil {
			_ = s.reloadNow() // tells of its failures itself
		}
	}
}

// drain answers what comes, and closes each connection with its answer, until there has been none for a time, or the
// time of draining is over.
func (f *front) drain(connections *listener, o *options) {
	f.draining.Store(true)
	if s := f.service.Load(); s != nil {
		s.end()
	}
	f.events.info("draining") // from now on compactions are refused
	ctx, enough := context.WithTimeout(context.Background(), o.drain)
	defer enough()
	connections.quiet(ctx, o.quiet)
	if ctx.Err() != nil {
		f.events.warn("dropped", member{"requests", f.running.Load()}, member{"connections", connections.open.Load()})
	}
}

// close ends what still runs, and waits for it, for so long and for closeTime at least: a reload of a file that nobody
// writes ends with the process. It may be called again.
func (f *front) close(server *http.Server, most time.Duration) {
	f.closing.Do(func() {
		_ = server.Close() // which cancels requests
		closed := make(chan struct{})
		go func() {
			if s := f.service.Load(); s != nil {
				s.close()
			}
			close(closed)
		}()
		if most < closeTime {
			most = closeTime
		}
		select {
		case <-closed:
		case <-time.After(most):
		}
	})
}
