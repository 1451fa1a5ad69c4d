package sharding

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// view is the Leases of a group at one point in time. It may lag behind the server,
// but it is a state that was: if it shows a record whose session it does not show, that
// session has ended for good, since a session is created before its ID is written to a
// record, and no session has the ID of another.
type view struct {
	sessions map[string]*lease // by ID
	parts    []*lease          // nil where there is no record
	// foreign is a record that states another number of parts, if there is one.
	foreign *lease
}

// newView sorts the Leases of a group.
func newView(n names, parts int, leases iter.Seq[*lease]) *view {
	v := &view{sessions: map[string]*lease{}, parts: make([]*lease, parts)}
	for l := range leases {
		part, id, ok := n.parse(l.Name)
		switch {
		case !ok:
		case id != "":
			v.sessions[id] = l
		default:
			if part < parts {
				v.parts[part] = l
			}
			if !l.states(parts) && (v.foreign == nil || l.Name < v.foreign.Name) {
				v.foreign = l
			}
		}
	}
	return v
}

// holder returns the ID of the session that has a part, or "" if it is free: without a
// record, given up, or of a session that has ended.
func (v *view) holder(part int) string {
	id := v.parts[part].holder()
	if v.sessions[id] == nil {
		return ""
	}
	return id
}

// holders returns the holder of each part.
func (v *view) holders() []string {
	all := make([]string, len(v.parts))
	for i := range all {
		all[i] = v.holder(i)
	}
	return all
}

// version returns the resourceVersion of the record of a part, or "".
func (v *view) version(part int) string {
	if l := v.parts[part]; l != nil {
		return l.ResourceVersion
	}
	return ""
}

// replicas returns the IDs of the sessions that are to have parts, in order.
func (v *view) replicas() []string {
	var ids []string
	for id, l := range v.sessions {
		if l.counts() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// observations are when this replica has seen each session in its present version, by
// the local clock. The times within Leases are not looked at: they are of other clocks.
type observations map[string]observation

type observation struct {
	version string
	since   time.Time
}

// update notes what the view shows for the first time.
func (o observations) update(v *view, now time.Time) {
	maps.DeleteFunc(o, func(id string, _ observation) bool { return v.sessions[id] == nil })
	for id, l := range v.sessions {
		if o[id].version != l.ResourceVersion {
			o[id] = observation{l.ResourceVersion, now}
		}
	}
}

// expires returns when a session may be ended. What it states counts, if that is
// longer than the own duration: its replica relies on it.
func (o observations) expires(l *lease, id string, own time.Duration) time.Time {
	return o[id].since.Add(max(own, l.stated()))
}
