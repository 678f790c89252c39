// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"time"
)

// events is the log: a line for each, as text or as JSON, by the names of the contract (x-log).
type events struct {
	mutex  sync.Mutex
	out    io.Writer
	asJSON bool
}

// member is a name and a value of an event.
type member struct {
	name  string
	value any
}

func (e *events) info(event string, members ...member)  { e.write("info", event, members) }
func (e *events) warn(event string, members ...member)  { e.write("warning", event, members) }
func (e *events) error(event string, members ...member) { e.write("error", event, members) }

func (e *events) write(level, event string, members []member) {
	now := time.Now()
	var line bytes.Buffer
	if e.asJSON {
		fmt.Fprintf(&line, `{"time":%q,"level":%q,"event":%q`, now.Format(time.RFC3339Nano), level, event)
	} else {
		fmt.Fprintf(&line, "%s %s", now.Format("2006-01-02 15:04:05.000"), event)
	}
	for _, one := range members {
		value, _ := json.Marshal(one.value) // numbers and text can always be marshalled
		if e.asJSON {
			fmt.Fprintf(&line, `,"%s":%s`, one.name, value)
		} else {
			fmt.Fprintf(&line, " %s=%s", one.name, value)
		}
	}
	if e.asJSON {
		line.WriteByte('}')
	}
	line.WriteByte('\n')
	e.mutex.Lock()
	defer e.mutex.Unlock()
	_, _ = e.out.Write(line.Bytes()) // where nobody reads the log, the service goes on
}

// failures gives net/http a log: what it says is an event.
func (e *events) failures() *log.Logger { return log.New(failureWriter{e}, "", 0) }

type failureWriter struct{ events *events }

func (w failureWriter) Write(line []byte) (int, error) {
	w.events.error("failed", member{"message", strings.TrimSpace(string(line))})
	return len(line), nil
}
