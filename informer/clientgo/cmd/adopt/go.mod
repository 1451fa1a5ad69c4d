// No replacement: go run of a version refuses one.
module github.com/informerkit/informerkit/informer/clientgo/cmd/adopt

go 1.26.0
