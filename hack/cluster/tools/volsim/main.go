// volsim is a CSI driver whose volumes exist in its memory only. Attaching and detaching take time and share a limited
// capacity, hang or fail, as its settings file says at the time; what happens is written to standard output, as JSON.
package main

import (
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	name := flag.String("name", "", "name of the driver")
	socket := flag.String("socket", "", "where to serve CSI")
	settings := flag.String("settings", "", "a JSON file, read before each operation")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stdout, nil)))
	if err := serve(*name, *socket, *settings); err != nil {
		slog.Error("serve", "error", err.Error())
		os.Exit(1)
	}
}

func serve(name, socket, settings string) error {
	provider, err := newProvider(settings)
	if err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	driver := &driver{name: name, provider: provider}
	csi.RegisterIdentityServer(server, driver)
	csi.RegisterControllerServer(server, driver)
	return server.Serve(listener)
}
