// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sidbeam.io/sidbeam"
)

// statusHungUp is what metrics and logs call a request whose client did not wait for the answer.
const statusHungUp = 499

// refusal is an error as the client is told it.
type refusal struct {
	status  int
	code    string
	message string
	path    string // of a mistake: where it is
}

func (r refusal) Error() string { return r.message }

// wrong is a client's mistake at a place of its request, with which the message begins.
func wrong(path, format string, values ...any) error {
	message := path + " " + fmt.Sprintf(format, values...)
	if path == wholeBody {
		message = "the " + message
	}
	return refusal{http.StatusBadRequest, "invalid_argument", message, path}
}

// conflict is what a service of this kind of index does not do.
func conflict(format string, values ...any) error {
	return refusal{status: http.StatusConflict, code: "conflict", message: fmt.Sprintf(format, values...)}
}

var (
	starting = refusal{status: http.StatusServiceUnavailable, code: "starting",
		message: "the model and the index are being opened"}
	draining        = refusal{status: http.StatusServiceUnavailable, code: "draining", message: "the service is about to end"}
	tooManyRequests = refusal{status: http.StatusServiceUnavailable, code: "overloaded",
		message: "as many requests run as may"}
	tooManyConnections = refusal{status: http.StatusServiceUnavailable, code: "overloaded",
		message: "as many connections are open as may"}
	tooLarge = refusal{status: http.StatusRequestEntityTooLarge, code: "too_large",
		message: fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	headersTooLarge = refusal{status: http.StatusRequestHeaderFieldsTooLarge, code: "headers_too_large",
		message: fmt.Sprintf("the headers are longer than %d bytes", maxHeaders)}
	bodyTooSlow    = refusal{status: http.StatusRequestTimeout, code: "timeout", message: "the body did not come in time"}
	headersTooSlow = refusal{status: http.StatusRequestTimeout, code: "timeout",
		message: "the headers did not come in time"}
	hungUp = refusal{status: statusHungUp, code: "cancelled", message: "the client hung up"}
)

// refusalOf says whether the client may try again, since the service is busy or on its way out, or must ask otherwise.
// What is neither is the service's own failure.
func refusalOf(err error) refusal {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, sidbeam.QueueFull):
		return refusal{status: http.StatusServiceUnavailable, code: "queue_full", message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, sidbeam.DeadlineExceeded):
		return refusal{status: http.StatusGatewayTimeout, code: "deadline_exceeded", message: err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, sidbeam.Cancelled):
		return hungUp
	}
	return refusal{status: http.StatusInternalServerError, code: "internal", message: err.Error()}
}
