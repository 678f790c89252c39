//go:build otel

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// recorder is a provider, a tracer and its only span.
type recorder struct {
	trace.Span
	name   string
	kind   trace.SpanKind
	parent trace.SpanContext
	status codes.Code
	values map[attribute.Key]attribute.Value
	ended  int
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return r }

func (r *recorder) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(o...)
	r.name, r.kind, r.parent = name, config.SpanKind(), trace.SpanContextFromContext(ctx)
	return trace.ContextWithSpan(ctx, r), r
}

func (r *recorder) SetAttributes(all ...attribute.KeyValue) {
	for _, one := range all {
		r.values[one.Key] = one.Value
	}
}

func (r *recorder) SetStatus(code codes.Code, _ string) { r.status = code }

func (r *recorder) End(...trace.SpanEndOption) { r.ended++ }

// A request is a span under its client's, and what it calls would be one under its own.
func TestSpansAreChildrenOfTheClients(t *testing.T) {
	r := &recorder{Span: trace.SpanFromContext(context.Background()), values: map[attribute.Key]attribute.Value{}}
	otel.SetTracerProvider(r)
	f := &front{most: 1, metrics: newMetrics(), events: &events{out: httptest.NewRecorder()}}
	request := httptest.NewRequest("POST", "/recommend", nil)
	request.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.ServeHTTP(httptest.NewRecorder(), request) // it is being opened: 503
	if r.name != "POST /recommend" || r.kind != trace.SpanKindServer || r.ended != 1 || r.status != codes.Error ||
		r.parent.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" ||
		r.parent.SpanID().String() != "00f067aa0ba902b7" || !r.parent.IsRemote() ||
		r.values["http.response.status_code"].AsInt64() != 503 || r.values["http.route"].AsString() != "/recommend" {
		t.Errorf("got %+v", r)
	}
	traced, _ := startSpan(request, nil)
	if r.name != "POST other" || trace.SpanFromContext(traced.Context()) != trace.Span(r) {
		t.Errorf("expected the span in the request's context, got %+v", r)
	}
}
