// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"math"
	"testing"
	"time"
)

func TestMillisecondsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Hour: 3_600_000, math.MaxInt64: 9_223_372_036_855,
	} {
		if got, err := milliseconds("wait", d); err != nil || got != want {
			t.Errorf("%v: expected %d, got %d %v", d, want, got, err)
		}
	}
}
