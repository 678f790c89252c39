// A recommendation service to copy: see README.md. SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	path := flag.String("index", "", "index file (required)")
	address := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	sessions := flag.Int("sessions", runtime.GOMAXPROCS(0), "requests that are decoded at a time")
	histories := flag.Int("histories", 16, "histories of a request, at most")
	beams := flag.Int("beams", 50, "beams of a history, and items of it, at most")
	flag.Parse()
	if *path == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *path, *address, limits{*sessions, *histories, *beams}, nil); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, then lets running requests finish. It sends the address to ready, if given.
func run(ctx context.Context, path, address string, limits limits, ready chan<- string) error {
	if limits.sessions < 1 {
		return fmt.Errorf("sessions is %d, expected at least 1", limits.sessions)
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from now on SIGHUP does not end the process
	defer signal.Stop(hangup)
	pool, err := newPool(path, limits)
	if err != nil {
		return err
	}
	s := &service{pool: pool}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Printf("serving %s on %s, version %s", path, listener.Addr(), pool.current.Load().catalogue.info.Fingerprint)
	if ready != nil {
		ready <- listener.Addr().String()
	}
	for {
		select {
		case <-hangup:
			_ = s.reloadNow() // logs and counts its failures itself
		case err := <-served:
			return err
		case <-ctx.Done():
			patience, enough := context.WithTimeout(context.Background(), 10*time.Second)
			defer enough()
			if err := server.Shutdown(patience); err != nil && !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}
	}
}
