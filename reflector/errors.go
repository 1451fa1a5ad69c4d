package reflector

import (
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// ErrorClass sorts what can go wrong by what can be done about it: the reason in
// [Health], metrics and logs. The empty one is that of no error. Those that a program
// may treat differently, in [Options].Policy for one, are constants.
type ErrorClass string

const (
	// ClassRefused is that nothing listens at the server's address.
	ClassRefused ErrorClass = "refused"
	// ClassUnauthorized is a 401: the credentials are missing, wrong or expired.
	ClassUnauthorized ErrorClass = "unauthorized"
	// ClassForbidden is a 403: a role is missing.
	ClassForbidden ErrorClass = "forbidden"
	// ClassNotFound is a 404: the server does not know the resource (yet).
	ClassNotFound ErrorClass = "not found"
	// ClassExpired is a 410: the resourceVersion has been compacted away.
	ClassExpired ErrorClass = "expired"
	// ClassServer is a 5xx.
	ClassServer ErrorClass = "server error"
	// ClassDecode is that the answer, or an object in it, could not be decoded.
	ClassDecode ErrorClass = "decode"
	// ClassTransform is that a transform returned an error or panicked.
	ClassTransform ErrorClass = "transform"
)

const (
	// The connection could not be made (name resolution, routing), or broke (reset,
	// truncated answer), or the two sides do not trust each other.
	classNetwork ErrorClass = "network"
	classTLS     ErrorClass = "tls"
	// No answer, or no next part of it, in time; or the server says so (504).
	classTimeout ErrorClass = "timeout"
	// The server has not reached the resourceVersion, which happens when it was restored
	// from a backup.
	classFuture ErrorClass = "resourceVersion too large"
	// The server has other objects than the watch has led to: its history is another one.
	classHistory ErrorClass = "another history"
	// 429, and any other 4xx.
	classThrottled ErrorClass = "throttled"
	classRejected  ErrorClass = "rejected"
	// The answer is not that of an API server (HTML, for one), or of another kind than T.
	classNotAPI    ErrorClass = "not an API server"
	classWrongKind ErrorClass = "wrong kind"
	// Relist was called: a write has not arrived.
	classStale ErrorClass = "stale"
	// An object that is outside of what the source covers.
	classOutside ErrorClass = "outside"
	// The bookmark that ends the initial events did not come.
	classNoBookmark ErrorClass = "no bookmark"
	// A watch was silent, or open, for too long.
	classIdle ErrorClass = "idle"
	// The server ended a watch in an orderly way: an error only soon after it began.
	classClosed ErrorClass = "closed"
	// The sink did not take a change over.
	classSink ErrorClass = "sink"
	// A watch was ended to list again what has been lost with objects that could not be
	// decoded or transformed.
	classQuarantine ErrorClass = "quarantine"
	// An error of a source that is none of the above.
	classOther ErrorClass = "other"
)

// classified is implemented by the errors of this package that have a class of their own,
// whatever they wrap.
type classified interface {
	error
	class() ErrorClass
}

// foundError is what the Reflector finds by itself.
type foundError struct {
	reason ErrorClass
	text   string
}

func (e *foundError) Error() string     { return e.text }
func (e *foundError) class() ErrorClass { return e.reason }

var (
	errShortWatch = &foundError{classClosed, "the watch ended soon after it began; is something between here and the API server closing connections?"}
	errCutShort   = &foundError{classClosed, "the watch ended before the bookmark that ends the initial events"}
	errNoAnswer   = &foundError{classTimeout, "no answer in time; is the server reachable from here, or overloaded?"}
	errStalled    = &foundError{classTimeout, "the answer stalled; is the server overloaded, or a proxy in between holding it back?"}
	errIdle       = &foundError{classIdle, "the watch was silent for too long; the connection may be half-open"}
	errOverdue    = &foundError{classIdle, "the server did not end the watch at the time agreed"}
	errNoProgress = &foundError{classNoBookmark, "the initial events did not begin, or stopped before the bookmark that ends them"}
	errNoBookmark = &foundError{classNoBookmark, "the bookmark that ends the initial events did not come in time"}
	errRepeated   = &foundError{classNetwork, "the connection was closed again and again before an answer"}
	errWentBack   = &foundError{classHistory, "the server's list is from before what it has sent before; was etcd restored from a backup?"}
	errRelistDue  = &foundError{classQuarantine, "objects are quarantined: the collection is read again"}
)

func (e *sinkError) class() ErrorClass   { return classSink }
func (e *ObjectError) class() ErrorClass { return e.Class }

// Classify sorts an error of a [ListerWatcher], a [Sink] or a [Reflector].
func Classify(err error) ErrorClass {
	var (
		own    classified
		decode *wire.DecodeError
		notAPI *wire.NotAPIError
		kind   *wire.WrongKindError
		status apierrors.APIStatus
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return own.class()
	case err == io.EOF: //nolint:errorlint // wrapped, it is a broken connection
		return classClosed
	case errors.As(err, &status):
		return classifyStatus(err, status.Status())
	case errors.As(err, &notAPI):
		return classNotAPI
	case errors.As(err, &kind):
		return classWrongKind
	case errors.As(err, &decode):
		return ClassDecode
	case wire.IsRefused(err):
		return ClassRefused
	case wire.IsTLS(err):
		return classTLS
	case wire.IsTimeout(err):
		return classTimeout
	case wire.IsNetwork(err):
		return classNetwork
	}
	return classOther
}

// classifyStatus sorts a Status of the server, by reason or else by code.
func classifyStatus(err error, s metav1.Status) ErrorClass {
	switch {
	case wire.IsFuture(err, s):
		return classFuture
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return ClassExpired
	case apierrors.IsUnauthorized(err):
		return ClassUnauthorized
	case apierrors.IsForbidden(err):
		return ClassForbidden
	case apierrors.IsNotFound(err):
		return ClassNotFound
	case apierrors.IsTooManyRequests(err):
		return classThrottled
	case apierrors.IsTimeout(err):
		return classTimeout
	case s.Code >= 500, apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return ClassServer
	case s.Code >= 400:
		return classRejected
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
	begun     bool   // the watch has begun: the server was reachable
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
	if wire.IsStuck(e.err) {
		return "" // the server is not the cause
	}
	if advice := wire.ConnectionAdvice(e.err); advice != "" {
		return advice
	}
	switch Classify(e.err) {
	case ClassRefused:
		return "is the API server running, and is this its address?"
	case classNetwork, classTimeout:
		if e.begun {
			return "the connection broke after the watch had begun"
		}
		return "is the server reachable from here?"
	case classTLS:
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
		if object.BuiltIn(e.resource.Group) {
			return "are version and plural name right, and does the API server respond, or something in front of it?"
		}
		return fmt.Sprintf("is the CustomResourceDefinition installed, and are version and plural name right (%s)?", e.resource.GroupVersion().WithResource(e.resource.Resource).String())
	case classNotAPI:
		return "is this the address of an API server?"
	}
	return ""
}
