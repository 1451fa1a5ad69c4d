// Package bugs has ten small controllers. Each has one classic bug, as it was published of a real
// controller, and a mended twin. A test finds all ten with package explore and runs the twins.
//
// Each file is one case: where the bug was published, both controllers, and the [explore.Subject] that
// a user would write, who does not know of the bug. Without faults both twins pass.
//
//	file            bug                                                    written on
//	stalecache.go   creates again on a stale cache                         informers and a queue
//	orphan.go       a crash between two writes leaves an orphan            informer/controller
//	finalizer.go    a finalizer stays if the object changes meanwhile      informer/controller
//	generatename.go creates twice after a lost answer                      informer/controller
//	putback.go      puts back a status that another writer has changed     informer/controller
//	samename.go     deletes a new object of the same name                  informer/controller
//	unseen.go       needs to see an intermediate state                     informers and a queue
//	requeue.go      loses a requeue                                        informers and a queue
//	leadership.go   acts after leadership was lost                         informer/leader
//	hotloop.go      its own status write starts the next reconcile         informer/controller
package bugs
