// Package controller wires the building blocks of this library into a controller: informers, a queue,
// workers, clients, leadership, health.
//
// All of it can be written by hand, as the guided tour does, but most controllers need the same code. This package
// is that code. It uses only the public API, so it also shows how the parts fit
// together.
//
//	For, Owns, Watches ─▶ informers ─▶ handlers ─▶ queue ─▶ workers ─▶ your function ─▶ clients
//	     Reads ─────────▶ informers ◀──────────── Get, List, Owned ──────┘                │
//	                          └──── has seen what was written: the next time for a key ◀──┘
//
// # Use
//
//	c := controller.New(controller.Options{Config: cfg, Name: "backups", Workers: 2})
//	backups := controller.For[*v1.CronBackup](c, v1.CronBackups)
//	jobs := controller.Owns[*batchv1.Job](c, batchv1.SchemeGroupVersion.WithResource("jobs"))
//	err := c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
//		backup, err := backups.Get(key) // from the cache
//		if err != nil {
//			return workqueue.Result{}, client.IgnoreNotFound(err)
//		}
//		for _, job := range jobs.Owned(backup) {
//			...
//		}
//		_, err = jobs.Create(ctx, …) // on the server
//		return workqueue.Result{RequeueAfter: time.Minute}, err
//	})
//
// No scheme is needed: the resource is an argument, and discovery has its kind and scope.
//
// # Promises
//
//  1. The function is called for each object of [For] when it is new, after each change of it, after
//     each change of an object that it owns ([Owns]) or that names it ([Watches]), and for each object
//     once after the start. It is called for one key at a time, once all caches are synced.
//  2. It is called again for a key only when the caches contain what the previous call has written with the
//     clients of this controller and its context, even if that call failed or panicked, in an earlier term too. What
//     it has deleted, or freed of its last finalizer while it was being deleted, is gone from them by then. There is
//     no deadline. Only writes that a cache cannot show are not waited for, once a list has proved that:
//     see [informer.Informer.Seen].
//  3. A failure is repeated with growing pauses, and logged. Objects of the first list wait behind changed
//     ones, for a minute at most.
//  4. With a Leader, the function is called only in a term of this replica, its context ends when leadership
//     is lost, and the next leader begins with all objects, from caches that were synced before.
//  5. When the context of Run ends, calls in progress may go on for StopTimeout; caches and HTTP stop after
//     them, leadership as package leader says. Then Run returns nil, with no goroutine left.
//  6. Impossible arguments of any function are errors of Run, all of them at once, before any request.
//
// # Where to read on
//
// README.md: what belongs in a reconcile function, and what can go wrong. The code: controller.go (options, Run),
// resource.go (what is read), work.go (one term, one key), serve.go (HTTP).
package controller
