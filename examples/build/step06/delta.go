package build

// Types of deltas, beyond the types of events.
const (
	Replaced = "Replaced" // a list: these objects exist, and no others
	Bookmark = "Bookmark" // everything up to this version has been sent
)

// Delta is what the network has to say: a change of an object, or a list.
type Delta struct {
	Type    string
	Object  *Object  // of all but Replaced
	Objects []Object // of Replaced
	Version string   // up to where the state is complete with it
}

// events returns what a delta means in a state. What does not change the state is no event.
func (d Delta) events(state *Snapshot) []Event {
	switch d.Type {
	case Replaced:
		return replace(state, d.Objects)
	case Bookmark:
		return nil
	case Deleted:
		if state.Get(KeyOf(d.Object)) == nil {
			return nil
		}
		return []Event{{Type: Deleted, Key: KeyOf(d.Object), Old: d.Object}}
	}
	return change(state.Get(KeyOf(d.Object)), d.Object)
}
