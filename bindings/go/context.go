// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// ended is an error where ctx has ended; a nil one never does.
func ended(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return &Error{Code: Cancelled, Message: "the context ended before the call did", cause: ctx.Err()}
}

// cancellable runs a call that ends early when ctx does; h is what C is told so by.
func cancellable(ctx context.Context, h *handle, call func(f *failure)) error {
	if err := ended(ctx); err != nil {
		return err
	}
	f := newFailure()
	if ctx == nil || ctx.Done() == nil {
		call(f)
	} else {
		cancelWith(ctx, func(cancel int) { native.Flat_cancel(h.raw(), cancel) }, func() { call(f) })
	}
	runtime.KeepAlive(h)
	err := because(ctx, f.done())
	drainLog()
	return err
}

// cancelWith sets the flag of a call's object when ctx ends, and clears it after the call.
func cancelWith(ctx context.Context, set func(cancel int), call func()) {
	returned, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			set(1)
		case <-returned:
		}
	}()
	call()
	close(returned)
	<-watched
	set(0)
}

// because adds the context's error to one that it brought about.
func because(ctx context.Context, err error) error {
	if failed, ok := err.(*Error); ok && failed.Code == Cancelled && ctx != nil {
		failed.cause = ctx.Err()
	}
	return err
}
