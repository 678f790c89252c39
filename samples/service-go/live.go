// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sidbeam.io/sidbeam"
)

const itemsPath = "/items/"

// published is the answer to a change that others see.
type published struct {
	Version int64 `json:"version"`
}

// change makes an answer of a change of a live catalogue that this process writes.
func change(answer func(*service, *exchange) (any, error)) func(*front, *service, *exchange) (any, error) {
	return of(func(s *service, x *exchange) (any, error) {
		if err := s.isLive(); err != nil {
			return nil, err
		}
		if s.generations.options.follow {
			return nil, conflict("%s is followed: expected changes by the process that writes it", s.generations.options.index)
		}
		return answer(s, x)
	})
}

func (s *service) isLive() error {
	if s.generations.live == nil {
		return conflict("%s is an index file, expected the folder of a live catalogue", s.generations.options.index)
	}
	return nil
}

// ofChange is an error as the client is told it: what the catalogue does not take is its mistake, at a place.
func ofChange(err error, path string) error {
	var failed *sidbeam.Error
	if errors.As(err, &failed) && failed.Code == sidbeam.InvalidArgument {
		return refusal{http.StatusBadRequest, "invalid_argument", failed.Message, path}
	}
	if errors.As(err, &failed) && failed.Code == sidbeam.BadState {
		return conflict("%s", failed.Message)
	}
	return err
}

func (s *service) add(x *exchange) (any, error) {
	body, err := x.json()
	if err != nil {
		return nil, err
	}
	pairs, attributes, err := s.shape.read(body)
	if err != nil {
		return nil, err
	}
	if err := s.generations.live.Add(pairs, attributes); err != nil {
		return nil, ofChange(err, "items")
	}
	return map[string]int{"added": len(pairs.Codes) / s.shape.info.Levels}, nil
}

func (s *service) remove(x *exchange) (any, error) {
	if err := x.none(); err != nil {
		return nil, err
	}
	text, idType := strings.TrimPrefix(x.in.URL.Path, itemsPath), s.shape.info.IDType
	if !utf8.ValidString(text) {
		return nil, wrong("id", "is %.40q, expected UTF-8", text)
	}
	items, shown := sidbeam.ItemList{Names: []string{text}}, strconv.Quote(text)
	removed := any(text)
	if idType != sidbeam.IDString {
		id, _, ok := readID(json.RawMessage(text), idType)
		if !ok {
			return nil, wrong("id", "is %.40q, expected %s, as the ids of this index are", text, expectedID(idType))
		}
		items, shown = sidbeam.ItemList{IDs: []int64{id}}, idText(id, idType)
		removed = json.RawMessage(shown)
	}
	unknown, err := s.generations.live.Remove(items)
	if err == nil && unknown > 0 {
		err = refuse(http.StatusNotFound, "not_found", "there is no item %s", shown)
	}
	return map[string]any{"removed": removed}, ofChange(err, "id")
}

func (s *service) publish(x *exchange) (any, error) {
	if err := x.none(); err != nil {
		return nil, err
	}
	version, err := s.generations.live.Publish()
	return s.serves(version, err)
}

func (s *service) rollBack(x *exchange) (any, error) {
	body, err := x.json()
	if err != nil {
		return nil, err
	}
	given, err := members(body, "", "version")
	if err != nil {
		return nil, err
	}
	to, err := decode[int64](given["version"], "version", "the number of a version")
	if err != nil {
		return nil, err
	}
	version, err := s.generations.live.Rollback(to)
	return s.serves(version, ofChange(err, "version"))
}

// compact ends with its client, and with the service: it would take longer than anybody waits at the end.
func (s *service) compact(x *exchange) (any, error) {
	if err := x.none(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.ending)
	defer cancel()
	go func() {
		select {
		case <-x.in.Context().Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	version, err := s.generations.live.Compact(ctx, sidbeam.CompactConfig{})
	if err != nil && s.ending.Err() != nil {
		err = draining
	}
	return s.serves(version, err)
}

// serves gives later requests the version that a change has made.
func (s *service) serves(version int64, err error) (any, error) {
	if err != nil {
		return nil, ofChange(err, wholeBody)
	}
	if err := s.generations.advance(); err != nil {
		return nil, fmt.Errorf("version %d is published, but cannot be served: %w", version, err)
	}
	return published{version}, nil
}

// follow serves what another process publishes, until ctx ends.
func (s *service) follow(ctx context.Context) {
	const wait = time.Second
	failure := ""
	for ctx.Err() == nil {
		_, err := s.generations.live.Refresh(ctx, wait)
		if err == nil {
			err = s.generations.advance()
		}
		if err == nil || ctx.Err() != nil {
			failure = ""
			continue
		}
		s.metrics.refreshFailed()
		if err.Error() != failure {
			failure = err.Error()
			s.events.warn("refresh_failed", member{"message", failure})
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// kept is a version that can be gone back to.
type kept struct {
	Version    int64     `json:"version"`
	Generation int64     `json:"generation"`
	Published  time.Time `json:"published"`
	Items      int64     `json:"items"`
	Changed    int64     `json:"changed"`
	Bytes      int64     `json:"bytes"`
	BackTo     int64     `json:"back_to"`
	InUse      bool      `json:"in_use"`
}

func (s *service) showVersions(*exchange) (any, error) {
	versions, err := s.versions()
	if err != nil {
		return nil, err
	}
	return map[string]any{"version": s.version(), "versions": versions}, nil
}

func (s *service) versions() ([]kept, error) {
	if err := s.isLive(); err != nil {
		return nil, err
	}
	all, err := s.generations.live.Versions()
	versions := []kept{}
	for _, v := range all {
		versions = append(versions, kept{v.Version, v.Generation, v.Published.UTC(), v.Items, v.Changed, v.Bytes, v.BackTo,
			v.InUse})
	}
	return versions, err
}
