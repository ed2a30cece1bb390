package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"chasephone/config"
	"chasephone/internal/store"
)

type doctorCmd struct {
	Rules bool `xor:"form" help:"Print the file of calling rules that is in force, or the built-in one, to begin one's own from. Asks no database."`
	JSON  bool `xor:"form" name:"json" help:"Print JSON."`
}

// Help is shown by doctor --help.
func (doctorCmd) Help() string {
	return "Shows the calling rules in force with their sources, the database and the daemons, and looks for what is in the way. " +
		"A problem keeps every call from being rung, and the exit code is 1; a remark is something that somebody should have meant. " +
		"It goes by this command's environment: give it the daemons'. It changes nothing."
}

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	Problems    []string     `json:"problems"` // what keeps calls from being rung, all of them
	Remarks     []string     `json:"remarks"`
	Environment surroundings `json:"environment"`
	Rules       rulesInForce `json:"rules"`
	Database    databaseSays `json:"database"`
}

// surroundings are what decides and is not told elsewhere.
type surroundings struct {
	Version   string   `json:"version"` // of this program
	Region    string   `json:"default_region"`
	Countries []string `json:"countries"` // empty: each tenant's own region
	Carriers  []string `json:"carriers"`  // those with an account
}

func (d *diagnosis) problem(format string, args ...any) {
	d.Problems = append(d.Problems, fmt.Sprintf(format, args...))
}

func (d *diagnosis) remark(format string, args ...any) {
	d.Remarks = append(d.Remarks, fmt.Sprintf(format, args...))
}

// doctorPatience bounds the questions to the database: where one hangs, that is the answer.
const doctorPatience = 30 * time.Second

func (c doctorCmd) Run(ctx context.Context, p process) error {
	if c.Rules {
		return printRules(p)
	}
	conf, err := config.Load(p.environ, config.Options{})
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	d := diagnose(asking, conf)
	if ctx.Err() != nil {
		return context.Cause(ctx) // interrupted: what was not answered is no finding
	}
	if c.JSON {
		err = printJSON(p.stdout, d)
	} else {
		err = d.print(p.stdout)
	}
	if err == nil && len(d.Problems) > 0 {
		err = answeredNo{}
	}
	return err
}

func diagnose(ctx context.Context, conf config.Config) diagnosis {
	d := diagnosis{
		Problems: []string{}, Remarks: []string{},
		Environment: surroundings{buildVersion(), conf.Intake.Region, append([]string{}, conf.Gates.Countries...), ownAccounts(conf.Carriers)},
		Rules:       inForce(conf, time.Now()),
		Database:    databaseSays{Forgets: []store.Forgetting{}, Daemons: []store.Daemon{}, Holds: []store.Hold{}, OtherGates: []note{}},
	}
	d.Remarks = append(d.Remarks, conf.Warnings()...)
	facts, err := ask(ctx, conf)
	if err != nil { // it cannot be asked, or not everything
		d.Database.Error = oneLine(err)
		if ctx.Err() != nil {
			d.Database.Error = "the database did not answer within " + doctorPatience.String() + ": " + d.Database.Error
		}
		d.problem("%s", d.Database.Error)
	}
	d.fleet(facts)
	d.notAllowed(facts, conf)
	d.unread(facts, conf)
	d.dated()
	return d
}

// rulesFile is the path of a file of rules of one's own, "" where the built-in ones are meant.
func rulesFile(conf config.Config) string {
	switch conf.Gates.CallingHours {
	case "on", "off":
		return ""
	}
	return conf.Gates.CallingHours
}

// printRules prints the text of the rules as it is.
func printRules(p process) error {
	// As if embedded: it is not about the database.
	conf, err := config.Load(p.environ, config.Options{Embedded: true})
	if err != nil {
		return err
	}
	text := []byte(config.BuiltInRules())
	if path := rulesFile(conf); path != "" {
		if text, err = os.ReadFile(path); err != nil {
			return fmt.Errorf("reading the calling rules: %w", err)
		}
	}
	_, err = p.stdout.Write(text)
	return err
}
