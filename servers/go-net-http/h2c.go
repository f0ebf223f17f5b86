//go:build go1.24

package main

import "net/http"

// withoutTLS lets a server speak HTTP/2 without TLS, too.
func withoutTLS(server *http.Server) {
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
}
