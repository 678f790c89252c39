// A recommendation service to copy: see README.md. SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	o := parse(flag.CommandLine, os.Args[1:])
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Reset(os.Interrupt, syscall.SIGTERM) // a second one ends the process at once
		end()
	}()
	log := &events{out: os.Stderr, asJSON: o.log == "json"}
	if err := run(ctx, o, log, nil); err != nil {
		log.error("failed", member{"message", err.Error()})
		os.Exit(1)
	}
}
