// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
)

var (
	requestID   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
)

// requestIDOf gives the request's own id, or makes one.
func requestIDOf(in *http.Request) string {
	if id := in.Header.Get("X-Request-Id"); requestID.MatchString(id) {
		return id
	}
	return newRequestID()
}

func newRequestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // Linux always has random bytes
	return hex.EncodeToString(id[:])
}

// traceContext is W3C's trace context of a request; empty: there is none.
type traceContext struct{ id, parent string }

func traceOf(in *http.Request) traceContext {
	parts := traceParent.FindStringSubmatch(in.Header.Get("traceparent"))
	if parts == nil || parts[1] == "ff" || parts[1] == "00" && parts[4] != "" || isZero(parts[2]) || isZero(parts[3]) {
		return traceContext{}
	}
	return traceContext{parts[2], parts[3]}
}

func isZero(digits string) bool {
	for _, digit := range digits {
		if digit != '0' {
			return false
		}
	}
	return true
}
