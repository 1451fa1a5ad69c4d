package informertest

import (
	"net/http"
	"time"
)

// Refuse answers with an error as the API server would: a *StatusError of
// k8s.io/apimachinery/pkg/api/errors gives its code, reason and Retry-After;
// any other error is an internal one.
func Refuse(err error) Effect {
	return Effect{request: func(*call) (bool, error) { return true, err }}
}

// Respond answers with a code, a media type and a body of your own: HTML of a
// proxy, garbage, an object of the wrong kind.
func Respond(code int, contentType, body string) Effect {
	return Effect{request: func(cl *call) (bool, error) {
		cl.w.Header().Set("Content-Type", contentType)
		cl.w.WriteHeader(code)
		_, _ = cl.w.Write([]byte(body)) // a client that has gone needs no answer
		return true, nil
	}}
}

// Drop breaks the connection without an answer. A few bytes are sent first,
// since HTTP clients silently repeat a request that got none at all.
func Drop() Effect {
	return Effect{request: func(cl *call) (bool, error) {
		conn, _, err := http.NewResponseController(cl.w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = conn.Write([]byte("HTTP/1.1 ")) // the connection is lost anyway
		_ = conn.Close()
		return true, nil
	}}
}

// Delay carries the request out after a while.
func Delay(d time.Duration) Effect {
	return Effect{request: func(cl *call) (bool, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false, nil
		case <-cl.r.Context().Done():
		case <-cl.server.closing:
		}
		return true, nil
	}}
}

// Stall never answers. It ends when the client gives up or the server closes.
func Stall() Effect {
	return Effect{request: func(cl *call) (bool, error) {
		cl.hang()
		return true, nil
	}}
}

// hang waits for the end of the request.
func (cl *call) hang() {
	select {
	case <-cl.r.Context().Done():
	case <-cl.server.closing:
	}
}

// CutBody breaks the connection after so many bytes of the answer's body, for
// lists in particular.
func CutBody(bytes int) Effect {
	return Effect{request: func(cl *call) (bool, error) {
		cl.w = &cutWriter{ResponseWriter: cl.w, left: bytes, end: func() { panic(http.ErrAbortHandler) }}
		return false, nil
	}}
}

// TruncateBody ends the answer cleanly after so many bytes of its body: what a
// proxy does that takes the end of a connection for the end of the content.
func TruncateBody(bytes int) Effect {
	return Effect{request: func(cl *call) (bool, error) {
		cl.w = &cutWriter{ResponseWriter: cl.w, left: bytes, end: func() {}}
		return false, nil
	}}
}

// cutWriter passes on a number of bytes, calls end, and drops the rest.
type cutWriter struct {
	http.ResponseWriter
	left int
	end  func()
}

func (c *cutWriter) Write(b []byte) (int, error) {
	if len(b) <= c.left {
		c.left -= len(b)
		return c.ResponseWriter.Write(b)
	}
	if c.left >= 0 {
		_, _ = c.ResponseWriter.Write(b[:c.left]) // it is to fail anyway
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		c.left = -1
		c.end()
	}
	return len(b), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (c *cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
