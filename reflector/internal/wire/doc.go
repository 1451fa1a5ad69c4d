// Package wire reads one collection of an API server over HTTP, object by object.
// It is what reflector.NewResource is made of.
//
// It sends the request that it is asked for, once, and hands over what comes back.
// It knows encodings, frames and bounds, but nothing of states, retries or resource
// versions: these are the reflector's.
//
// # The way of one object
//
//		Resource.List ──▶ body ──▶ readJSON or readProto ──▶ item ──▶ pipeline ──▶ each(Event)
//		                           (listAnswer)                       decodes on
//		                                                              all cores
//		Resource.Watch ─▶ body ──▶ jsonFrames or    ──▶ item ──┬──▶ pipeline ────▶ Stream.Next
//		                           protoFrames                 │    (initial events)
//		                                                       └──▶ (later events)
//
//	 1. The body is split into items, each the bytes of one object, which are not decoded
//	    (json.go, protobuf.go). Around the objects of a list is what says that it is one:
//	    list.go checks that.
//	 2. decoder.event (event.go) asks whether the object is known in its version, which it
//	    reads from the bytes. If so, it is not decoded.
//	 3. codec (codec.go) makes a value of T: by json/v2 (unmarshal.go) or the generated decoder.
//	 4. It is handed over in the order of the answer: directly, or by the pipeline (pipeline.go)
//	    where many are waiting.
//	 5. kinds.check sees that it is of the right kind, and completes its type (kind.go).
//
// # Rules
//
//   - No answer is held as a whole: an object at a time is in memory as bytes, plus
//     what the pipeline reads ahead. One exception: if the kind of the objects stands behind
//     them, they are held until it is known.
//   - An error that concerns one object is an *[ObjectError] in its event, and the next
//     objects follow: also that of an object that is too large or nested too deeply, which
//     is skipped, and read only as far as it takes to identify it. Any other error ends the
//     list or stream. JSON that is nested more than 10,000 deep, or has a text of more than 32 MiB, is such an
//     error, because package jsontext cannot skip it.
//   - Nothing that a server sends is kept or quoted without a bound, and errors never quote
//     objects, which may be Secrets (errors.go). A collection has a bound on its objects and
//     bytes, and a list one on its time (limits.go).
//   - An answer that is not certainly a list of the resource is an error: an empty
//     list empties a cache (list.go).
//   - A JSON text means what apimachinery's decoder says (unmarshal.go). One exception: an
//     object nested more than a thousand deep is one that cannot be decoded.
//
// # Reading order
//
// resource.go (the request), list.go, watch.go, event.go, and then the files of the steps
// above. errors.go: which answers are errors, and what errors mean.
package wire
