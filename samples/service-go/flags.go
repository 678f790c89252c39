// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	mostNumber = 1<<31 - 1         // where nothing else bounds a number
	mostTime   = 87600 * time.Hour // ten years
)

// What strconv and time read is more: signs, zeros before a number, fractions, several units.
var (
	numberText  = regexp.MustCompile(`^(?:0|-?[1-9][0-9]{0,9})$`)
	timeText    = regexp.MustCompile(`^(0|[1-9][0-9]{0,9})(ms|s|m|h)$`)
	addressText = regexp.MustCompile(`^(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?\]):(0|[1-9][0-9]{0,4})$`)
	units       = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}
)

// within reads a number within bounds.
func within(text string, least, most int64) (int64, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil && numberText.MatchString(text) && number >= least && number <= most
}

// number is an option that counts.
type number[T int | int64] struct {
	value       *T
	least, most int64
}

func count[T int | int64](flags *flag.FlagSet, value *T, name string, otherwise T, least, most int64, help string) {
	*value = otherwise
	flags.Var(&number[T]{value, least, most}, name, help)
}

func (n *number[T]) Set(text string) error {
	given, ok := within(text, n.least, n.most)
	if !ok {
		return fmt.Errorf("expected a number, %d .. %d", n.least, n.most)
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
	if parts := timeText.FindStringSubmatch(text); parts != nil {
		unit := units[parts[2]]
		number, ok := within(parts[1], 0, int64(mostTime/unit))
		if given := time.Duration(number) * unit; ok && given >= s.least {
			*s.value = given
			return nil
		}
	}
	return fmt.Errorf("expected a time such as 500ms, 30s or 24h, of at least %v", s.least)
}

func (s *span) String() string {
	if s.value == nil {
		return ""
	}
	return fmt.Sprintf("%ds", *s.value/time.Second)
}

// truth is an option that may stand alone, which then is true.
type truth struct{ value *bool }

func (t truth) IsBoolFlag() bool { return true }

func (t truth) Set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("expected true or false")
	}
	*t.value = text == "true"
	return nil
}

func (t truth) String() string {
	if t.value == nil {
		return ""
	}
	return fmt.Sprint(*t.value)
}

// file reads a path.
func file(to *string) func(string) error {
	return func(text string) error {
		if text == "" {
			return errors.New("expected a path")
		}
		*to = text
		return nil
	}
}

// word reads one of those that there are.
func word[T any](to *T, words map[string]T, expected string) func(string) error {
	return func(text string) error {
		value, known := words[text]
		if !known {
			return errors.New("expected " + expected)
		}
		*to = value
		return nil
	}
}

// list reads tokens, none of them less than least.
func list[T int32 | int64](tokens *[]T, least int64) func(string) error {
	return func(text string) error {
		*tokens = nil
		for _, part := range strings.Split(text, ",") {
			token, ok := within(part, least, mostNumber)
			if !ok {
				return fmt.Errorf("expected tokens of at least %d, separated by commas", least)
			}
			*tokens = append(*tokens, T(token))
		}
		return nil
	}
}

// address reads "host:port": without a host it would be every interface's.
func address(to *string) func(string) error {
	return func(text string) error {
		parts := addressText.FindStringSubmatch(text)
		if parts == nil {
			return errors.New("expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
		}
		if _, ok := within(parts[1], 0, 65535); !ok {
			return errors.New("expected a port, 0 .. 65535")
		}
		*to = text
		return nil
	}
}
