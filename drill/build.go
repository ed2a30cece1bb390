package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"chasephone/internal/mutants"
)

// programs are the binaries under test.
type programs struct {
	daemon  string // with the race detector, unless that is turned off
	command string // for persons, and the carrier: commands are many, and start faster without
}

// build builds chasephone, or a mutant of it.
func build(ctx context.Context, root string, s scratch, m *mutants.Mutant, race bool) (programs, error) {
	p := programs{daemon: s.in("chasephone"), command: s.in("chasephone")}
	var overlay []string
	if m != nil {
		dir := s.in("mutant")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return p, fmt.Errorf("building the mutant %s: %w", m.Name, err)
		}
		path, err := mutants.Overlay(root, dir, *m)
		if err != nil {
			return p, err
		}
		overlay = []string{"-overlay", path}
	}
	compile := func(to string, flags ...string) error {
		args := append(append([]string{"build", "-o", to}, flags...), overlay...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/chasephone")...)
		cmd.Dir = root
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building chasephone: %w: %s", err, lastLines(string(said), 10))
		}
		return nil
	}
	if err := compile(p.command); err != nil {
		return p, err
	}
	if race {
		p.daemon = s.in("chasephone-race")
		return p, compile(p.daemon, "-race")
	}
	return p, nil
}
