// Package scripted is an API server for tests that answers by script.
//
// A test of a client's reaction to one answer (a truncated list, a watch that ends
// at once, a 410 in the middle of a stream) needs a server that sends just that,
// and nothing else. For everything that a well-behaved server does, with a store
// and a history, use informertest.
//
//	s := &scripted.Server{
//		List: scripted.Lists("10", scripted.ConfigMap("a", "1")),
//		Watch: scripted.InTurn(
//			scripted.Fails(http.StatusGone, metav1.StatusReasonExpired),
//			scripted.Quiet,
//		),
//	}
//	lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{})
//	...
//	require.Equal(t, "list@0 watch@10", s.Verbs())
//
// Read in this order: server.go has the server and what it records, answers.go the
// answers to choose from, write.go what answers are written with, objects.go the
// objects in them. transport.go is for a body that the test writes byte by byte.
package scripted
