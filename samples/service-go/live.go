// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sidbeam.io/sidbeam"
)

// refusal is an error with a status of its own.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// published is the answer to a change that others see.
type published struct {
	Version int64 `json:"version"`
}

// changes adds the routes of a live catalogue.
func (s *service) changes(routes *http.ServeMux) {
	routes.HandleFunc("/items", s.change(http.MethodPost, s.add))
	routes.HandleFunc("/publish", s.change(http.MethodPost, s.publish))
	routes.HandleFunc("/rollback", s.change(http.MethodPost, s.rollBack))
	routes.HandleFunc("/compact", s.change(http.MethodPost, s.compact))
	routes.HandleFunc("/versions", only(http.MethodGet, s.showVersions))
}

// change serves a change of a live catalogue that this process writes.
func (s *service) change(method string, answer func(in *http.Request, body []byte) (any, error)) http.HandlerFunc {
	return only(method, s.authorized(func(out http.ResponseWriter, in *http.Request) {
		var got any
		body, err := s.changeBody(out, in)
		if err == nil {
			got, err = answer(in, body)
		}
		if err != nil {
			err = ofChange(err)
			refuse(out, statusOf(err), err)
			return
		}
		reply(out, http.StatusOK, got)
	}))
}

func (s *service) changeBody(out http.ResponseWriter, in *http.Request) ([]byte, error) {
	if err := s.isLive(); err != nil {
		return nil, err
	}
	if s.generations.options.follow {
		return nil, refusal{http.StatusConflict, fmt.Sprintf("%s is followed: expected changes by the process that writes it",
			s.generations.options.index)}
	}
	return readBody(out, in)
}

func (s *service) isLive() error {
	if s.generations.live == nil {
		return refusal{http.StatusConflict, fmt.Sprintf("%s is an index file, expected the folder of a live catalogue",
			s.generations.options.index)}
	}
	return nil
}

// ofChange is an error as the client is told it: what the catalogue does not take is its mistake.
func ofChange(err error) error {
	var failed *sidbeam.Error
	if errors.As(err, &failed) && failed.Code == sidbeam.InvalidArgument {
		return badRequest(failed.Message)
	}
	if errors.As(err, &failed) && failed.Code == sidbeam.BadState {
		return refusal{http.StatusConflict, failed.Message}
	}
	return err
}

func (s *service) add(_ *http.Request, body []byte) (any, error) {
	pairs, attributes, err := s.shape.read(body)
	if err != nil {
		return nil, err
	}
	if err := s.generations.live.Add(pairs, attributes); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(pairs.Codes) / s.shape.info.Levels}, nil
}

func (s *service) remove(in *http.Request, _ []byte) (any, error) {
	text, idType := strings.TrimPrefix(in.URL.Path, "/items/"), s.shape.info.IDType
	if !utf8.ValidString(text) {
		return nil, badRequest(fmt.Sprintf("the item is %.40q, expected UTF-8", text))
	}
	items, shown := sidbeam.ItemList{Names: []string{text}}, strconv.Quote(text)
	removed := any(text)
	if idType != sidbeam.IDString {
		id, _, ok := readID(json.RawMessage(text), idType)
		if !ok {
			return nil, badRequest(fmt.Sprintf("the item is %.40q, expected %s, as the ids of this index are", text,
				expectedID(idType)))
		}
		items, shown = sidbeam.ItemList{IDs: []int64{id}}, idText(id, idType)
		removed = json.RawMessage(shown)
	}
	unknown, err := s.generations.live.Remove(items)
	if err == nil && unknown > 0 {
		err = refusal{http.StatusNotFound, "there is no item " + shown}
	}
	return map[string]any{"removed": removed}, err
}

func (s *service) publish(*http.Request, []byte) (any, error) {
	version, err := s.generations.live.Publish()
	return s.serves(version, err)
}

func (s *service) rollBack(_ *http.Request, body []byte) (any, error) {
	given, err := members(body, "", "version")
	if err != nil {
		return nil, err
	}
	to, err := decode[int64](given["version"], "version", "the number of a version")
	if err != nil {
		return nil, err
	}
	version, err := s.generations.live.Rollback(to)
	return s.serves(version, err)
}

func (s *service) compact(in *http.Request, _ []byte) (any, error) {
	ctx, cancel := context.WithCancel(s.ending) // it would take longer than anybody waits at the end
	defer cancel()
	go func() {
		select {
		case <-in.Context().Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	version, err := s.generations.live.Compact(ctx, sidbeam.CompactConfig{})
	return s.serves(version, err)
}

// serves gives later requests the version that a change has made.
func (s *service) serves(version int64, err error) (any, error) {
	if err != nil {
		return nil, err
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
			log.Printf("version %s stays: %v", s.version(), err)
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

func (s *service) showVersions(out http.ResponseWriter, _ *http.Request) {
	versions, err := s.versions()
	if err != nil {
		refuse(out, statusOf(err), err)
		return
	}
	reply(out, http.StatusOK, map[string]any{"version": s.version(), "versions": versions})
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
