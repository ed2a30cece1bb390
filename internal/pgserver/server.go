package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// Options say where the server's data is and how it runs.
type Options struct {
	// DataDir is the folder of everything the server keeps; made with mode 0700 if it is
	// not there. It must be on a local disk, and as root below folders that anybody may
	// enter: /var/lib/chasephone/postgres, not something in /root.
	DataDir string

	// Binaries is a folder that holds initdb and postgres, or whose bin does. When it is
	// empty they are looked for; see findBinaries.
	Binaries string

	// Log gets the server's own messages. They carry no statement and no value of a row.
	// Nil drops them.
	Log *slog.Logger

	// FsyncOff gives up durability for speed. For tests: what is committed survives the
	// death of every process, but after a crash of the machine the data may be damaged.
	FsyncOff bool
}

// Server is a running PostgreSQL.
type Server struct {
	url  string
	done chan struct{}
	stop func() error
}

// Start starts the server on o.DataDir, making the folder and the database "chasephone" if
// they are not there, and returns when it takes connections. ctx bounds the start only; give
// it a deadline, but a generous one: after a crash PostgreSQL reads its log again first.
//
// It returns ErrInUse if another living process has the folder.
func Start(ctx context.Context, o Options) (*Server, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("component", "postgres")

	f, err := openFolder(o.DataDir)
	if err != nil {
		return nil, err
	}
	claimed, err := f.claim(ctx)
	if err != nil {
		return nil, err
	}
	server, err := startClaimed(ctx, f, claimed, o, log)
	if err != nil {
		claimed.release()
		// A program that was killed for ctx says only that it was killed.
		if given := context.Cause(ctx); given != nil && !errors.Is(err, given) {
			err = fmt.Errorf("%w (%w)", given, err)
		}
		return nil, withCure(fmt.Errorf("start PostgreSQL on %s: %w", f.path, err))
	}
	return server, nil
}

func startClaimed(ctx context.Context, f folder, claimed *claim, o Options, log *slog.Logger) (*Server, error) {
	if err := stopOrphan(ctx, f.pgdata(), log); err != nil {
		return nil, err
	}
	if err := f.disown(); err != nil {
		return nil, err
	}
	made, err := f.dataMajor()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, o.Binaries, made)
	if err != nil {
		return nil, err
	}
	if err := f.owner.mustReach(ctx, f.path, bin.dir); err != nil {
		return nil, err
	}
	if made == "" {
		if err := f.initdb(ctx, bin, claimed.helper, o.FsyncOff); err != nil {
			return nil, err
		}
	}
	password, err := f.password()
	if err != nil {
		return nil, err
	}
	l := launcher{folder: f, binaries: bin, claim: claimed, password: password, fsyncOff: o.FsyncOff, log: log}
	h, port, err := l.launch(ctx)
	if err != nil {
		return nil, err
	}
	log.Info("PostgreSQL is running",
		"version", bin.version, "folder", f.path, "user", f.owner.name, "port", port)
	done := make(chan struct{})
	go func() {
		<-h.done
		claimed.release()
		close(done)
	}()
	stop := sync.OnceValue(func() error {
		err := h.stop()
		<-done // the folder is free
		return err
	})
	return &Server{url: connURL(password, port, databaseName), done: done, stop: stop}, nil
}

// URL is the postgres:// address of the database "chasephone", password included.
func (s *Server) URL() string { return s.url }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop stops the server: sessions are cut, their transactions rolled back, everything
// committed is on disk. It returns when the server has ended, and the folder is free then.
// Calling it again gives the same answer. If the server had ended by itself, the error says
// what its last words were.
func (s *Server) Stop() error { return s.stop() }

// Discard deletes the folder of a server that is not running, stopping an orphan first. It
// returns ErrInUse, and deletes nothing, if a living process has the folder.
func Discard(ctx context.Context, dataDir string) error {
	f, err := openFolder(dataDir)
	if err != nil {
		return err
	}
	claimed, err := f.claim(ctx)
	if err != nil {
		return err
	}
	defer claimed.release()
	if err := stopOrphan(ctx, f.pgdata(), slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("discard %s: %w", f.path, err)
	}
	return f.remove()
}
