package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const (
	module    = "github.com/onceward/onceward"
	sdkModule = "go.temporal.io/sdk"
	// minimumServer is the oldest Temporal server that runs and actions work on.
	minimumServer = "1.28"
)

// build is the output of version --json. What a build does not say is null.
type build struct {
	Version       string  `json:"version"`
	Revision      *string `json:"revision"`
	Time          *string `json:"time"`     // of the revision, RFC 3339
	Modified      *bool   `json:"modified"` // whether the revision was changed before it was built
	Go            string  `json:"go"`
	SDK           *string `json:"temporal_sdk"`
	MinimumServer string  `json:"minimum_temporal_server"`
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which build this is, and what it needs",
		Long: `Say which build this is: version, revision, Go and the Temporal SDK, and the oldest
Temporal server it works with. It asks nobody.`,
		Example: "  onceward version\n  onceward version --json | jq .version",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), b)
			}
			_, err := io.WriteString(cmd.OutOrStdout(), b.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "(devel)", Go: runtime.Version(), MinimumServer: minimumServer}
	if info.Main.Path == module && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, dep := range info.Deps {
		switch dep.Path {
		case sdkModule:
			b.SDK = &dep.Version
			if dep.Replace != nil {
				b.SDK = &dep.Replace.Version
			}
		case module: // built into somebody else's program
			b.Version = dep.Version
		}
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = &setting.Value
		case "vcs.time":
			b.Time = &setting.Value
		case "vcs.modified":
			modified := setting.Value == "true"
			b.Modified = &modified
		}
	}
	return b
}

// String is one fact a line, for people.
func (b build) String() string {
	revision := orDash(b.Revision, "%s")
	if b.Time != nil {
		revision += " of " + *b.Time
	}
	if b.Modified != nil && *b.Modified {
		revision += ", modified"
	}
	return fmt.Sprintf("onceward %s\nrevision %s\ngo %s\ntemporal sdk %s\ntemporal server %s or newer\n", b.Version, revision, b.Go, orDash(b.SDK, "%s"), b.MinimumServer)
}
