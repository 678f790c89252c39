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
		all := append([]member{{"time", now.Format(time.RFC3339Nano)}, {"level", level}, {"event", event}}, members...)
		for i, one := range all {
			value, _ := json.Marshal(one.value) // numbers and text can always be marshalled
			fmt.Fprintf(&line, "%c%q:%s", "{,"[min(i, 1)], one.name, value)
		}
		line.WriteByte('}')
	} else {
		fmt.Fprintf(&line, "%s %s", now.Format("2006-01-02 15:04:05.000"), event)
		for _, one := range members {
			fmt.Fprintf(&line, " %s=%v", one.name, one.value)
		}
	}
	line.WriteByte('\n')
	e.mutex.Lock()
	defer e.mutex.Unlock()
	_, _ = e.out.Write(line.Bytes()) // where nobody reads the log, the service goes on
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// failures gives net/http a log: what it says is an event.
func (e *events) failures() *log.Logger { return log.New(failureWriter{e}, "", 0) }

type failureWriter struct{ events *events }

func (w failureWriter) Write(line []byte) (int, error) {
	w.events.error("failed", member{"message", strings.TrimSpace(string(line))})
	return len(line), nil
}
