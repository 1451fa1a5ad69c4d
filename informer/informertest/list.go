package informertest

import (
	"context"
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is what one list request gets to see.
type page struct {
	items     []*version
	rv        uint64
	next      string // continue token, empty on the last page
	remaining *int64
	shards    *metav1.ShardInfo // nil if none were selected
}

// list answers a LIST. Which state it shows follows from resourceVersion,
// resourceVersionMatch, limit and continue, as in the API server:
//
//	""                        the latest state
//	"0"                       the latest state, whole (limit does not apply)
//	rv, NotOlderThan or ""    the latest state, once that is rv or newer
//	rv, Exact                 the state at rv
//	rv and limit, no match    the state at rv
//	continue                  the state of the first page
func (s *store) list(ctx context.Context, c *collection, sel selection, q listQuery, opts Options) (page, error) {
	if q.Continue != "" {
		return s.listOn(c, sel, q)
	}
	rv, err := parseRV(q.ResourceVersion)
	if err != nil {
		return page{}, err
	}
	if err := s.await(ctx, rv, opts.FreshnessTimeout); err != nil {
		return page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	exact := q.ResourceVersionMatch == metav1.ResourceVersionMatchExact || q.ResourceVersionMatch == "" && q.Limit > 0
	at := s.rv
	if rv > 0 && exact {
		at = rv
	}
	all, ok := c.atLocked(at)
	if !ok {
		return page{}, errExpiredList()
	}
	limit := q.Limit
	if q.ResourceVersion == "0" && !opts.PaginateFromCache {
		limit = 0
	}
	return cut(all, sel, at, "", limit), nil
}

// listOn answers a LIST with a continue token. The token of an answer 410 names
// no version: it goes on with the latest state.
func (s *store) listOn(c *collection, sel selection, q listQuery) (page, error) {
	token, err := parseContinue(q.Continue)
	if err != nil {
		return page{}, apierrors.NewBadRequest("invalid continue token: continue key is not valid: " + err.Error())
	}
	if q.ResourceVersion != "" && q.ResourceVersion != "0" {
		return page{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := token.rv
	if at == 0 {
		at = s.rv
	}
	all, ok := c.atLocked(at)
	if !ok || at > s.rv {
		return page{}, errExpiredContinue(continueToken{start: token.start}.String())
	}
	return cut(all, sel, at, token.start, q.Limit), nil
}

// cut takes one page out of a state: the selected objects from start on.
func cut(all []*version, sel selection, rv uint64, start string, limit int64) page {
	items := filter(all, sel)
	items = items[sort.Search(len(items), func(i int) bool { return items[i].key >= start }):]
	p := page{items: items, rv: rv}
	if limit > 0 && int64(len(items)) > limit {
		p.items = items[:limit]
		p.next = continueToken{rv: rv, start: items[limit-1].key + "\x00"}.String()
		// Without selectors the rest is known; with them a server that reads
		// page by page cannot count it.
		if !sel.filtered() {
			rest := int64(len(items)) - limit
			p.remaining = &rest
		}
	}
	return p
}

// await waits until the server has reached a version, for a while.
func (s *store) await(ctx context.Context, rv uint64, timeout time.Duration) error {
	current := s.revision()
	if rv <= current {
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		s.mu.Lock()
		current, advanced := s.rv, s.advanced
		s.mu.Unlock()
		if rv <= current {
			return nil
		}
		select {
		case <-advanced:
		case <-timer.C:
			return errTooLarge(rv, current)
		case <-ctx.Done():
			return apierrors.NewTimeoutError("the request ended before the resource version was reached", 1)
		}
	}
}

// parseRV reads a resourceVersion of a request; empty counts as 0.
func parseRV(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: resourceVersion: Invalid value: \"" + s + "\": " + err.Error())
	}
	return rv, nil
}

// writeList sends a page object by object, without building the whole body.
func (vw view) writeList(w http.ResponseWriter, p page) error {
	listMeta := metav1.ListMeta{ResourceVersion: formatRV(p.rv), Continue: p.next, RemainingItemCount: p.remaining, ShardInfo: p.shards}
	if vw.proto {
		return vw.writeProtoList(w, listMeta, p.items)
	}
	if vw.table {
		body, err := vw.tableOf(p.items, listMeta)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = w.Write(body) // a client that has gone needs no answer
		return nil
	}
	meta, err := json.Marshal(listMeta)
	if err != nil {
		return err
	}
	bare := append([]byte(`{"metadata":`), meta...)
	bare = append(bare, `,"items":[`...)
	w.Header().Set("Content-Type", mediaJSON)
	if _, err := w.Write(withTypes(vw.listTypes(), bare)); err != nil {
		return err
	}
	for i, v := range p.items {
		item, err := vw.item(v)
		if err != nil {
			return err
		}
		if i > 0 {
			item = append([]byte{','}, item...)
		}
		if _, err := w.Write(item); err != nil {
			return err
		}
	}
	_, err = w.Write([]byte("]}\n"))
	return err
}
