package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode"

	"chasephone/internal/desk"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

type dncImportCmd struct {
	File string `arg:"" help:"The file, or - for standard input: one number a line, or CSV with the number first. Empty lines and # comments are passed over."`
	whose
	spelled
	Source string `placeholder:"TEXT" help:"Where the list is from, for the record."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

// imported is what import prints as JSON. Lines that are no numbers are told on standard
// error, one by one, because there may be as many as there are lines.
type imported struct {
	Tenant string `json:"tenant_id"` // "" for every tenant
	Read   int    `json:"read"`
	Added  int    `json:"added"`
	Listed int    `json:"listed_already"`
	Bad    int    `json:"bad"`
}

func (c dncImportCmd) Run(ctx context.Context, p process) error {
	who, err := desk.Person(c.name())
	if err != nil {
		return err
	}
	in, err := c.open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	region, err := c.region(ctx, db, c.tenant())
	if err != nil {
		return err
	}
	i := importing{
		imported: imported{Tenant: c.tenant()}, region: region, told: p.stderr,
		put: func(numbers []phone.Number) (int, error) {
			return db.AddOptOuts(ctx, numbers, store.OptOut{Tenant: c.tenant(), Source: reason(c.Source), By: who})
		},
	}
	err = i.run(in)
	if c.JSON {
		err = errors.Join(err, printJSON(p.stdout, i.imported))
	} else {
		_, _ = fmt.Fprintf(p.stdout, "%d number(s) read: %d put on %s, %d on it already, %d line(s) bad\n",
			i.Read, i.Added, list(c.tenant()), i.Listed, i.Bad)
	}
	if err == nil && i.Bad > 0 {
		err = fmt.Errorf("%d line(s) were not imported, the others were: correct them and import them again", i.Bad)
	}
	return err
}

func (c dncImportCmd) open(ctx context.Context, p process) (io.ReadCloser, error) {
	if c.File == "-" {
		return p.input(ctx), nil
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, &desk.Misuse{Says: err.Error()}
	}
	return file, nil
}

const (
	// importBatch is how many numbers go into one statement, and are in memory at a time.
	importBatch = 5_000
	// longestLine is how much of a line is looked at, in bytes; the number comes first.
	longestLine = 4_096
)

// importing is an import under way.
type importing struct {
	imported
	region string
	told   io.Writer
	put    func([]phone.Number) (added int, err error)
	batch  []entry
	way    chan written // the batch before, on its way into the database; nil: none is
}

// written is what became of a batch.
type written struct {
	read, added int
	err         error
}

type entry struct {
	line    int
	raw     string
	number  phone.Number
	problem phone.Problem
}

func (i *importing) run(in io.Reader) error {
	r := bufio.NewReaderSize(in, longestLine)
	for no := 1; ; no++ {
		text, err := nextLine(r)
		if errors.Is(err, io.EOF) {
			return i.finish()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("reading line %d: %w", no, err), i.finish())
		}
		raw := firstColumn(text)
		if raw == "" || no == 1 && isHeading(raw) {
			continue
		}
		if i.batch = append(i.batch, entry{line: no, raw: raw}); len(i.batch) == importBatch {
			if err := i.flush(); err != nil {
				return err
			}
		}
	}
}

// finish puts what is left on the list.
func (i *importing) finish() error {
	if err := i.flush(); err != nil {
		return err
	}
	return i.settle()
}

// settle awaits the batch that is on its way.
func (i *importing) settle() error {
	if i.way == nil {
		return nil
	}
	w := <-i.way
	i.way = nil
	if w.err != nil {
		return fmt.Errorf("after %d numbers: %w", i.Read, w.err)
	}
	i.Read, i.Added, i.Listed = i.Read+w.read, i.Added+w.added, i.Listed+w.read-w.added
	return nil
}

// flush sends the batch on its way to the list and tells of its bad lines. While the database
// writes one, the numbers of the next are worked out.
func (i *importing) flush() error {
	if len(i.batch) == 0 {
		return nil
	}
	identifyAll(i.batch, i.region)
	numbers := make([]phone.Number, 0, len(i.batch))
	for _, e := range i.batch {
		if e.problem == "" {
			numbers = append(numbers, e.number)
			continue
		}
		i.Bad++
		_, _ = fmt.Fprintf(i.told, "line %d: %s\n", e.line, e.problem.Sentence())
	}
	i.batch = i.batch[:0]
	if err := i.settle(); err != nil {
		return err
	}
	way := make(chan written, 1)
	go func() {
		added, err := i.put(numbers)
		way <- written{len(numbers), added, err}
	}()
	i.way = way
	return nil
}

// identifyAll works numbers out on every core: it is most of an import's work.
func identifyAll(batch []entry, region string) {
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		part := batch[len(batch)*w/workers : len(batch)*(w+1)/workers]
		wait.Go(func() {
			for i := range part {
				id, problem := identify(part[i].raw, region)
				part[i].number, part[i].problem = id.Number, problem
			}
		})
	}
	wait.Wait()
}

// nextLine reads a line whatever its length, and keeps its beginning.
func nextLine(r *bufio.Reader) (string, error) {
	line, cut, err := r.ReadLine()
	text := string(line)
	for cut && err == nil {
		_, cut, err = r.ReadLine()
	}
	if errors.Is(err, io.EOF) && text != "" {
		err = nil // the last line, which ends where what is looked at of it does
	}
	return text, err
}

// firstColumn is the number in a line of a list or of CSV; "" where there is none.
func firstColumn(line string) string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if strings.HasPrefix(line, "#") {
		return ""
	}
	if quoted, found := strings.CutPrefix(line, `"`); found {
		column, _, _ := strings.Cut(quoted, `"`)
		return strings.TrimSpace(column)
	}
	column, _, _ := strings.Cut(line, "\t")
	column, _, _ = strings.Cut(column, ";")
	column, _, _ = strings.Cut(column, ",")
	return strings.TrimSpace(column)
}

// isHeading reports a first line that names the columns.
func isHeading(s string) bool {
	return strings.ContainsFunc(s, unicode.IsLetter) && !strings.ContainsFunc(s, unicode.IsDigit)
}
