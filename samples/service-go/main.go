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
	"strconv"
	"strings"
	"syscall"
	"time"

	"sidbeam.io/sidbeam"
)

func main() {
	o, address := parse(flag.CommandLine, os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, address, nil); err != nil {
		log.Fatal(err)
	}
}

// parse gives the options and the address to serve on, or ends the process with status 2.
func parse(flags *flag.FlagSet, arguments []string) (o options, address string) {
	flags.StringVar(&o.model, "model", "", "folder of a checkpoint (required)")
	flags.StringVar(&o.draft, "draft", "", "folder of a smaller model that writes levels ahead; answers stay the same")
	flags.StringVar(&o.index, "index", "", "index file, or folder of a live catalogue (required)")
	flags.BoolVar(&o.follow, "follow", false, "another process writes the catalogue")
	flags.Int64Var(&o.keep, "keep", 16, "versions of the catalogue that can be gone back to")
	flags.DurationVar(&o.keepAge, "keep-age", 0, "of these, only such as were replaced at most so long before the "+
		"newest came, such as 24h; 0: whatever their age")
	flags.StringVar(&o.tokenFile, "token-file", "", "file of the token that changes and reloads must bear (default: "+
		"what SIDBEAM_TOKEN holds)")
	flags.StringVar(&address, "listen", "127.0.0.1:8080", "address to serve on")
	flags.Func("offsets", "o0,o1,..: code t of level l is token o_l + t (default 0)", list(&o.vocabulary.Offsets, 0))
	flags.Func("start-tokens", "t0,t1,..: before every history; -1 fills a position up", list(&o.startTokens, -1))
	flags.Func("begin-tokens", "t0,t1,..: after every prompt; of a T5 the decoder's first", list(&o.beginTokens, 0))
	end := flags.Int64("end-column", -1, "token that ends a SID, where lengths vary")
	flags.IntVar(&o.group, "group", 1, "tokens per position, whose embeddings are summed; a SID then is a position")
	flags.Func("normalize", "log-softmax over all tokens, the level's codes or the valid codes: full, level, valid "+
		"(default full)", func(name string) (err error) { o.normalization, err = normalizationOf(name); return err })
	flags.IntVar(&o.beams, "beams", 50, "beams of a history, and items of it, at most")
	flags.IntVar(&o.histories, "histories", 16, "histories of a request, at most")
	flags.IntVar(&o.prompt, "prompt", 512, "positions of a history that the model reads, the latest")
	flags.IntVar(&o.lanes, "lanes", runtime.GOMAXPROCS(0), "histories that run at a time")
	flags.IntVar(&o.queue, "queue", 1024, "histories that may wait")
	flags.StringVar(&o.filters, "filters", "", "file of the filters that requests may name, {\"name\": \"text\"}")
	flags.IntVar(&o.listed, "listed", 10000, "ids of a request's list of excluded or allowed items, at most")
	flags.IntVar(&o.whereBytes, "where-bytes", 4096, "bytes of the text of a request's own filter, at most")
	flags.IntVar(&o.whereKept, "where-kept", 16, "filters of such texts that are kept, the latest; 0: none")
	_ = flags.Parse(arguments) // it ends the process itself
	o.vocabulary.HasEnd, o.vocabulary.EndColumn = *end >= 0, *end
	if o.model == "" || o.index == "" || flags.NArg() > 0 || o.group < 1 {
		flags.Usage()
		os.Exit(2)
	}
	return o, address
}

func normalizationOf(name string) (sidbeam.Normalization, error) {
	switch name {
	case "full":
		return sidbeam.NormalizeFull, nil
	case "level":
		return sidbeam.NormalizeLevel, nil
	case "valid":
		return sidbeam.NormalizeValid, nil
	}
	return 0, errors.New("expected full, level or valid")
}

// list reads tokens, none of them less than least.
func list[T int32 | int64](tokens *[]T, least int64) func(string) error {
	return func(text string) error {
		*tokens = nil
		for _, part := range strings.Split(text, ",") {
			n, err := strconv.ParseInt(part, 10, 32)
			if err != nil || n < least {
				return fmt.Errorf("expected tokens of at least %d, separated by commas", least)
			}
			*tokens = append(*tokens, T(n))
		}
		return nil
	}
}

// run serves until ctx ends, then lets running requests finish. It sends the address to ready, if given.
func run(ctx context.Context, o options, address string, ready chan<- string) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from now on SIGHUP does not end the process
	defer signal.Stop(hangup)
	s, err := newService(o)
	if err != nil {
		return err
	}
	defer s.close()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Printf("serving %s on %s, version %s", o.index, listener.Addr(), s.version())
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
			s.end()
			if err := server.Shutdown(patience); err != nil && !errors.Is(err, http.ErrServerClosed) {
				_ = server.Close() // which ends the requests that still run
				return err
			}
			return nil
		}
	}
}
