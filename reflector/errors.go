package reflector

import (
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// ErrorClass sorts what can go wrong by what can be done about it.
type ErrorClass string

// The classes of errors.
const (
	// ClassNone is the class of nil.
	ClassNone ErrorClass = ""
	// ClassRefused: nothing listens at the server's address.
	ClassRefused ErrorClass = "refused"
	// ClassNetwork: the connection could not be made for another reason
	// (name resolution, routing) or broke (reset, truncated answer).
	ClassNetwork ErrorClass = "network"
	// ClassTLS: the two sides do not trust or understand each other.
	ClassTLS ErrorClass = "tls"
	// ClassTimeout: no answer, or no next part of it, in time; or the server
	// says so (504).
	ClassTimeout ErrorClass = "timeout"
	// ClassUnauthorized: 401, the credentials are missing, wrong or expired.
	ClassUnauthorized ErrorClass = "unauthorized"
	// ClassForbidden: 403, a role is missing.
	ClassForbidden ErrorClass = "forbidden"
	// ClassNotFound: 404, the server does not know the resource (yet).
	ClassNotFound ErrorClass = "not found"
	// ClassExpired: 410, the resourceVersion has been compacted away.
	ClassExpired ErrorClass = "expired"
	// ClassFuture: the server has not reached the resourceVersion, which
	// happens when it was restored from a backup.
	ClassFuture ErrorClass = "resourceVersion too large"
	// ClassThrottled: 429.
	ClassThrottled ErrorClass = "throttled"
	// ClassServer: 5xx.
	ClassServer ErrorClass = "server error"
	// ClassRejected: any other 4xx; the server does not accept the request.
	ClassRejected ErrorClass = "rejected"
	// ClassNotAPI: the answer is not that of an API server (HTML, for one).
	ClassNotAPI ErrorClass = "not an API server"
	// ClassWrongKind: the collection is of another kind than the Go type is for.
	ClassWrongKind ErrorClass = "wrong kind"
	// ClassNotSharded: the server ignores the shard selector.
	ClassNotSharded ErrorClass = "not sharded"
	// ClassDecode: the answer or an object in it could not be decoded.
	ClassDecode ErrorClass = "decode"
	// ClassTransform: a transform returned an error or panicked.
	ClassTransform ErrorClass = "transform"
	// ClassNoBookmark: the bookmark that ends the initial events did not come.
	ClassNoBookmark ErrorClass = "no bookmark"
	// ClassIdle: a watch was silent, or open, for too long.
	ClassIdle ErrorClass = "idle"
	// ClassClosed: the server ended a watch in an orderly way; it is an error
	// only if that happens soon after it began.
	ClassClosed ErrorClass = "closed"
	// ClassSink: the sink did not take a change over.
	ClassSink ErrorClass = "sink"
	// ClassQuarantine: a watch was ended to list again what has been lost with
	// objects that could not be decoded or transformed. It is not an error.
	ClassQuarantine ErrorClass = "quarantine"
	// ClassAudit: a watch was ended because an audit found differences that no event
	// explains; see [Options].AuditInterval.
	ClassAudit ErrorClass = "audit"
	// ClassOther: an error of a source that is none of the above.
	ClassOther ErrorClass = "other"
)

// Errors that the Reflector finds by itself.
var (
	errShortWatch = errors.New("the watch ended soon after it began; is something between here and the API server closing connections?")
	errNoAnswer   = errors.New("no answer in time; is the server reachable from here, or overloaded?")
	errStalled    = errors.New("the answer stalled; is the server overloaded, or a proxy in between holding it back?")
	errIdle       = errors.New("the watch was silent for too long; the connection may be half-open")
	errOverdue    = errors.New("the server did not end the watch at the time agreed")
	errNoProgress = errors.New("the initial events did not begin, or stopped before the bookmark that ends them")
	errNoBookmark = errors.New("the bookmark that ends the initial events did not come in time")
	errRelistDue  = errors.New("objects are quarantined: the collection is read again")
	errCutShort   = errors.New("the watch ended before the bookmark that ends the initial events")
)

// Classify sorts an error of a [ListerWatcher], a [Sink] or a [Reflector].
func Classify(err error) ErrorClass {
	if err == nil {
		return ClassNone
	}
	var (
		sink   *sinkError
		object *ObjectError
		decode *wire.DecodeError
		event  *unknownEventError
		notAPI *wire.NotAPIError
		shard  *wire.ShardError
		kind   *wire.WrongKindError
		status apierrors.APIStatus
	)
	switch {
	case errors.As(err, &sink):
		return ClassSink
	case errors.As(err, &object):
		return object.Class
	case errors.Is(err, errNoProgress), errors.Is(err, errNoBookmark):
		return ClassNoBookmark
	case errors.Is(err, errIdle), errors.Is(err, errOverdue):
		return ClassIdle
	case errors.Is(err, errShortWatch), errors.Is(err, errCutShort), err == io.EOF: //nolint:errorlint // wrapped, it is a broken connection
		return ClassClosed
	case errors.Is(err, errRelistDue):
		return ClassQuarantine
	case isAudit(err):
		return ClassAudit
	case errors.Is(err, errNoAnswer), errors.Is(err, errStalled):
		return ClassTimeout
	case errors.As(err, &status):
		return classifyStatus(err, status.Status())
	case errors.As(err, &notAPI):
		return ClassNotAPI
	case errors.As(err, &kind):
		return ClassWrongKind
	case errors.As(err, &shard):
		return ClassNotSharded
	case errors.As(err, &decode), errors.As(err, &event):
		return ClassDecode
	case wire.IsRefused(err):
		return ClassRefused
	case wire.IsTLS(err):
		return ClassTLS
	case wire.IsTimeout(err):
		return ClassTimeout
	case wire.IsNetwork(err):
		return ClassNetwork
	}
	return ClassOther
}

// classifyStatus sorts a Status of the server, by reason or else by code.
func classifyStatus(err error, s metav1.Status) ErrorClass {
	switch {
	case wire.IsFuture(err, s):
		return ClassFuture
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return ClassExpired
	case apierrors.IsUnauthorized(err):
		return ClassUnauthorized
	case apierrors.IsForbidden(err):
		return ClassForbidden
	case apierrors.IsNotFound(err):
		return ClassNotFound
	case apierrors.IsTooManyRequests(err):
		return ClassThrottled
	case apierrors.IsTimeout(err):
		return ClassTimeout
	case s.Code >= 500, apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return ClassServer
	case s.Code >= 400:
		return ClassRejected
	}
	return ClassServer
}

// requestError says which request failed, why, and where it helps what to do
// about it. It wraps the cause, so that the predicates of
// k8s.io/apimachinery/pkg/api/errors work on it.
type requestError struct {
	verb      string // list or watch
	resource  schema.GroupVersionResource
	namespace string
	server    string // scheme and address
	err       error  // the cause
}

// Error is one line that ends with advice.
func (e *requestError) Error() string {
	what := e.resource.GroupResource().String()
	if e.namespace != "" {
		what += " in namespace " + e.namespace
	}
	msg := fmt.Sprintf("cannot %s %s at %s: %v", e.verb, what, e.server, wire.Cause(e.err))
	if advice := e.advice(); advice != "" {
		msg += ": " + advice
	}
	return msg
}

// Unwrap returns the cause.
func (e *requestError) Unwrap() error { return e.err }

// advice says what to do about the error, or nothing if that is not known.
func (e *requestError) advice() string {
	switch Classify(e.err) {
	case ClassRefused:
		return "is the API server running, and is this its address?"
	case ClassNetwork, ClassTimeout:
		return "is the server reachable from here?"
	case ClassTLS:
		return "check the scheme of the address, and the CA and the server name in the configuration"
	case ClassUnauthorized:
		return "the credentials in the configuration are missing, wrong or expired"
	case ClassForbidden:
		role := "ClusterRole"
		if e.namespace != "" {
			role = "Role"
		}
		return fmt.Sprintf("add the verbs list and watch on %s to the %s of this user", e.resource.GroupResource(), role)
	case ClassNotFound:
		return fmt.Sprintf("the server does not serve %s; is the CustomResourceDefinition installed, and are version and plural name right?", e.resource.GroupVersion().WithResource(e.resource.Resource).String())
	case ClassNotAPI:
		return "is this the address of an API server?"
	}
	return ""
}

// sinkError says that the sink did not take a change over.
type sinkError struct {
	op  string // the method of the Sink: Add, Update, Delete, Replace or Bookmark
	err error  // what it returned
}

// Error names the method.
func (e *sinkError) Error() string { return fmt.Sprintf("sink: %s: %v", e.op, e.err) }

// Unwrap returns what the sink returned.
func (e *sinkError) Unwrap() error { return e.err }
