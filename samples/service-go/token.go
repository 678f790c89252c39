// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
)

// tokenVariable is where the token is, unless a file has it. An argument would show it to all users of the machine.
const tokenVariable = "SIDBEAM_TOKEN"

// tokenText is what a header can carry as it is.
var tokenText = regexp.MustCompile(`^[\x21-\x7e]+$`)

// readToken gives what a change must be asked with; "" where none is configured.
func readToken(path string) (string, error) {
	where, text := tokenVariable, os.Getenv(tokenVariable)
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		where, text = path, string(data)
	}
	token := strings.TrimSpace(text)
	if token == "" && path == "" {
		return "", nil
	}
	if !tokenText.MatchString(token) {
		return "", fmt.Errorf("the token in %s is empty, or has other characters than printable ASCII", where)
	}
	return token, nil
}

// authorize lets those requests pass that bear the token; where none is configured, none.
func (f *front) authorize(x *exchange) error {
	if f.token == "" {
		return refuse(http.StatusForbidden, "forbidden", "no token is configured, so that nobody may change anything")
	}
	if !bears(x.in.Header.Get("Authorization"), f.token) {
		x.out.Header().Set("WWW-Authenticate", "Bearer")
		return refuse(http.StatusUnauthorized, "unauthorized",
			"expected the header Authorization: Bearer TOKEN, with the token of the service")
	}
	return nil
}

// bears takes as long for every token of a request: hashes are of one length.
func bears(header, token string) bool {
	scheme, given, _ := strings.Cut(header, " ")
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.Trim(given, " ")))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}
