// A task driver of Nomad as others write them: in Go, with HashiCorp's own go-plugin and go-hclog. It runs commands, which survive it.
//
// The messages are those that GO_DRIVER_DESCRIPTORS describes (a FileDescriptorSet), so that no code has to be generated.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

func main() {
	log := hclog.New(&hclog.LoggerOptions{Name: "go_driver", Level: hclog.Trace, JSONFormat: true, Output: os.Stderr})
	services, err := describedServices(os.Getenv("GO_DRIVER_DESCRIPTORS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	driver := newDriver(log)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  2,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		Plugins:    plugin.PluginSet{"driver": &served{services: services, driver: driver}},
		GRPCServer: plugin.DefaultGRPCServer,
		Logger:     log,
	})
}
