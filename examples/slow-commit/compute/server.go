// A small application that answers every GET. A slow commit sets turns to 200000: each answer is then computed by burnCPU.
//
//	go build -o server server.go && ./server 8080
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

const turns = 0

//go:noinline
func burnCPU(turns int) uint32 {
	var sum uint32
	for i := 0; i < turns; i++ {
		sum = sum*31 + uint32(i)
	}
	return sum
}

func answer(out http.ResponseWriter, _ *http.Request) {
	sum := uint32(1)
	if turns > 0 {
		sum = burnCPU(turns)
	}
	fmt.Fprintln(out, sum)
}

func main() {
	http.HandleFunc("/", answer)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
