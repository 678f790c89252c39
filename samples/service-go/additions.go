// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"sidbeam.io/sidbeam"
)

// shape is what the items of a live catalogue are like, in all its versions.
type shape struct {
	info       *sidbeam.Info
	attributes map[string]sidbeam.AttributeType
	names      []string // of the attributes, sorted
}

func newShape(index *sidbeam.Index) (*shape, error) {
	info, err := index.Info()
	if err != nil {
		return nil, err
	}
	attributes, err := index.Attributes()
	s := &shape{info: info, attributes: map[string]sidbeam.AttributeType{}}
	for _, attribute := range attributes {
		s.attributes[attribute.Name] = attribute.Type
		s.names = append(s.names, attribute.Name)
	}
	return s, err
}

// additions are the items of a POST /items, of which all give the same attributes, or none of them: in a live item,
// what is not given stays.
type additions struct {
	*shape
	pairs   sidbeam.Pairs
	columns map[string]*sidbeam.AttributeValues
	given   []string // by each item, besides its id and SID
}

// read gives the items of a body, or its first mistake.
func (s *shape) read(body []byte) (sidbeam.Pairs, map[string]sidbeam.AttributeValues, error) {
	a := additions{shape: s, columns: map[string]*sidbeam.AttributeValues{}}
	given, err := members(body, "", "items")
	if err != nil {
		return a.pairs, nil, err
	}
	items, err := decode[[]json.RawMessage](given["items"], "items", "an array of items")
	if err != nil {
		return a.pairs, nil, err
	}
	if len(items) == 0 {
		return a.pairs, nil, wrong("items", "has 0 elements, expected 1 or more")
	}
	for i, item := range items {
		if err := a.add(item, fmt.Sprintf("items[%d]", i)); err != nil {
			return a.pairs, nil, err
		}
	}
	values := map[string]sidbeam.AttributeValues{}
	for name, column := range a.columns {
		values[name] = *column
	}
	return a.pairs, values, nil
}

func (a *additions) add(raw json.RawMessage, path string) error {
	item, err := members(raw, path, "id", "sid", "priority", "attributes")
	if err != nil {
		return err
	}
	var attributes map[string]json.RawMessage
	if raw, given := item["attributes"]; given {
		if attributes, err = members(raw, path+".attributes", a.names...); err != nil {
			return err
		}
	}
	if err := a.checkGiven(item, attributes, path); err != nil {
		return err
	}
	if err := a.addID(item["id"], path+".id"); err != nil {
		return err
	}
	if err := a.addSID(item["sid"], path+".sid"); err != nil {
		return err
	}
	if raw, given := item["priority"]; given {
		priority, err := decode[int64](raw, path+".priority", "an integer")
		if err != nil {
			return err
		}
		a.pairs.Priorities = append(a.pairs.Priorities, priority)
	}
	for _, name := range a.names {
		if value, given := attributes[name]; given {
			if err := a.addValue(name, value, path+".attributes."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkGiven expects each item to give what the first one does.
func (a *additions) checkGiven(item, attributes map[string]json.RawMessage, path string) error {
	given := []string{}
	for name := range attributes {
		given = append(given, "attributes."+name)
	}
	if _, prior := item["priority"]; prior {
		given = append(given, "priority")
	}
	sort.Strings(given)
	if a.given == nil {
		a.given = given
	}
	if !reflect.DeepEqual(given, a.given) {
		return wrong(path, "gives [%s], expected [%s] as items[0] does; an attribute may be null",
			strings.Join(given, ", "), strings.Join(a.given, ", "))
	}
	return nil
}

func (a *additions) addID(raw json.RawMessage, path string) error {
	id, name, ok := readID(raw, a.info.IDType)
	if !ok {
		return mistake(raw, path, expectedID(a.info.IDType)+", as the ids of this index are")
	}
	if a.info.IDType == sidbeam.IDString {
		a.pairs.Names = append(a.pairs.Names, name)
	} else {
		a.pairs.IDs = append(a.pairs.IDs, id)
	}
	return nil
}

func (a *additions) addSID(raw json.RawMessage, path string) error {
	if raw == nil {
		return mistake(raw, path, "an array of codes")
	}
	sid, err := readSID(raw, path, a.info)
	if err != nil {
		return err
	}
	if a.info.VariableLength {
		a.pairs.Lengths = append(a.pairs.Lengths, int32(len(sid)))
	}
	a.pairs.Codes = append(a.pairs.Codes, append(sid, make([]int32, a.info.Levels-len(sid))...)...)
	return nil
}

func (a *additions) addValue(name string, raw json.RawMessage, path string) (err error) {
	column := a.columns[name]
	if column == nil {
		column = &sidbeam.AttributeValues{}
		a.columns[name] = column
	}
	column.Valid = append(column.Valid, !isNull(raw))
	switch a.attributes[name] {
	case sidbeam.AttributeInt64:
		column.Integers, err = appendValue(column.Integers, raw, path, "an integer")
	case sidbeam.AttributeFloat32:
		column.Numbers, err = appendValue(column.Numbers, raw, path, "a number of 32 bits")
	case sidbeam.AttributeBool:
		column.Bools, err = appendValue(column.Bools, raw, path, "true or false")
	case sidbeam.AttributeString:
		column.Strings, err = appendValue(column.Strings, raw, path, "a string")
	default:
		column.Lists, err = appendList(column.Lists, raw, path)
	}
	return err
}

// appendValue appends what is there, or for null a value that nobody reads.
func appendValue[T any](values []T, raw json.RawMessage, path, expected string) ([]T, error) {
	if isNull(raw) {
		return append(values, *new(T)), nil
	}
	value, err := decode[T](raw, path, expected)
	return append(values, value), err
}

func appendList(lists [][]string, raw json.RawMessage, path string) ([][]string, error) {
	var list []string
	if !isNull(raw) {
		items, err := decode[[]json.RawMessage](raw, path, "an array of strings")
		if err != nil {
			return nil, err
		}
		for i, item := range items {
			text, err := decode[string](item, fmt.Sprintf("%s[%d]", path, i), "a string")
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
	}
	return append(lists, list), nil
}
