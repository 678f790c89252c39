//go:build otel

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// startSpan begins the span of a request, under the one that traceparent names. Where spans go is what main gives to
// otel.SetTracerProvider: without one, nowhere.
func startSpan(in *http.Request, to *route) (traced *http.Request, end func(status int)) {
	ctx := propagation.TraceContext{}.Extract(in.Context(), propagation.HeaderCarrier(in.Header))
	ctx, span := otel.Tracer("sidbeam.io/samples/service").Start(ctx, in.Method+" "+to.name(),
		trace.WithSpanKind(trace.SpanKindServer))
	return in.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.String("http.route", to.name()), attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}
