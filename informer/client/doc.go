// Package client reads and writes the objects of one resource, typed, on the API server itself.
//
// An informer only reads, and it reads a cache. A controller also writes, and before some
// writes it has to know what the server has now. [Client] has the verbs of the API with one type
// parameter, for generated types, types of your own, and *unstructured.Unstructured:
//
//	reconcile ──Get──────────────▶ cache of an informer ◀── watch ──┐
//	    └─────Create, Update, …──▶ Client ──────────────────▶ API server
//	    ◀─────Writes.Seen────────── "the cache contains what I wrote"
//
// It uses the configuration, credentials and connections of k8s.io/client-go/rest, and encodes and
// decodes by itself: protobuf where the type has it and the server reads it, else JSON.
//
// # Use
//
//	pods, err := client.New[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{Cache: podInformer})
//	...
//	ctx, writes := client.Collect(ctx)
//	made, err := pods.Create(ctx, &corev1.Pod{…})
//	...
//	return workqueue.Result{Until: writes.Seen(), Hold: true}, nil
//
// Which verb to write with: [Client.Apply] if a controller owns some fields of an object, which is the
// simplest; [Client.CreateOrUpdate] if it owns the object, and has it in a cache;
// [Client.Modify] of [Client.Status] for a status that others write, too.
//
// # Promises
//
//  1. Each verb is one request (each page of a list is one; a first write in protobuf that the server
//     cannot read is repeated in JSON; see also 11; Delete of a Job or a ReplicationController reads it first;
//     Modify, ModifyFrom and CreateOrUpdate may read), and its result is what the
//     server has stored, with its kind. What the caller passes is not modified.
//
//  2. Apply changes only what its configuration names.
//
//  3. Modify, ModifyFrom and CreateOrUpdate lose no write of another writer: they send the difference
//     with the version that it is based on, and start again after a conflict. What the program does not see stays,
//     such as fields that the Go type lacks or a Transform drops, in lists too. An element that cannot be matched is an error.
//
//  4. With a Cache, and in a context of [Collect], each write that succeeded gives the condition that
//     the cache has seen it. Of a write that ends an object that is its deletion.
//
//  5. Requests follow client-go's rules: rate limits, user agent, warnings, up to ten
//     retries if the server asks for them by Retry-After, one second to five minutes apart, and retries of a read on a broken
//     connection for a second. Each ends with its context and its Timeout.
//
//  6. A response that is not an object of the type is an error that says what it is: a login
//     page, a Status, another kind, broken JSON or protobuf.
//
//  7. No redirect to another server is followed: that server would get the credentials.
//
//  8. Impossible arguments are errors of New, or of the call, before a request is made.
//
//  9. [Events] writes an Event once. Repetitions are counted, with at most one request per minute.
//
//  10. Responses are bounded: an object to 8 MiB, a list to 2,000,000 objects and 4 GiB and to pages that bring
//     something new, a text in an error or a warning to a kilobyte. A list whose continue token expires is read again, in one piece.
//
//  11. [IgnoreNotFound] ignores a 404 about the object only. A 404 about a resource, a subresource, a namespace or an
//     empty name stays an error, and so does that of a gateway. After a 404 of a subresource the object is read.
//
//  12. Delete of a Job or a ReplicationController deletes its pods as well, unless the options, a finalizer or a
//     deletion that is under way state another policy. For any other kind no policy is sent.
//
// # Reading order
//
// client.go (the verbs), request.go (one request), notfound.go, codec.go, modify.go, difference.go, writes.go, metadata.go, events.go.
package client
