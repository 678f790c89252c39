// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// front takes requests to their routes, and gives every answer its form. It is there before the service is.
type front struct {
	service     atomic.Pointer[service] // nil: it is being opened
	most        int64                   // requests that may run at a time
	running     atomic.Int64
	connections func() int64
	draining    atomic.Bool
	closing     sync.Once
	metrics     *metrics
	events      *events
	token       string // what changes and reloads must bear; "": there are none
}

func newFront(o *options, e *events) (*front, error) {
	token, err := readToken(o.tokenFile)
	return &front{most: o.requests, connections: func() int64 { return 0 }, metrics: newMetrics(), events: e,
		token: token}, err
}

// exchange is a request on its way to its answer.
type exchange struct {
	in    *http.Request
	out   http.ResponseWriter
	id    string
	begin time.Time
}

// route is a path of the contract and its method.
type route struct {
	path, method string
	probe        bool // it is answered however many requests run
	early        bool // it is answered while the service is being opened
	guarded      bool // it needs the token
	answer       func(*front, *service, *exchange) (any, error)
}

var routes = []route{
	{path: "/recommend", method: http.MethodPost, answer: of((*service).recommend)},
	{path: "/healthz", method: http.MethodGet, probe: true, early: true, answer: (*front).isHealthy},
	{path: "/readyz", method: http.MethodGet, probe: true, answer: (*front).isReady},
	{path: "/metrics", method: http.MethodGet, probe: true, answer: (*front).showMetrics},
	{path: "/reload", method: http.MethodPost, guarded: true, answer: of((*service).reload)},
	{path: "/items", method: http.MethodPost, guarded: true, answer: change((*service).add)},
	{path: "/items/{id}", method: http.MethodDelete, guarded: true, answer: change((*service).remove)},
	{path: "/publish", method: http.MethodPost, guarded: true, answer: change((*service).publish)},
	{path: "/rollback", method: http.MethodPost, guarded: true, answer: change((*service).rollBack)},
	{path: "/compact", method: http.MethodPost, guarded: true, answer: change((*service).compact)},
	{path: "/versions", method: http.MethodGet, answer: of((*service).showVersions)},
}

// of makes an answer of one that needs the service alone.
func of(answer func(*service, *exchange) (any, error)) func(*front, *service, *exchange) (any, error) {
	return func(_ *front, s *service, x *exchange) (any, error) { return answer(s, x) }
}

// routeOf finds a path; items are named by any text, slashes too.
func routeOf(path string) *route {
	if strings.HasPrefix(path, itemsPath) {
		path = "/items/{id}"
	}
	for i := range routes {
		if routes[i].path == path {
			return &routes[i]
		}
	}
	return nil
}

// name is what metrics, logs and spans call a route; none is nil.
func (r *route) name() string {
	if r == nil {
		return "other"
	}
	return r.path
}

func (f *front) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	handles(in)
	to := routeOf(in.URL.Path)
	if !isHTTP(in) {
		to = nil
	}
	in, end := startSpan(in, to)
	x := &exchange{in, out, requestIDOf(in), time.Now()}
	out.Header().Set("X-Request-Id", x.id)
	answer, err := f.answer(to, x)
	if f.draining.Load() {
		out.Header().Set("Connection", "close")
	}
	status := http.StatusOK
	if err != nil {
		refused := refusalOf(err)
		status, answer = refused.status, failure(refused, x.id)
	}
	f.note(to, x, status, err) // before the client can know
	end(status)
	if status == statusHungUp {
		panic(http.ErrAbortHandler) // closes the connection, of which a half may be open
	}
	send(out, status, answer)
}

// answer gives what a request asks for, or the first reason why not.
func (f *front) answer(to *route, x *exchange) (value any, err error) {
	if !isHTTP(x.in) {
		x.out.Header().Set("Connection", "close")
		return nil, refuse(http.StatusBadRequest, "invalid_argument", "this is no HTTP that can be served: %.40q in %s",
			x.in.RequestURI, x.in.Proto)
	}
	if to == nil {
		return nil, refuse(http.StatusNotFound, "not_found", "there is no %s", x.in.URL.Path)
	}
	if x.in.Method != to.method {
		x.out.Header().Set("Allow", to.method)
		return nil, refuse(http.StatusMethodNotAllowed, "method_not_allowed", "%s is for %s", to.path, to.method)
	}
	s := f.service.Load()
	if s == nil && !to.early {
		return nil, starting
	}
	if to.guarded {
		if err := f.authorize(x); err != nil {
			return nil, err
		}
	}
	if !to.probe {
		defer f.running.Add(-1)
		if f.running.Add(1) > f.most {
			return nil, tooManyRequests
		}
	}
	defer func() {
		if fault := recover(); fault != nil {
			f.events.error("failed", member{"request_id", x.id},
				member{"message", fmt.Sprintf("%v\n%s", fault, debug.Stack())})
			err = errors.New("this is a fault of the service, whose log has more")
		}
	}()
	if s == nil {
		return to.answer(f, nil, x)
	}
	if !s.enter() {
		return nil, draining
	}
	defer s.leave()
	return to.answer(f, s, x)
}

// note counts an answer, and has a line of the log for it.
func (f *front) note(to *route, x *exchange, status int, err error) {
	path := to.name()
	took := time.Since(x.begin)
	f.metrics.request(path, status, took)
	line := []member{{"request_id", x.id}}
	if parent := traceOf(x.in); parent.id != "" {
		line = append(line, member{"trace_id", parent.id}, member{"parent_id", parent.parent})
	}
	line = append(line, member{"method", x.in.Method}, member{"route", path}, member{"status", status},
		member{"seconds", took.Seconds()})
	if err != nil {
		line = append(line, member{"code", refusalOf(err).code}, member{"message", err.Error()})
	}
	f.events.info("request", line...)
}

func (f *front) isHealthy(*service, *exchange) (any, error) {
	return map[string]string{"status": "ok"}, nil
}

func (f *front) isReady(s *service, _ *exchange) (any, error) {
	if f.draining.Load() {
		return nil, draining
	}
	return map[string]any{"status": "ready", "version": s.version()}, nil
}

// failure is the body of an error.
func failure(r refusal, id string) any {
	members := map[string]string{"code": r.code, "message": r.message, "request_id": id}
	if r.path != "" {
		members["path"] = r.path
	}
	return map[string]any{"error": members}
}

// plainText is an answer that is not JSON.
type plainText []byte

// bodyOf gives the bytes of an answer, and their type.
func bodyOf(answer any) (body []byte, contentType string) {
	if text, ok := answer.(plainText); ok {
		return text, "text/plain; version=0.0.4; charset=utf-8"
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer) // ours can always be encoded
	return text.Bytes(), "application/json"
}

func send(out http.ResponseWriter, status int, answer any) {
	body, contentType := bodyOf(answer)
	header := out.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	out.WriteHeader(status)
	_, _ = out.Write(body) // to a client that has gone
}

// refuse makes the whole answer to what never became a request: net/http, or the limit of connections, refused it.
func (f *front) whole(r refusal) []byte {
	id := newRequestID()
	f.metrics.request("other", r.status, 0)
	f.events.info("request", member{"request_id", id}, member{"route", "other"}, member{"status", r.status},
		member{"code", r.code}, member{"message", r.message})
	body, contentType := bodyOf(failure(r, id))
	retry := ""
	if r.status == http.StatusServiceUnavailable {
		retry = "Retry-After: 1\r\n"
	}
	return []byte(fmt.Sprintf("HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\n%s"+
		"X-Request-Id: %s\r\n\r\n%s", r.status, http.StatusText(r.status), len(body), contentType, retry, id, body))
}
