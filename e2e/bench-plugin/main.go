// A plugin for measurements: it begins to listen at once, says yes to whatever it is asked, and does not exit by itself when
// it is told to stop, as no plugin does that was written for the reference agent.
//
// All answers of the protocol may be empty messages, so this is the frame of one, without any library: gRPC is HTTP/2 with
// a length before each message and a status in the trailer.
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	network, address := "unix", ""
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch name {
		case "protocol":
			network = value
		case "address":
			address = value
		}
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	log.Fatal((&http.Server{Handler: http.HandlerFunc(answer), Protocols: protocols}).Serve(listener))
}

func answer(response http.ResponseWriter, request *http.Request) {
	io.Copy(io.Discard, request.Body)
	response.Header().Set("Content-Type", "application/grpc")
	response.Header().Set("Trailer", "Grpc-Status")
	response.Write([]byte{0, 0, 0, 0, 0})
	response.Header().Set("Grpc-Status", "0")
}
