// CoreDNS with the plugins that a cluster's DNS needs and no others. The full
// build links the clients of three clouds, which takes longer than this whole
// program.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order in which a query passes through the plugins.
func init() {
	dnsserver.Directives = []string{"health", "ready", "errors", "cache", "kubernetes"}
}

func main() {
	coremain.Run()
}
