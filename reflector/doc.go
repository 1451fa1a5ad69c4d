// Package reflector mirrors one collection of an API server into a sink, and
// keeps doing so until its context ends.
//
// # The problem
//
// A program that has to know all pods cannot ask for them again and again. The
// API server offers something better: LIST answers with the whole collection
// and the resourceVersion it stands for, WATCH with everything that happens
// after a resourceVersion. One LIST, one WATCH that is started anew whenever it
// ends, and a copy of the collection stays up to date at the cost of its
// changes.
//
// The difficulty is in what goes wrong: servers restart, proxies hang up, the
// history is compacted, a role is missing, one object of ten thousand cannot be
// decoded. A reflector has an answer to each, and says what it is doing.
//
//	                         ┌────────────────────────────────────────────┐
//	                         ▼                                            │
//	New ──▶ Connecting ──▶ Listing   ──▶ Synced ──▶ Connecting ──▶ Watching
//	            │      └─▶ Streaming ───────────────────────────────▲  │
//	            ▼                                                      │
//	         Degraded ◀──── any failure: say why, wait, try again ◀────┘
//
// Listing is the classic way. Streaming is WatchList: one WATCH that first sends
// what exists, then a bookmark that says so, then the changes. It is easier on
// the server and used where there is reason to hope that the server knows it.
//
// # Use
//
//	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
//	source, err := reflector.NewResource[*corev1.Pod](cfg, pods, reflector.ResourceOptions{})
//	if err != nil { … }
//	source = reflector.Transform(source, reflector.StripManagedFields[*corev1.Pod])
//	r, err := reflector.New(source, sink, reflector.Options{Logger: slog.Default()})
//	if err != nil { … }
//	go r.Run(ctx)
//	…
//	if h := r.Health(); !h.Synced {
//		log.Printf("no pods yet: %s since %v: %v", h.State, h.Since, h.LastError)
//	}
//
// The sink is any type with the five methods of [Sink]: a queue, a store, a map.
//
// # Promises
//
//  1. The sink sees, per object, an ordered subsequence of its true states; a
//     Replace states the whole collection. When all is quiet, the last state
//     that it has seen is the server's. (TestSimulation)
//  2. Nothing fails silently. Every failure is in [Health], with its class and
//     since when, and in the log, which is slog.Default() if no other is given:
//     at once for a new reason, and then once a minute. An unsynced reflector can
//     say why, in a line that tells what to do. (TestErrorsSayWhatToDo,
//     TestTheStateMachineIsObservable, TestFailuresAreLoggedByDefault,
//     TestARepeatedFailureIsLoggedOnceAMinute)
//  3. Nothing spins. Whatever the server does, it gets at most 10 requests in
//     any 10 seconds, and in the long run two per 20 seconds, save for what
//     [Options].Policy or BackoffFunc ask for, and for further pages of a list that
//     bring at least half of what was asked for. A page that brings less is a
//     request like any other. Where net/http sends a second request by itself,
//     after a redirect within the server or on a connection that turns out to be
//     closed, that is charged afterwards. Within this allowance a watch that has
//     delivered something resumes at once.
//     (TestRapidFailuresAreSlowedDown, TestTheAllowanceBoundsAnyServer,
//     TestEndlessPagesArePaced, TestARedirectToItselfIsNamedAndBounded,
//     TestRequestsThatTheTransportRepeatsAreCharged,
//     TestBackoffForgetsOnlyAfterAHealthyPeriod)
//  4. Nothing hangs. A server that does not answer, stalls, never sends the
//     bookmark that ends the initial events, or is no longer there at the other
//     end of an open connection, is noticed by a deadline. The deadlines of a LIST
//     and of a watch that is followed are extended by each byte, so one big object
//     on a slow link is not a stall. Those of a WatchList are extended by new
//     objects only, as a server that does not know it sends bytes, too: within 20
//     seconds a LIST is used instead.
//     (TestListThatStallsTimesOut, TestABigObjectOnASlowLinkSyncs,
//     TestABigEventOnASlowLinkIsNoSilence,
//     TestABigInitialEventOnASlowLinkSyncsByAList,
//     TestWatchListWithoutProgressFallsBackIn10s,
//     TestSilentStreamIsTakenForHalfOpen)
//  5. Run returns soon after its context ends, from every state, with its streams
//     closed. (TestRunEndsAtOnceFromEveryState,
//     TestStreamsAreClosedWhenRunReturns)
//  6. One bad object does not hold up the others. It is quarantined: reported,
//     counted, kept in its last good version if the sink is [Known], and tried
//     again with the next list; an event lost with it makes sure that there is
//     one. (TestOneBadObjectInAListDoesNotHoldUpTheOthers,
//     TestABadEventIsMadeUpForByAList, TestABadObjectKeepsItsLastGoodVersion)
//  7. The resourceVersion never gets ahead of what the sink has taken over; an
//     event that it refuses comes again. (TestASinkErrorDeliversTheSameChangeAgain)
//  8. A list is decoded object by object while it arrives, and never held twice.
//     On a relist an object whose UID and resourceVersion are unchanged keeps
//     its pointer, if the sink is [Known].
//     (TestARelistKeepsThePointersOfUnchangedObjects)
//  9. A transform runs once per object received, and cannot break its identity.
//     (TestATransformRunsOncePerObjectAndMayChangeTheType,
//     TestATransformCannotBreakTheIdentity)
//
// # What happens when
//
// "Resume" is a watch from the last resourceVersion; "relist" is reading the
// whole collection anew, by WatchList or LIST, at the last resourceVersion or
// newer. "Back off" is a wait that grows from 0.8 s to 30 s with each failure in
// a row. A watch that has delivered something, or has run for 10 s, ends the row,
// and so does the first other error after "not found". [Options].Policy can
// decide otherwise for each class of error.
//
//	reading the collection
//	  refused                     back off, again                  TestListRefusedBacksOff
//	  401                         back off, again                  TestListUnauthorizedBacksOff
//	  403                         back off, again                  TestListForbiddenNamesTheMissingRole
//	  404, CRD missing            back off, again                  TestListNotFoundAsksForTheCRD
//	    then something else       back off from 0.8 s              TestAResourceThatAppearsIsNoFailingServer
//	  other 4xx                   at once, without a version, if   TestListAtARejectedVersionAsksForTheNewestAtOnce
//	                              it had one; else back off        TestListRejectedBacksOff
//	  429, 503 with Retry-After   wait as long as asked and up to  TestListHonoursRetryAfter
//	                              a tenth more, again              TestRetryAfterDoesNotGrow
//	  5xx                         back off, again                  TestListServerErrorBacksOff
//	  410, version too large      at once, without a version;      TestListAtAnUnknownVersionAsksForTheNewestAtOnce
//	    (all three forms)         if that fails too: back off
//	  410 for a further page      at once, in one piece            TestExpiredPageLeadsToAFullList
//	  none of the objects can be  back off, again                  TestACollectionOfWhichNothingCanBeReadIsNotSynced
//	    read
//	  objects of another kind     back off, again                  TestACollectionOfAnotherKindIsOneError
//	  the shard selector ignored  back off, again                  TestAServerThatIgnoresTheShardSelectorIsAnError
//	  redirect to itself          do not follow; back off, again   TestARedirectToItselfIsNamedAndBounded
//	  pages nearly empty          paced, as requests are           TestEndlessPagesArePaced
//	  HTML                        back off, again                  TestListHTMLIsNotAnAPIServer
//	  redirect to another server  do not follow; back off, again   TestCredentialsAreNotSentToWhereTheServerRedirects
//	  pages without end           back off, again                  TestPagesThatNeverEndAreAnError
//	  Table, no list, no JSON     back off, again                  TestListThatIsNoListIsADecodeError
//	                                                               TestAnswersThatAreNotAListDoNotEmptyTheCache
//	  body cut or truncated       back off, again                  TestListCutShortIsNotTakenForWhole
//	                                                               TestListThatEndsEarlyIsNotTakenForWhole
//	  no answer, or no byte of    after 1m: back off, again        TestListThatStallsTimesOut
//	    it for so long                                             TestABigObjectOnASlowLinkSyncs
//	  an object is unreadable     quarantine it                    TestOneBadObjectInAListDoesNotHoldUpTheOthers
//	  an object is nested deeper  quarantine it                    TestJSONNestedTooDeeplyIsQuarantined
//	    than 1000 levels                                           TestProtobufNestedTooDeeplyIsQuarantined
//	  an object is too large      back off, again                  TestTheSizeOfAnObjectIsBoundedByAnOption
//	  1000 objects without a new  back off, again                  TestRepetitionsWithoutEndAreRefused
//	    name
//	  the sink refuses            back off, again                  TestASinkErrorDeliversTheSameChangeAgain
//
//	WatchList
//	  refused, 429                back off, again                  TestWatchListThrottledOrRefusedRetriesWithoutAList
//	  400, 405, 406, 422          LIST at once, for 30m            TestWatchListRefusedFallsBackAtOnce
//	  accepted, then error 500    LIST at once, for 30m            TestWatchListAcceptedThenErrorFallsBackAtOnce
//	  403                         LIST at once                     TestWatchListForbiddenFallsBackAtOnceAndIsTriedAgain
//	  no answer for 10s           LIST at once, for 30m            TestWatchListWithoutAnswerFallsBackIn10s
//	  no new object for 10s       LIST at once, for 30m            TestWatchListWithoutProgressFallsBackIn10s
//	                                                               TestWatchListUpdatesAloneAreNoProgress
//	  no end after 20s            LIST at once, for 30m, unless    TestWatchListWithoutBookmarkFallsBackIn20sOnABusyServer
//	                              still 100 new objects a second   TestWatchListOfALargeCollectionGetsItsTime
//	  one object takes over 10s   LIST at once, for 30m            TestABigInitialEventOnASlowLinkSyncsByAList
//	  objects of another kind, or back off, again                  TestACollectionOfAnotherKindIsOneError
//	    the shard selector ignored                                 TestAServerThatIgnoresTheShardSelectorIsAnError
//	  ends before the bookmark    back off, afresh;                TestWatchListCutShortStartsAfreshAndFallsBackAtTheThirdTime
//	                              LIST at the third time
//	  a change is unreadable      quarantine it, relist after 1m   TestABadChangeAmongTheInitialEventsIsMadeUpForByAList
//	  410, version too large      at once, without a version       TestWatchListAtAnUnknownVersionAsksForTheNewestAtOnce
//
//	starting a watch
//	  refused                     back off, resume                 TestWatchRefusedResumes
//	  429                         back off, resume                 TestWatchThrottledResumes
//	  5xx                         back off, resume                 TestWatchServerErrorResumes
//	  connection breaks           back off, resume                 TestWatchConnectionCutResumes
//	  no answer                   after 1m: back off, resume       TestWatchWithoutAnswerResumes
//	    these three, three times  back off, relist                 TestWatchThatNeverGetsFurtherRelistsAfterThree
//	    without getting further
//	  400, 401, 403, 404, 410     back off, relist                 TestWatchDeniedRelists
//	  410 after a cut             one wait of 0.8 s, relist        TestAnExpiredVersionAfterACutCostsOneWait
//	  HTML                        back off, relist                 TestWatchAnsweredWithHTMLRelists
//
//	following a watch
//	  closed after 10s or more    resume at once                   TestStreamClosedAfterAHealthyPeriodResumesAtOnce
//	  closed sooner, or cut,      resume at once; with less than   TestStreamClosedAfterEventsResumesAtOnce
//	    after new events          half of the allowance left,      TestStreamCutResumes
//	                              after up to 1 s; with none       TestStreamTruncatedResumes
//	                              left, when a request is earned   TestAWatchThatDeliversResumesAsLongAsTheAllowanceLasts
//	  cut after 10s or more       resume at once                   TestAHealthyConnectionThatIsCutResumesAtOnce
//	  closed sooner, or cut,      back off, resume                 TestStreamThatDeliversNothingBacksOffAndResumes
//	    without new events
//	  ended, but not by the       ask, beside the resumed watch,   TestABrokenConnectionToARestoredServerLeadsToARelist
//	    server when agreed        by a LIST of one object, if the  TestTheVersionIsAskedForOnceAfterABrokenConnection
//	                              server knows the version, unless TestAnEventAfterABrokenConnectionIsAnswerEnough
//	                              an event comes first; relist at
//	                              once if it does not
//	  garbage                     back off, resume                 TestStreamOfGarbageResumes
//	  ERROR 410                   back off, relist                 TestStreamExpiredRelistsFromTheLastVersion
//	  ERROR version too large     back off, relist                 TestStreamAtAFutureVersionRelists
//	  ERROR 429                   back off, resume                 TestStreamThrottledResumes
//	  ERROR 500, store read error back off, relist                 TestStreamServerErrorRelists
//	  ERROR without a Status      back off, relist                 TestStreamErrorWithoutAStatusIsAFailure
//	  unknown type of event       back off, relist                 TestStreamWithAnUnknownEventTypeRelists
//	  no event or bookmark, and   after 5m: resume at once         TestSilentStreamIsTakenForHalfOpen
//	    no byte of one                                             TestABigEventOnASlowLinkIsNoSilence
//	  not ended when agreed       after 30s: resume at once        TestStreamThatDoesNotEndInTimeIsEnded
//	  ended after 3m without      ask in the same way              TestSilenceFromARestoredServerLeadsToARelist
//	    getting any further, in                                    TestSilenceIsMeasuredAcrossWatches
//	    this watch and earlier                                     TestAQuietCollectionIsAskedForItsVersionOnceIn3m
//	  an object is unreadable,    quarantine it, relist after 1m   TestABadEventIsMadeUpForByAList
//	    of another type or        (doubling up to 64m while that   TestBadEventsMakeListsRarer
//	    a Table, or its           goes on)                         TestObjectsOfAWrongTypeAreQuarantined
//	    transform fails or panics                                  TestATransformThatFailsOrPanicsIsQuarantined
//	  an unreadable deletion      deliver it, if the sink is Known TestABadObjectKeepsItsLastGoodVersion
//	  the sink refuses            back off, resume before it;      TestASinkErrorDeliversTheSameChangeAgain
//	                              after three times: relist        TestASinkThatNeverTakesAnEventGetsTheCollectionAnew
//	  the sink blocks             wait for it                      TestASlowSinkIsNotTakenForAnIdleWatch
//	  a collection without        relist, never resume             TestVersionsOfSyntheticEventsAreNoPointToResumeFrom
//	    a resourceVersion, or 0                                    TestACollectionReadWithoutAVersionIsNeverResumed
//
// A panic of a transform or of a type's decoder is a failure of that object
// (TestADecoderThatPanicsQuarantinesItsObject). A panic of the sink, of a
// callback or of a policy is not recovered.
//
// # Pace
//
// Two rules say when the next request is sent. The backoff answers failures: it
// grows as long as nothing is delivered. The allowance bounds everything: ten
// requests at once, and then one per 10 s, saved up to nine. A request is a watch,
// the first page of a list, or a question for the version.
//
// The allowance is spent where it keeps the copy fresh. A watch that brought
// something and ended is worth one, whoever ended it, so behind a proxy that closes
// connections every 8 s the copy is never out of date for longer than the resume
// takes. That lasts for some minutes, as one request per 8 s is more than is
// earned; then each watch waits 2 s for its turn. A question for the version is
// only asked while more than half of the allowance is left.
//
// # A restored etcd
//
// After etcd was restored from a backup, the server's history is shorter than what
// the reflector has seen, and other things may happen under the same versions. A
// watch from a version that such a server has not reached is accepted and silent.
// So when a watch has ended in any other way than by the server at the time
// agreed, the reflector asks for its version, once: beside the resumed watch, so
// that nothing waits for the answer (a server takes up to 3 s to deny a version),
// and 1 to 2 s after its start, so that a busy collection, whose next event is the
// answer, costs no request. A source that [NewResource] has not made is asked
// before the watch.
//
// What no client can notice by versions: a new history that has already got past
// the last version seen when the reflector comes back. The server knows that
// version, if as that of another change. What differs between the histories then
// stays wrong until the object changes again or the program restarts. After a
// restore, restart what holds caches, or have etcd restored with its revision
// bumped (etcdutl snapshot restore --bump-revision --mark-compacted), which every
// client notices.
//
// # Requests
//
// The first LIST asks for resourceVersion 0, whatever the server's watch cache
// has; a relist for the last resourceVersion or newer, so that the sink does
// not go back in time; and after the server has said that it does not know that
// version, for the newest from a quorum of etcd. A WatchList asks for the newest
// at first, and then as a LIST does. Pages have 500 objects where the server
// reads from etcd; a list from its watch cache comes in one piece. Each watch
// asks for bookmarks and for a random duration of 5 to 10 minutes.
// (TestListOptionsFollowTheRules, TestWatchListOptionsFollowTheRules,
// TestListsArePagedIfThereIsNoWatchCache,
// TestWatchTimeoutsAreSpreadBetweenOnceAndTwice)
//
// # Cost
//
// A reflector is one goroutine, and what net/http needs for one connection. An
// event is decoded once, from the bytes as they are in the read buffer
// (BenchmarkDecode).
//
// While a collection is read, by LIST or as initial events, there is one more
// goroutine, which reads, and one for each parcel of up to 64 KiB or 128 objects
// that is being decoded: all cores decode, and the objects are handed over in
// their order. No object waits for a parcel to fill up. What is read ahead of the
// sink is one parcel more than there are cores, or one object if that is larger.
// When the collection is read, or Run ends, these goroutines have ended
// (TestItemsDecodedOnSeveralCoresKeepTheirOrder,
// TestInitialEventsKeepTheirOrderAndPlace,
// TestInitialEventsThatComeSlowlyAreNotHeldBack,
// TestASlowSinkHoldsUpTheServerOfInitialEvents,
// TestAfterTheInitialEventsNextReadsForItself, TestCloseEndsTheReadingAhead).
//
// During a first list the objects and one slice of pointers are in memory;
// during a relist into a [Known] sink, the changed objects and that slice.
// BenchmarkRelistLiveHeap measures the live heap at the end of a relist of
// 10,000 objects with 1% changed: 1.04 times that of steady state, and 1.91
// times with a sink that is not Known.
//
// # Where to read on
//
// The state machine: reflector.go (Run), outcome.go (the table above as code),
// list.go and watchlist.go (reading the collection), watch.go (following it),
// position.go, allowance.go, backoff.go and versioncheck.go (from where, and when),
// round.go, quarantine.go and completion.go. The wire: resource.go (requests),
// answer.go, resource_list.go with envelope.go, list_json.go and list_proto.go,
// resource_watch.go with frames.go, lexer.go, protowire.go, codec.go, and ahead.go
// for the decoding on all cores. The bounds: deadline.go, progress.go, depth.go,
// foreign.go and decodeerror.go.
package reflector
