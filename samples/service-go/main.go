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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	log := &events{out: os.Stderr, asJSON: o.log == "json"}
	if err := run(ctx, o, log, nil); err != nil {
		log.error("failed", member{"message", err.Error()})
		os.Exit(1)
	}
}
