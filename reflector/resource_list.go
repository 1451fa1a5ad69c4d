package reflector

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List implements [ListerWatcher]: the body is decoded object by object while
// it arrives.
func (r *resource[T]) List(ctx context.Context, opts metav1.ListOptions, each func(T, error) error) (metav1.ListMeta, error) {
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(request, "list", opts, r.listAccept)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer resp.Body.Close()
	read := r.codec.listJSON
	if isProto(resp) {
		read = r.codec.listProto
	}
	var (
		callback error // what each returned is passed on as it is
		kinds    tally
	)
	guarded := func(obj T, err error) error {
		kinds.note(err)
		if err := r.codec.verdict(&kinds, false); err != nil {
			return err
		}
		if err == nil {
			if err := r.shard.checkObject(r.opts.ShardSelector, obj); err != nil {
				return err
			}
		}
		callback = each(obj, err)
		return callback
	}
	// This makes a Read in another goroutine return. The one is enough for
	// net/http, the other for what else may be behind a RoundTripper.
	abort := func() {
		cancel()
		_ = resp.Body.Close()
	}
	var meta metav1.ListMeta
	items := newAhead[T](nil)
	err = items.each(ctx, func() (err error) {
		meta, err = read(resp.Body, items)
		return err
	}, abort, guarded)
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
		return meta, r.failed("list", brokenBody(ctx, err))
	}
	drain(resp.Body)
	return meta, nil
}

func isObjectError(err error) bool {
	var oe *ObjectError
	return errors.As(err, &oe)
}

// brokenBody is the error for an answer that began well and could not be read
// to its end.
func brokenBody(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if ctx.Err() != nil || errors.As(err, &status) || isNetwork(err) {
		return err
	}
	switch Classify(err) {
	case ClassNotSharded, ClassWrongKind:
		return err
	}
	return &decodeError{err}
}
