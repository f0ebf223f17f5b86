// The catalogue's Go server: net/http as the standard library gives it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"
)

type greeting struct {
	Message string `json:"message"`
}

// Routes whose services there are.
var others map[string]http.HandlerFunc

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: server HOST:PORT [CERT KEY] | --version")
	}
	if os.Args[1] == "--version" {
		fmt.Println(runtime.Version())
		return
	}
	others = realistic(runtime.GOMAXPROCS(0))
	server := &http.Server{Addr: os.Args[1], Handler: http.HandlerFunc(handle)}
	if os.Getenv("HTTP2") == "on" {
		withoutTLS(server)
	}
	if len(os.Args) == 4 {
		log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
	}
	log.Fatal(server.ListenAndServe())
}

// A switch and not ServeMux patterns with methods: those need Go 1.22, Debian 12 has 1.19.
func handle(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		text(w, "Hello, World!")
	case "/json":
		body, err := json.Marshal(greeting{"Hello, World!"})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	case "/sleep":
		time.Sleep(time.Duration(number(r, "ms", 0)) * time.Millisecond)
		text(w, "Hello, World!")
	case "/work":
		text(w, work(number(r, "n", 1000)))
	case "/echo":
		echo(w, r)
	default:
		if route, found := others[r.URL.Path]; found {
			route(w, r)
			return
		}
		http.NotFound(w, r)
	}
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, body)
}

func echo(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	// Read whole before the answer starts: net/http may refuse to read on once it has.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// work takes n steps of a linear congruential generator: pure arithmetic, the same in every language here.
func work(n uint64) string {
	var x uint32
	for ; n > 0; n-- {
		x = x*1664525 + 1013904223
	}
	return strconv.FormatUint(uint64(x), 10)
}

func number(r *http.Request, key string, otherwise uint64) uint64 {
	value, err := strconv.ParseUint(r.URL.Query().Get(key), 10, 32)
	if err != nil {
		return otherwise
	}
	return value
}
