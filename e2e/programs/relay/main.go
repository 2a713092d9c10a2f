// Relay accepts connections on a listening socket that it inherits as standard
// input, and joins each to a TCP address. The socket may come from another
// network namespace than the relay's: that is the door through which the host
// reaches the API server, without an address or a link of the node's on the host.
package main

import (
	"io"
	"log"
	"net"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: relay HOST:PORT <LISTENING-SOCKET")
	}
	listener, err := net.FileListener(os.Stdin)
	if err != nil {
		log.Fatalf("standard input is no listening socket: %v", err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatalf("accept: %v", err)
		}
		go join(client.(*net.TCPConn), os.Args[1])
	}
}

func join(client *net.TCPConn, address string) {
	defer client.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		log.Printf("dial %s: %v", address, err)
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	done := make(chan struct{})
	go func() {
		copyThenClose(server, client)
		close(done)
	}()
	copyThenClose(client, server)
	<-done
}

// copyThenClose passes the end of one direction on, so that the other can finish.
func copyThenClose(to, from *net.TCPConn) {
	_, _ = io.Copy(to, from)
	_ = to.CloseWrite()
}
