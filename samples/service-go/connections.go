// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sendTime is what a client may take for each piece of its answer.
	sendTime = 30 * time.Second
	// lingering is how long a connection that is closed still waits for more of what its client was sending: with bytes
	// unread it would be reset, and the client might lose the answer.
	lingering = 5 * time.Second
	// maxLingering is how long it does in all: a client that never stops shall not keep it.
	maxLingering = 30 * time.Second
)

// listener hands on as many connections as may be open, and tells one too many so.
type listener struct {
	net.Listener
	most           int64
	whole          func(refusal) []byte // answer
	open, accepted atomic.Int64
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.accepted.Add(1)
		open, c := l.open.Add(1), &connection{Conn: accepted, listener: l}
		if open <= l.most {
			return c, nil
		}
		go func() {
			if open <= 2*l.most { // these have goroutines too
				_, _ = c.Write(l.whole(tooManyConnections))
			}
			_ = c.Close()
		}()
	}
}

// quiet returns once no connection was open for a time, or when ctx ends.
func (l *listener) quiet(ctx context.Context, least time.Duration) {
	ticks := time.NewTicker(least/20 + time.Millisecond)
	defer ticks.Stop()
	for since, before := time.Now(), l.accepted.Load(); ; {
		if now := l.accepted.Load(); now != before || l.open.Load() > 0 {
			since, before = time.Now(), now
		} else if time.Since(since) >= least {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// connection answers in JSON what net/http would answer itself, as text, or not at all.
type connection struct {
	net.Conn
	listener *listener
	begun    atomic.Bool // something of a request has come, and nothing was answered since
	handled  atomic.Bool // all its headers have come
	late     atomic.Bool // they were not in time, which was answered
	ended    atomic.Bool // nothing comes any more
	closing  sync.Once
}

// targetText is what net/http takes more than: it leaves other bytes than ASCII's in a path.
var targetText = regexp.MustCompile(`^[!-~]*$`)

// isHTTP looks at what net/http does not mind.
func isHTTP(in *http.Request) bool {
	return in.ProtoMajor == 1 && in.ProtoMinor <= 1 && targetText.MatchString(in.RequestURI)
}

type connectionKey struct{}

// remember lets the handler find the connection.
func remember(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// handles notes that a request has come to its handler, which answers from now on.
func handles(in *http.Request) {
	if c, ok := in.Context().Value(connectionKey{}).(*connection); ok {
		c.handled.Store(true)
	}
}

// idles notes that a request has been answered.
func idles(c net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		c.(*connection).handled.Store(false)
	}
}

func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 {
		c.begun.Store(true)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.begun.Load() && !c.handled.Load() && !c.late.Swap(true) {
		_, _ = c.send(c.listener.whole(headersTooSlow)) // net/http closes it
	}
	if err == io.EOF {
		c.ended.Store(true)
	}
	return n, err
}

// ownAnswer begins what net/http answers itself: no handler of ours says 417, or an error as text.
var ownAnswer = regexp.MustCompile(`^HTTP/1\.1 (?:417 |[45][0-9]{2} [^\r]*\r\n` +
	`Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n)`)

func (c *connection) Write(data []byte) (int, error) {
	c.begun.Store(false)
	if !ownAnswer.Match(data) {
		return c.send(data)
	}
	if c.late.Load() { // net/http has read a part of a line, and takes offence at it
		return len(data), nil
	}
	answer := headersTooLarge
	if !bytes.HasPrefix(data, []byte("HTTP/1.1 431 ")) {
		status, _, _ := bytes.Cut(data[len("HTTP/1.1 "):], []byte("\r\n"))
		answer = refuse(http.StatusBadRequest, "invalid_argument", "this is no HTTP that can be served: %s", status)
	}
	_, err := c.send(c.listener.whole(answer))
	return len(data), err
}

func (c *connection) send(data []byte) (int, error) {
	_ = c.Conn.SetWriteDeadline(time.Now().Add(sendTime))
	return c.Conn.Write(data)
}

// CloseWrite is what net/http looks for.
func (c *connection) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// Close returns at once. The connection is open until its client has closed it too, or lingered.
func (c *connection) Close() error {
	c.closing.Do(func() {
		if c.ended.Load() {
			c.end()
			return
		}
		_ = c.CloseWrite()
		go func() {
			c.linger()
			c.end()
		}()
	})
	return nil
}

// linger reads until the client has closed its half, or has sent nothing for a time.
func (c *connection) linger() {
	last, unwanted := time.Now().Add(maxLingering), make([]byte, 4<<10)
	for {
		next := time.Now().Add(lingering)
		if next.After(last) {
			next = last
		}
		_ = c.Conn.SetReadDeadline(next)
		if _, err := c.Conn.Read(unwanted); err != nil {
			return
		}
	}
}

func (c *connection) end() {
	_ = c.Conn.Close()
	c.listener.open.Add(-1)
}
