//go:build !go1.24

package main

import (
	"log"
	"net/http"
)

func withoutTLS(*http.Server) {
	log.Fatal("HTTP/2 without TLS needs Go 1.24 or newer")
}
