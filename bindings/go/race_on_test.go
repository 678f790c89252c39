// SPDX-License-Identifier: Apache-2.0

//go:build race

package sidbeam_test

const raceDetector = true
