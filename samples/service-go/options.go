// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"sidbeam.io/sidbeam"
)

// options of the service, by the names of the contract (x-options); the first four are the models' and the index's.
type options struct {
	model         string
	draft         string                // empty: none
	index         string                // a file, or the folder of a live catalogue
	residency     sidbeam.Residency     // of that file, or of the catalogue's base
	vocabulary    sidbeam.Vocabulary    // the token of each code
	startTokens   []int32               // before every history
	beginTokens   []int32               // after every prompt
	group         int                   // tokens per position
	normalization sidbeam.Normalization // as in training
	beams         int                   // of a history, and items of it, at most
	histories     int                   // of a request, at most
	prompt        int                   // positions of a history that the model reads, the latest ones
	lanes         int                   // histories that run at a time
	queue         int                   // histories that may wait
	filters       string                // file of the filters that requests may name; empty: none
	listed        int                   // ids of a list of excluded or allowed items, at most
	whereBytes    int                   // of the text of a request's own filter, at most
	whereKept     int                   // such filters that are kept, the latest; 0: none
	follow        bool                  // another process writes the catalogue
	keep          int64                 // versions of it that can be gone back to
	keepAge       time.Duration         // how old these may be; 0: whatever their age
	tokenFile     string                // file of the token that changes need; empty: it is in the environment, if any
	listen        string                // address and port
	log           string                // text or json
	requests      int64                 // that run at a time, at most
	connections   int64                 // that are open, at most
	timeout       time.Duration         // of a request for recommendations
	headerTime    time.Duration         // in which a request's headers come
	bodyTime      time.Duration         // in which headers and body come
	idleTime      time.Duration         // of a connection between two requests
	drain         time.Duration         // between a signal and the end, at most
	quiet         time.Duration         // without connections before the end
}

var normalizations = map[string]sidbeam.Normalization{
	"full": sidbeam.NormalizeFull, "level": sidbeam.NormalizeLevel, "valid": sidbeam.NormalizeValid}

var residencies = map[string]sidbeam.Residency{
	"map": sidbeam.ResidencyMap, "prefault": sidbeam.ResidencyPrefault, "lock": sidbeam.ResidencyLock,
	"copy": sidbeam.ResidencyCopy}

// parse gives the options, or ends the process with status 2.
func parse(flags *flag.FlagSet, arguments []string) (o options) {
	flags.Func("model", "folder of a checkpoint (required)", file(&o.model))
	flags.Func("draft", "folder of a smaller model that writes levels ahead; answers stay the same", file(&o.draft))
	flags.Func("index", "index file, or folder of a live catalogue (required)", file(&o.index))
	flags.Func("residency", "the file, or the catalogue's base, in memory: map, prefault, lock or copy (default map)",
		word(&o.residency, residencies, "map, prefault, lock or copy"))
	flags.Var(truth{&o.follow}, "follow", "another process writes the catalogue")
	count(flags, &o.keep, "keep", 16, 1, mostNumber, "versions of the catalogue that can be gone back to")
	duration(flags, &o.keepAge, "keep-age", 0, 0, "of these, only such as were replaced at most so long before the "+
		"newest came, such as 24h; 0s: whatever their age")
	flags.Func("token-file", "file of the token that changes and reloads must bear (default: what SIDBEAM_TOKEN holds)",
		file(&o.tokenFile))
	flags.Func("offsets", "o0,o1,..: code t of level l is token o_l + t", list(&o.vocabulary.Offsets, 0))
	flags.Func("start-tokens", "t0,t1,..: before every history; -1 fills a position up", list(&o.startTokens, -1))
	flags.Func("begin-tokens", "t0,t1,..: after every prompt; of a T5 the decoder's first", list(&o.beginTokens, 0))
	flags.Func("end-column", "token that ends a SID, where lengths vary", func(text string) error {
		o.vocabulary.HasEnd = true
		return (&number[int64]{&o.vocabulary.EndColumn, 0, mostNumber}).Set(text)
	})
	count(flags, &o.group, "group", 1, 1, 64, "tokens per position, whose embeddings are summed; a SID then is a position")
	flags.Func("normalize", "log-softmax over all tokens, the level's codes or the valid codes: full, level, valid "+
		"(default full)", word(&o.normalization, normalizations, "full, level or valid"))
	count(flags, &o.beams, "beams", 50, 1, 4096, "beams of a history, and items of it, at most")
	count(flags, &o.histories, "histories", 16, 1, mostNumber, "histories of a request, at most")
	count(flags, &o.prompt, "prompt", 512, 1, 1<<20, "positions of a history that the model reads, the latest")
	count(flags, &o.lanes, "lanes", runtime.GOMAXPROCS(0), 1, 1024, "histories that run at a time")
	count(flags, &o.queue, "queue", 1024, 1, 1<<20, "histories that may wait")
	flags.Func("filters", "file of the filters that requests may name, {\"name\": \"text\"}", file(&o.filters))
	count(flags, &o.listed, "listed", 10000, 0, mostNumber,
		"ids of a request's list of excluded or allowed items, at most")
	count(flags, &o.whereBytes, "where-bytes", 4096, 0, mostNumber, "bytes of the text of a request's own filter, at most")
	count(flags, &o.whereKept, "where-kept", 16, 0, mostNumber, "filters of such texts that are kept, the latest; 0: none")
	serving(flags, &o)
	_ = flags.Parse(arguments) // it ends the process itself
	if o.model == "" || o.index == "" || flags.NArg() > 0 {
		fmt.Fprintln(flags.Output(), "expected -model, -index and options alone")
		flags.Usage()
		os.Exit(2)
	}
	return o
}

// serving are the options of connections and requests.
func serving(flags *flag.FlagSet, o *options) {
	const some = time.Millisecond
	o.listen, o.log = "127.0.0.1:8080", "text"
	flags.Func("listen", "address and port (default "+o.listen+")", address(&o.listen))
	flags.Func("log", "text or json, to standard error (default "+o.log+")",
		word(&o.log, map[string]string{"text": "text", "json": "json"}, "text or json"))
	count(flags, &o.requests, "requests", 256, 1, mostNumber, "requests that run at a time, at most")
	count(flags, &o.connections, "connections", 4096, 1, mostNumber, "connections that are open, at most")
	duration(flags, &o.timeout, "timeout", 10*time.Second, some,
		"time of a request for recommendations, at most")
	duration(flags, &o.headerTime, "header-time", 10*time.Second, some,
		"time in which a request's headers come, at most")
	duration(flags, &o.bodyTime, "body-time", 30*time.Second, some,
		"time in which headers and body come, at most")
	duration(flags, &o.idleTime, "idle-time", 75*time.Second, some,
		"time of a connection between two requests, at most")
	duration(flags, &o.drain, "drain", 30*time.Second, 0, "time between SIGTERM and the end, at most")
	duration(flags, &o.quiet, "quiet", time.Second, 0, "time without connections before the end")
}
