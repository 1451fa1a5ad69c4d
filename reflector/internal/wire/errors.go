package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// What an error of a request means is not in one place: some of it is in the types of
// net and crypto/tls, some in a Status, and some only in texts. The functions of this
// file know where, so that the reflector's classes need not.

// IsRefused reports whether nothing listens at the server's address. It is a class of
// its own among network errors, because it says that the host was reached and the
// server is not running, or listens elsewhere.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// IsNetwork reports whether an error says that a connection could not be made or
// broke.
//
// A broken connection is an everyday event for a watch; anything else that ends one is
// worth a closer look.
func IsNetwork(err error) bool {
	var (
		op  *net.OpError
		dns *net.DNSError
		u   *url.Error
	)
	return errors.As(err, &op) || errors.As(err, &dns) || errors.As(err, &u) ||
		// A body that ends before its declared length, or within a chunk.
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		// The errors of HTTP/2 have no exported types.
		strings.Contains(err.Error(), "http2: ") || strings.Contains(err.Error(), "stream error: ")
}

// IsFuture recognises the three forms in which servers have said that a
// resourceVersion is ahead of them: a cause type since 1.18.6, a cause message
// from 1.17.0, and before that only the message of a timeout.
//
// All three answer a read with a resourceVersion that the server's watch cache has not
// reached within a few seconds (API concepts, "Resource versions"). It is not a timeout
// of the network, and the same request succeeds once the replica has caught up.
func IsFuture(err error, s metav1.Status) bool {
	const text = "Too large resource version"
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	if !apierrors.IsTimeout(err) {
		return false
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Message == text {
				return true
			}
		}
	}
	return strings.Contains(s.Message, text)
}

// IsTLS reports whether the two sides could not agree on a secure connection.
//
// It includes a server that answers in plain HTTP, which is a mistake in the scheme of
// the address or in a proxy (ErrSchemeMismatch, RecordHeaderError).
func IsTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// IsTimeout reports whether err is a timeout, of the network or of a context.
// os.ErrDeadlineExceeded, the errors of net, and those of http.Client implement
// Timeout.
func IsTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// Cause leaves out what net/http puts in front of an error: the method and the URL with
// all its parameters. Selectors and resourceVersions make URLs long, and the log line
// names the collection already.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
