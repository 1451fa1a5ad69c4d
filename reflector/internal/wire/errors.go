package wire

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// ObjectError concerns one object, which could not be decoded. What follows it in
// the list or stream is not affected.
//
// It exists so that one object that T cannot represent does not stop the whole cache.
type ObjectError struct {
	// Key, UID and ResourceVersion are as much of the identity as could be read.
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	// Position is the index of the object in its list, or of the event in its
	// stream, from 0.
	Position int
	// Err is the cause.
	Err error
}

// Error names the object by its position.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("object at position %d: %v", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// objectError says that the object with this identity, as far as it could be read,
// cannot be used. The identity is what lets a cache keep the last good state of the
// object instead of taking it for deleted.
func objectError(id identity, position int, cause error) *ObjectError {
	return &ObjectError{Key: id.NamespacedName, UID: id.uid, ResourceVersion: id.rv, Position: position, Err: cause}
}

// isObjectError reports whether an error concerns one object only.
func isObjectError(err error) bool {
	var oe *ObjectError
	return errors.As(err, &oe)
}

// NotAPIError is an answer that no API server gives.
//
// It has its own type because retrying soon does not help: a person has to log in, or to
// correct an address.
type NotAPIError struct {
	code      int
	mediaType string
	html      bool
	redirect  string // the server that it names
	again     bool   // which is the same one
}

// Error says what answered instead, since the usual causes are in front of the API
// server: a proxy's login page (HTML), a redirect to it, or a wrong address.
func (e *NotAPIError) Error() string {
	if e.again {
		return fmt.Sprintf("the server %s redirects to itself (HTTP status %d), again and again", e.redirect, e.code)
	}
	if e.redirect != "" {
		return fmt.Sprintf("the server redirects to %s (HTTP status %d), which is not given the credentials", e.redirect, e.code)
	}
	if e.html {
		return fmt.Sprintf("the server answered with HTML (HTTP status %d) instead of JSON", e.code)
	}
	return fmt.Sprintf("the server answered with %q (HTTP status %d) instead of JSON", e.mediaType, e.code)
}

// DecodeError is an answer that is not what it should be.
type DecodeError struct{ Err error }

// Error begins with what has failed.
func (e *DecodeError) Error() string { return "cannot decode the answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }
