package controlplane

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// freePort returns a TCP port of 127.0.0.1 on which no process listens. It is taken from
// below the range from which systems give ports to outgoing connections, so that
// none of those takes it while the server that owns it restarts.
func freePort() (int, error) {
	const low, high = 20000, 30000
	for range 100 {
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port found on 127.0.0.1 between 20000 and 30000")
}
