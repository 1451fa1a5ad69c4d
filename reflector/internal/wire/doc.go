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
//		                           protoFrames                 │    (initial events, bursts)
//		                                                       └──▶ (an event that comes alone)
//
//	 1. The body is split into items, each the bytes of one object, which are not decoded
//	    (json.go, protobuf.go). Around the objects of a list is what says that it is one:
//	    list.go checks that.
//	 2. decoder.event (event.go) asks whether the object is known in its version, which it
//	    reads from the bytes (identity.go). If so, it is not decoded.
//	 3. codec.decode makes a value of T: by json/v2 (unmarshal.go) or the generated decoder
//	    (codec.go), unless it is nested too deeply (depth.go).
//	 4. codec.check sees that it is what was asked for, and completes its type (kind.go).
//	 5. It is handed over in the order of the answer: directly, or by the pipeline (pipeline.go)
//	    where many are waiting.
//
// # Rules
//
//   - No answer is held as a whole: an object at a time is in memory as bytes, plus
//     what the pipeline reads ahead.
//   - An error that concerns one object is an *[ObjectError] in its event, and the next
//     objects follow. Any other error ends the list or stream.
//   - Nothing that a server sends is kept or quoted without a bound, and errors never quote
//     objects, which may be Secrets (foreign.go).
//   - An answer that is not certainly a list of the resource is an error: an empty
//     list empties a cache (list.go).
//   - A JSON text means what apimachinery's decoder says (unmarshal.go). One exception: an
//     object nested more than a thousand deep is one that cannot be decoded, and a text
//     nested more than ten thousand deep is no JSON.
//
// # Reading order
//
// resource.go (the request), response.go (is it a good answer?), list.go, watch.go, event.go,
// and then the files of the steps above. errors.go: what errors mean.
package wire
