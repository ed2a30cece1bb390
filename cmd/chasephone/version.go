package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set when a release is linked.
var version = "" //nolint:gochecknoglobals // the linker can set nothing else

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c versionCmd) Run(p process) error {
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]string{"version": buildVersion(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(p.stdout, "chasephone %s (%s)\n", buildVersion(), runtime.Version())
	return err
}
