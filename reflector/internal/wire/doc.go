// Package wire reads one collection of an API server over HTTP, object by object.
// It is what reflector.NewResource is made of.
//
// It sends the request that it is asked for, once, and hands over what comes back.
// It knows encodings, frames and bounds, but nothing of states, retries or resource
// versions: these are the reflector's.
//
//	Resource.List ──▶ body ──▶ lexer or protoReader ──▶ pipeline ──▶ each(obj, err)
//	                           splits into objects      decodes on
//	                                                    all cores
//	Resource.Watch ─▶ body ──▶ frames ──┬─▶ pipeline (initial events, bursts) ─▶ Stream.Next
//	                                    └─▶ (an event that comes alone) ───────▶
//
// # Rules
//
//   - No answer is held as a whole: an object at a time is in memory as bytes, plus
//     what the pipeline reads ahead.
//   - An error that concerns one object is an *[ObjectError], and the next objects
//     follow. Any other error ends the list or stream.
//   - Nothing that a server sends is kept or quoted without a bound (foreign.go), and
//     errors never quote objects, which may be Secrets (decodeerror.go).
//   - An answer that is not certainly a list of the resource is an error: an empty
//     list empties a cache (envelope.go).
//
// # Reading order
//
// resource.go (the request), response.go (is it a good one?), list.go with
// envelope.go, list_json.go and list_proto.go; watch.go with frames.go and burst.go;
// lexer.go and protobuf.go (bytes to values), codec.go and dynamic.go (values to objects),
// identity.go, pipeline.go. Bounds: depth.go, foreign.go, decodeerror.go. What an answer must be:
// kind.go, shard.go. What errors mean: errors.go, causes.go. What travels in the
// context: attempts.go, progress.go, known.go.
package wire
