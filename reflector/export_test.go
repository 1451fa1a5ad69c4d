package reflector

// The classes that tests name and callers need not.
const (
	ClassNone       ErrorClass = ""
	ClassNetwork               = classNetwork
	ClassTLS                   = classTLS
	ClassTimeout               = classTimeout
	ClassFuture                = classFuture
	ClassThrottled             = classThrottled
	ClassRejected              = classRejected
	ClassNotAPI                = classNotAPI
	ClassWrongKind             = classWrongKind
	ClassNoBookmark            = classNoBookmark
	ClassIdle                  = classIdle
	ClassClosed                = classClosed
	ClassSink                  = classSink
	ClassQuarantine            = classQuarantine
	ClassOther                 = classOther
	ClassOutside               = classOutside
	SyncAuto                   = syncAuto
	EncodingAuto    Encoding   = ""
	OpList                     = opList
	OpWatchList                = opWatchList
	OpWatch                    = opWatch
	OpStream                   = opStream
)
