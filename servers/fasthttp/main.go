// The catalogue's fasthttp server.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

type greeting struct {
	Message string `json:"message"`
}

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: server HOST:PORT [CERT KEY] | --version")
	}
	if os.Args[1] == "--version" {
		fmt.Printf("fasthttp %s, %s\n", version(), runtime.Version())
		return
	}
	server := &fasthttp.Server{Handler: handle, Name: "fasthttp"}
	if len(os.Args) == 4 {
		log.Fatal(server.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3]))
	}
	log.Fatal(server.ListenAndServe(os.Args[1]))
}

// version of fasthttp, as it was built in.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/valyala/fasthttp" {
			return module.Version
		}
	}
	return "unknown"
}

func handle(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) { // the compiler makes no copy for this
	case "/":
		text(ctx, "Hello, World!")
	case "/json":
		body, err := json.Marshal(greeting{"Hello, World!"})
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(body)
	case "/sleep":
		time.Sleep(time.Duration(number(ctx, "ms", 0)) * time.Millisecond)
		text(ctx, "Hello, World!")
	case "/work":
		text(ctx, work(number(ctx, "n", 1000)))
	case "/echo":
		if !ctx.IsPost() {
			ctx.NotFound()
			return
		}
		ctx.SetContentType("application/octet-stream")
		ctx.SetBody(ctx.PostBody())
	default:
		ctx.NotFound()
	}
}

func text(ctx *fasthttp.RequestCtx, body string) {
	ctx.SetContentType("text/plain")
	ctx.SetBodyString(body)
}

// work takes n steps of a linear congruential generator: pure arithmetic, the same in every language here.
func work(n uint64) string {
	var x uint32
	for ; n > 0; n-- {
		x = x*1664525 + 1013904223
	}
	return strconv.FormatUint(uint64(x), 10)
}

func number(ctx *fasthttp.RequestCtx, key string, otherwise uint64) uint64 {
	value, err := strconv.ParseUint(string(ctx.QueryArgs().Peek(key)), 10, 32)
	if err != nil {
		return otherwise
	}
	return value
}
