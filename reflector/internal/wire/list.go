package wire

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List makes one LIST request. The body is decoded object by object while it
// arrives, and each gets the objects in their order. For an object that cannot be
// decoded it gets an *[ObjectError]; an error that each returns ends the list, and
// is returned as it is.
//
//	a goroutine        all cores        the caller, which has sent the request
//	body ▶ read ─add─▶ pipeline ─take─▶ guarded ─▶ each
//	       envelope    decode           kind, shard
//
// Four things can end it: the body, an error in the body, an error of each, and ctx.
// Whichever comes first, both sides have ended when List returns.
func (r *Resource[T]) List(ctx context.Context, opts metav1.ListOptions, each func(T, error) error) (metav1.ListMeta, error) {
	// A context of its own, so that the request can be ended without ending the
	// caller's.
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(request, opts, r.listAccept)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer resp.Body.Close()
	// The server selects the encoding from what Accept allows. Custom resources come as
	// JSON even if protobuf was preferred, so the answer is decoded by its own
	// Content-Type.
	read := r.codec.listJSON
	if isProto(resp) {
		read = r.codec.listProto
	}
	var (
		callback error // what each returned is passed on as it is
		kinds    tally
	)
	// It runs on the caller's goroutine, in the order of the list, so kinds and callback
	// need no lock.
	guarded := func(obj T, err error) error {
		kinds.note(err)
		// A collection of another kind would otherwise report each of its objects as
		// unreadable.
		if err := r.codec.verdict(&kinds, false); err != nil {
			return err
		}
		if err == nil { // what is in the sink already is in the shard
			if err := r.shard.checkObject(r.opts.ShardSelector, obj); err != nil {
				return err
			}
		}
		// Remembered, since it comes back through the pipeline and must not be wrapped
		// as an error of the answer.
		callback = each(obj, err)
		return callback
	}
	// This unblocks a Read in another goroutine. The one is enough for
	// net/http, the other for what else may be behind a RoundTripper.
	unblock := func() {
		cancel()
		_ = resp.Body.Close()
	}
	var meta metav1.ListMeta
	// How items are decoded depends on the encoding; listJSON and listProto set it
	// before the first one.
	items := newPipeline[T](nil)
	items.unchanged = unchangedIn(ctx)
	err = items.each(ctx, func() (err error) {
		meta, err = read(resp.Body, items)
		return err
	}, unblock, guarded)
	if err == nil {
		err = r.codec.verdict(&kinds, true)
	}
	if err == nil {
		err = r.shard.checkList(r.opts.ShardSelector, meta.ShardInfo, r.codec.protobuf() && !r.codec.metadataOnly)
	}
	switch {
	case callback != nil:
		return meta, callback
	case err != nil:
		return meta, bodyError(ctx, err)
	}
	// Only a body that was read to its end lets net/http use an HTTP/1.1 connection
	// again.
	drain(resp.Body)
	return meta, nil
}

// bodyError is the error for an answer that began well and could not be read
// to its end. It keeps the errors that say why: a cancelled context, a Status of the
// server, a broken connection. What is left is a body that is not what it should be.
func bodyError(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	// The order matters: whatever a cancelled request makes of its body is a
	// consequence.
	if ctx.Err() != nil || errors.As(err, &status) || IsNetwork(err) {
		return err
	}
	var (
		shard *ShardError
		kind  *WrongKindError
	)
	if errors.As(err, &shard) || errors.As(err, &kind) {
		return err
	}
	return &DecodeError{err}
}
