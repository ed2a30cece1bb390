package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"chasephone/config"
	"chasephone/internal/desk"
	"chasephone/internal/phone"
	"chasephone/internal/store"
	"chasephone/internal/telemetry"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitMisuse = 2 // wrong usage or configuration
)

// process is what a run has of the machine around it.
type process struct {
	args           []string
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer

	forgetful bool // a test's, whose server may lose what it committed; nothing outside can set it
}

// cli is every command.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Run the daemon."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the database's schema up."`
	Add        addCmd        `cmd:"" help:"Add a follow-up."`
	List       listCmd       `cmd:"" help:"List follow-ups: what is not over, the earliest due first; then what is, the newest first."`
	Show       showCmd       `cmd:"" help:"Tell the whole story of one follow-up."`
	Approve    approveCmd    `cmd:"" help:"Approve a call: it becomes due."`
	Decline    declineCmd    `cmd:"" help:"Decline a call: it is refused."`
	Settle     settleCmd     `cmd:"" help:"Say whether an uncertain call rang."`
	Cancel     cancelCmd     `cmd:"" help:"Withdraw a promise that is not being rung yet."`
	Reschedule rescheduleCmd `cmd:"" help:"Cancel a follow-up and make its successor."`
	Stop       stopCmd       `cmd:"" help:"Stop ringing: everything, a tenant or a line."`
	Resume     resumeCmd     `cmd:"" help:"Lift a stop."`
	Release    releaseCmd    `cmd:"" help:"Lift the hold of all ringing that a daemon put up because its database may have forgotten attempts."`
	Check      checkCmd      `cmd:"" help:"Say whether a number may be called now, by anybody."`
	Report     reportCmd     `cmd:"" help:"Tell of a call that chasephone did not place."`
	Dnc        dncCmd        `cmd:"" help:"The do-not-call list."`
	Consent    consentCmd    `cmd:"" help:"Consents on file, where a calling rule needs one."`
	Tenant     tenantCmd     `cmd:"" help:"The tenants, and which of their calls a person must see first."`
	Line       lineCmd       `cmd:"" help:"The lines that calls go out on."`
	Bridge     bridgeCmd     `cmd:"" help:"Bridge what carriers have reported to contacts, threads and messages."`
	Doctor     doctorCmd     `cmd:"" help:"Show the rules in force, and look for what keeps calls from being rung."`
	CarrierSim carrierSimCmd `cmd:"" name:"carrier-sim" help:"Run the simulated telephone company."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// run is the whole program but for the process around it; it returns the exit code.
func run(ctx context.Context, p process) (code int) {
	var c cli
	exit := -1 // kong leaves through here after --help
	parser, err := kong.New(&c,
		kong.Name("chasephone"),
		kong.Description("Keeps a business's promises to call people back."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { exit = code; panic(left{}) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		return p.fail(err)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case left:
			code = exit
		default:
			panic(r)
		}
	}()
	for _, arg := range p.args {
		if !utf8.ValidString(arg) {
			return p.misuse(fmt.Errorf("the argument %q is not UTF-8", arg))
		}
	}
	command, err := parser.Parse(p.args)
	if err != nil {
		return p.misuse(err)
	}
	return p.fail(command.Run())
}

// left is how kong's exit unwinds the stack.
type left struct{}

// fail says what went wrong, once, and how the process ends.
func (p process) fail(err error) int {
	var (
		mistakes config.Mistakes
		misuse   *desk.Misuse
		no       answeredNo
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &no): // it is printed
		return exitFailed
	case errors.As(err, &mistakes):
		_, _ = fmt.Fprintf(p.stderr, "chasephone: the environment has %d mistake(s):\n%s\n", len(mistakes), mistakes)
		return exitMisuse
	case errors.As(err, &misuse):
		return p.misuse(misuse)
	}
	_, _ = fmt.Fprintln(p.stderr, "chasephone:", oneLine(err))
	return exitFailed
}

func (p process) misuse(err error) int {
	_, _ = fmt.Fprintln(p.stderr, "chasephone:", oneLine(err))
	return exitMisuse
}

// oneLine is an error as one line that holds no number, and nothing that acts on a terminal.
func oneLine(err error) string {
	return telemetry.MaskText(plain(strings.Join(strings.Fields(err.Error()), " ")))
}

// by is the name that a decision is recorded under.
type by struct {
	By *string `help:"Who decides (default: the operating system's user)." placeholder:"NAME"`
}

func (b by) name() string {
	if b.By != nil {
		return *b.By // given empty, by a variable that is not set, it is a mistake and not somebody
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// connections a command needs.
const commandConns = 4

// open reads the environment and connects to the database, for a command that needs both.
func (p process) open(ctx context.Context) (*store.Store, config.Config, error) {
	c, err := config.Load(p.environ, config.Options{})
	if err != nil {
		return nil, c, err
	}
	db, err := store.Connect(ctx, c.Database.URL.Reveal(), commandConns)
	if err != nil {
		return nil, c, err
	}
	db.With(store.Config{Gates: gateOptions(c), Defaults: defaults(c)})
	if err := db.Usable(ctx); err != nil {
		db.Close()
		return nil, c, err
	}
	return db, c, nil
}

// openAs is open for a command that records who gave it.
func (p process) openAs(ctx context.Context, b by) (*store.Store, config.Config, string, error) {
	who, err := desk.Person(b.name())
	if err != nil {
		return nil, config.Config{}, "", err
	}
	db, conf, err := p.open(ctx)
	return db, conf, who, err
}

func defaults(c config.Config) store.Defaults {
	return store.Defaults{Region: c.Intake.Region, Countries: c.Gates.Countries}
}

// identify works out a number's identity, once, when its row comes in.
func identify(raw, region string) (phone.Identity, phone.Problem) { return phone.Parse(raw, region) }
