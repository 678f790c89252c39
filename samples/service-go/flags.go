// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"
)

// number is an option that counts, and has a least value.
type number[T int | int64] struct {
	value *T
	least T
}

func count[T int | int64](flags *flag.FlagSet, value *T, name string, otherwise, least T, help string) {
	*value = otherwise
	flags.Var(&number[T]{value, least}, name, help)
}

func (n *number[T]) Set(text string) error {
	given, err := strconv.Atoi(text)
	if err != nil || T(given) < n.least {
		return fmt.Errorf("expected a number of at least %d", n.least)
	}
	*n.value = T(given)
	return nil
}

// String is also asked of one without a value, by package flag.
func (n *number[T]) String() string {
	if n.value == nil {
		return ""
	}
	return fmt.Sprint(*n.value)
}

// span is an option that is a time, and has a least value.
type span struct {
	value *time.Duration
	least time.Duration
}

func duration(flags *flag.FlagSet, value *time.Duration, name string, otherwise, least time.Duration, help string) {
	*value = otherwise
	flags.Var(&span{value, least}, name, help)
}

func (s *span) Set(text string) error {
	given, err := time.ParseDuration(text)
	if err != nil || given < s.least {
		return fmt.Errorf("expected a time such as 500ms, 30s or 24h, of at least %v", s.least)
	}
	*s.value = given
	return nil
}

func (s *span) String() string {
	if s.value == nil {
		return ""
	}
	return s.value.String()
}

// address reads "host:port": without a host it would be every interface's.
func address(to *string) func(string) error {
	return func(text string) error {
		host, port, err := net.SplitHostPort(text)
		if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || host == "" {
			return fmt.Errorf("expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
		}
		*to = text
		return nil
	}
}
