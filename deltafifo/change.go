package deltafifo

// Change is one change of a collection, as a [BatchFIFO] delivers it. It is a value of
// three words, since a queue may have thousands of them: what is rare is behind a
// pointer, and the key is in the object. Objects are shared with other readers and must
// not be modified.
type Change[T Object] struct {
	// Type is Added, Updated or Deleted, which are about an Object, or Replaced or
	// Bookmark, which are about the Collection.
	Type DeltaType
	// Object is the state after the change; for Deleted the last state known.
	Object T
	// Collection is set for Replaced and Bookmark only.
	Collection *Collection[T]
}

// Collection is the state of a whole collection.
type Collection[T Object] struct {
	// Objects are all objects, in the order of the list; only for Replaced. An empty
	// collection is a valid state.
	Objects []T
	// ResourceVersion is that of the list, or of the bookmark.
	ResourceVersion string
}
