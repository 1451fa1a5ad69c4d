// Package panics reports the panics that a controller recovers to the test that runs it.
package panics

import (
	"reflect"
	"sync"

	"k8s.io/client-go/rest"
)

// watchers has a func(value any, stack []byte) for each server of a test.
var watchers sync.Map

// server returns what identifies the server of a configuration: a wrapped copy has the same one.
func server(cfg *rest.Config) any {
	if cfg.Transport != nil && reflect.TypeOf(cfg.Transport).Comparable() {
		return cfg.Transport
	}
	return cfg.Host
}

// Watch calls recovered, from any goroutine, for each panic of a controller with this configuration, until stop is called.
func Watch(cfg *rest.Config, recovered func(value any, stack []byte)) (stop func()) {
	key := server(cfg)
	watchers.Store(key, recovered)
	return func() { watchers.Delete(key) }
}

// Recovered reports a panic.
func Recovered(cfg *rest.Config, value any, stack []byte) {
	if recovered, ok := watchers.Load(server(cfg)); ok {
		recovered.(func(any, []byte))(value, stack)
	}
}
