// RoadRunner with its HTTP plugin alone, put together from its own modules as its documentation describes for
// builds with chosen plugins. Its own binary has forty more, which answer no request here.
package main

import (
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/roadrunner-server/config/v4"
	"github.com/roadrunner-server/endure/v2"
	"github.com/roadrunner-server/http/v4"
	"github.com/roadrunner-server/logger/v4"
	"github.com/roadrunner-server/server/v4"
)

const (
	// The release whose modules go.mod names.
	release = "2023.3.12"
	// How long requests and workers are waited for at the end.
	grace = 5 * time.Second
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server rr.yaml | --version")
	}
	if os.Args[1] == "--version" {
		fmt.Println(version())
		return
	}
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(file string) error {
	container := endure.New(slog.LevelError, endure.GracefulShutdownTimeout(grace))
	err := container.RegisterAll(
		&config.Plugin{Path: file, Prefix: "rr", Timeout: grace, Version: release},
		&logger.Plugin{},
		&server.Plugin{},
		&http.Plugin{},
	)
	if err != nil {
		return err
	}
	if err := container.Init(); err != nil {
		return err
	}
	failed, err := container.Serve()
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case failure := <-failed:
		return fmt.Errorf("%s: %w", failure.VertexID, failure.Error)
	case <-stop:
		return container.Stop()
	}
}

// version names the release, and the modules that answer requests as they were built in.
func version() string {
	text := "RoadRunner " + release
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text
	}
	for _, module := range info.Deps {
		if name, ours := strings.CutPrefix(module.Path, "github.com/roadrunner-server/"); ours &&
			(strings.HasPrefix(name, "http/") || strings.HasPrefix(name, "sdk/")) {
			text += ", " + name + " " + module.Version
		}
	}
	return text
}
