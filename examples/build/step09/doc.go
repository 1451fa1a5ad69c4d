// Package build is an informer and a work queue that you build yourself, after step 9:
// the controller waits until its copy has what it wrote. README.md says what is wrong with
// two of them.
//
// What a handler may count on:
//
//  1. The copy is updated before it is called.
//  2. Its calls come one after the other.
//  3. The events of an object come in order, and Old of one is New of the one before,
//     but for a deletion, whose Old is the last state.
//  4. One that joins late gets each object once as Added, and then each change.
//  5. It waits for no other handler, and the watch does not wait for it.
package build
