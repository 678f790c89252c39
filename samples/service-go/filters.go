// SPDX-License-Identifier: Apache-2.0

package main

import (
	lists "container/list"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"

	"sidbeam.io/sidbeam"
)

// filterName is what a filter of the settings may be called: metrics have it as a label.
var filterName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// filters are those of one catalogue, since a filter belongs to its index: the named ones of the settings, and those of
// texts that requests brought lately. They go with the catalogue.
type filters struct {
	index *sidbeam.Index
	named map[string]*sidbeam.Filter
	names []string // of named, sorted

	mutex sync.Mutex
	most  int // texts that are kept
	kept  map[filterKey]*lists.Element
	order lists.List // of *keptFilter, the latest first
}

// filterKey is what a request asks for: a named filter, a text, or both, and then what is in both.
type filterKey struct{ name, text string }

type keptFilter struct {
	key    filterKey
	filter *sidbeam.Filter
	users  int // requests, and one as long as it is kept
}

func newFilters(index *sidbeam.Index, most int) *filters {
	return &filters{index: index, named: map[string]*sidbeam.Filter{}, most: most, kept: map[filterKey]*lists.Element{}}
}

// readFilters makes the filters of the settings, a JSON object of name to text; a path that is empty has none. They are
// prepared: no request waits for that.
func readFilters(index *sidbeam.Index, path string, most int) (*filters, error) {
	f := newFilters(index, most)
	texts := map[string]string{}
	if path != "" {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &texts)
		}
		if err != nil {
			return nil, fmt.Errorf("the filters of %s, expected {\"name\": \"text\"}: %w", path, err)
		}
	}
	for name, text := range texts {
		if err := f.add(name, text); err != nil {
			f.close()
			return nil, fmt.Errorf("filter %q of %s: %w", name, path, err)
		}
	}
	sort.Strings(f.names)
	return f, nil
}

func (f *filters) add(name, text string) error {
	if !filterName.MatchString(name) {
		return errors.New("expected a name of 1 .. 64 letters, digits, \"_\", \".\" and \"-\"")
	}
	filter, err := f.index.FilterText(text)
	if text, ok := placed(err); ok {
		return errors.New(text)
	}
	if err != nil {
		return err
	}
	f.named[name], f.names = filter, append(f.names, name)
	return filter.Prepare()
}

// on makes the filters of the settings, as they were read, on another version of a live catalogue. Those of texts are
// made when a request brings one again.
func (f *filters) on(index *sidbeam.Index) (*filters, error) {
	next := newFilters(index, f.most)
	next.names = f.names
	for name, filter := range f.named {
		moved, err := filter.On(index)
		if err == nil {
			next.named[name] = moved
			err = moved.Prepare()
		}
		if err != nil {
			next.close()
			return nil, fmt.Errorf("filter %q: %w", name, err)
		}
	}
	return next, nil
}

// placed is a mistake in a filter's text, with its place first; ok is false of other errors.
func placed(err error) (text string, ok bool) {
	var failed *sidbeam.Error
	if !errors.As(err, &failed) || failed.Code != sidbeam.InvalidArgument {
		return "", false
	}
	return strings.TrimPrefix(failed.Message, "filter: "), true
}

func (f *filters) close() {
	for _, filter := range f.named {
		_ = filter.Close()
	}
	for at := f.order.Front(); at != nil; at = at.Next() {
		_ = at.Value.(*keptFilter).filter.Close() // no request is left
	}
}

// get gives the filter that a request asks for, nil where it asks for none, until done is called.
func (f *filters) get(name, text *string) (filter *sidbeam.Filter, done func(), err error) {
	var named *sidbeam.Filter
	var key filterKey
	if name != nil {
		if named, key.name = f.named[*name], *name; named == nil {
			return nil, nil, wrong("filter", "is %.64q, expected one of [%s]", *name, strings.Join(f.names, ", "))
		}
	}
	if text == nil {
		return named, func() {}, nil
	}
	key.text = *text
	kept := f.find(key)
	if kept == nil {
		if filter, err = f.parse(named, *text); err != nil {
			return nil, nil, err
		}
		kept = f.keep(&keptFilter{key, filter, 1})
	}
	return kept.filter, func() { f.release(kept) }, nil
}

func (f *filters) parse(named *sidbeam.Filter, text string) (*sidbeam.Filter, error) {
	filter, err := f.index.FilterText(text)
	if text, ok := placed(err); ok {
		return nil, wrong("where", "cannot be read: %s", text)
	}
	if err != nil {
		return nil, err
	}
	if named == nil {
		return filter, nil
	}
	defer filter.Close()
	return filter.And(named)
}

func (f *filters) find(key filterKey) *keptFilter {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	at, has := f.kept[key]
	if !has {
		return nil
	}
	f.order.MoveToFront(at)
	kept := at.Value.(*keptFilter)
	kept.users++
	return kept
}

// keep gives the filter that is kept: this one, or the one that another request has made meanwhile.
func (f *filters) keep(made *keptFilter) *keptFilter {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.most <= 0 {
		return made
	}
	if at, has := f.kept[made.key]; has {
		_ = made.filter.Close()
		kept := at.Value.(*keptFilter)
		kept.users++
		return kept
	}
	made.users++
	f.kept[made.key] = f.order.PushFront(made)
	if f.order.Len() > f.most {
		oldest := f.order.Remove(f.order.Back()).(*keptFilter)
		delete(f.kept, oldest.key)
		f.leave(oldest)
	}
	return made
}

func (f *filters) release(kept *keptFilter) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.leave(kept)
}

func (f *filters) leave(kept *keptFilter) {
	if kept.users--; kept.users == 0 {
		_ = kept.filter.Close()
	}
}
