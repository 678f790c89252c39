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

func refuse(status int, code, format string, values ...any) refusal {
	return refusal{status: status, code: code, message: fmt.Sprintf(format, values...)}
}

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
	return refuse(http.StatusConflict, "conflict", format, values...)
}

var (
	starting           = refuse(http.StatusServiceUnavailable, "starting", "the model and the index are being opened")
	draining           = refuse(http.StatusServiceUnavailable, "draining", "the service is about to end")
	tooManyRequests    = refuse(http.StatusServiceUnavailable, "overloaded", "as many requests run as may")
	tooManyConnections = refuse(http.StatusServiceUnavailable, "overloaded", "as many connections are open as may")
	tooLarge           = refuse(http.StatusRequestEntityTooLarge, "too_large", "the body is longer than %d bytes", maxBody)
	headersTooLarge    = refuse(http.StatusRequestHeaderFieldsTooLarge, "headers_too_large",
		"the headers are longer than %d bytes", maxHeaders)
	bodyTooSlow    = refuse(http.StatusRequestTimeout, "timeout", "the body did not come in time")
	headersTooSlow = refuse(http.StatusRequestTimeout, "timeout", "the headers did not come in time")
	tooLate        = refuse(http.StatusGatewayTimeout, "deadline_exceeded", "the time of the request is over")
	hungUp         = refuse(statusHungUp, "cancelled", "the client hung up")
)

// refusalOf says whether the client may try again, since the service is busy or on its way out, or must ask otherwise.
// What is neither is the service's own failure.
func refusalOf(err error) refusal {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, sidbeam.QueueFull):
		return refuse(http.StatusServiceUnavailable, "queue_full", "%v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, sidbeam.DeadlineExceeded):
		return tooLate
	case errors.Is(err, context.Canceled), errors.Is(err, sidbeam.Cancelled):
		return hungUp
	}
	return refuse(http.StatusInternalServerError, "internal", "%v", err)
}
