package proof_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// statement is one SQL statement of the product's source.
type statement struct {
	name    string // the constant's, or the function's that it stands in
	file    string
	text    string // as far as it is written there
	pattern *regexp.Regexp
}

// statements are all of them, and name what is sent by what is written.
type statements struct {
	all   []statement
	known sync.Map // text as sent, to *statement
}

var beginsLikeSQL = regexp.MustCompile(`(?is)^\s*(--[^\n]*\n\s*)*(select|insert|update|delete|with|lock|begin)\b`)

// readStatements finds the statements in the files of some folders.
func readStatements(t testing.TB, folders ...string) *statements {
	t.Helper()
	s := &statements{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		source := sourceOf{consts: map[string]ast.Expr{}}
		var parsed []*ast.File
		var names []string
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed, names = append(parsed, file), append(names, filepath.Base(name))
			source.collect(file)
		}
		for i, file := range parsed {
			s.all = append(s.all, source.statements(names[i], file)...)
		}
	}
	if len(s.all) == 0 {
		t.Fatalf("no statements in %v", folders)
	}
	return s
}

// sourceOf is a package's source: its constants by name.
type sourceOf struct{ consts map[string]ast.Expr }

func (s sourceOf) collect(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					s.consts[name.Name] = spec.Values[i]
				}
			}
		}
		return true
	})
}

// hole is what only the running program knows, in a statement that is put together.
const hole = "\x00"

// text is a string expression with its holes; "" where it is none.
func (s sourceOf) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			if left := s.text(e.X); left != "" {
				return left + orHole(s.text(e.Y))
			}
		}
	case *ast.Ident:
		if value, ok := s.consts[e.Name]; ok {
			return s.text(value)
		}
	case *ast.ParenExpr:
		return s.text(e.X)
	}
	return ""
}

func orHole(text string) string {
	if text == "" {
		return hole
	}
	return text
}

// statements are those of one file, each named for where it stands.
func (s sourceOf) statements(name string, file *ast.File) []statement {
	var all []statement
	count := map[string]int{}
	add := func(where, text string) {
		if !beginsLikeSQL.MatchString(text) {
			return
		}
		if count[where]++; count[where] > 1 {
			where += "·" + strconv.Itoa(count[where])
		}
		all = append(all, statement{name: where, file: name, text: text, pattern: pattern(text)})
	}
	walk := func(where string, node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			switch e.(type) {
			case *ast.BasicLit, *ast.BinaryExpr:
				if text := s.text(e); text != "" {
					add(where, text)
					return false
				}
			}
			return true
		})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				walk(d.Name.Name, d.Body)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 1 {
					walk(strings.TrimSuffix(v.Names[0].Name, "SQL"), v.Values[0])
				}
			}
		}
	}
	return all
}

var (
	parameter = regexp.MustCompile(`@[A-Za-z_][A-Za-z0-9_]*|\$\d+`)
	space     = regexp.MustCompile(`\s+`)
)

func normal(text string) string {
	return strings.TrimSpace(space.ReplaceAllString(parameter.ReplaceAllString(text, "?"), " "))
}

func pattern(text string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(normal(text))
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(quoted, hole, ".*") + "$")
}

// named is a statement by its text as it is sent; nil where the source has none such.
func (s *statements) named(sent string) *statement {
	if known, ok := s.known.Load(sent); ok {
		return known.(*statement)
	}
	text, best := normal(sent), (*statement)(nil)
	for i := range s.all {
		one := &s.all[i]
		if one.pattern.MatchString(text) && (best == nil || len(one.text) > len(best.text)) {
			best = one
		}
	}
	s.known.Store(sent, best)
	return best
}

// label is how a point names a statement.
func (s *statements) label(sent string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(sent), " ")
	switch word = strings.ToLower(strings.TrimSuffix(word, ";")); word {
	case "commit", "rollback", "savepoint", "release":
		if strings.HasPrefix(sent, "rollback to") {
			return "rollback to savepoint"
		}
		return word
	}
	if one := s.named(sent); one != nil {
		return one.name
	}
	return fmt.Sprintf("?%.60s", normal(sent))
}

// repository is the root of the source.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}

// write is one change of one table by a statement of the source.
type write struct{ statement, verb, table string }

func (w write) String() string { return w.statement + ": " + w.verb + " " + w.table }

var (
	noWrite = regexp.MustCompile(`(?i)for no key update( of \w+)?|for update( of \w+)?|do update`)
	writing = regexp.MustCompile(`(?i)\b(insert into|update|delete from)\s+([a-z_]+|\x00)`)
)

// writesIn are the changes that a text makes, as sent or as written.
func writesIn(statement, text string) (all []write) {
	for _, found := range writing.FindAllStringSubmatch(noWrite.ReplaceAllString(text, ""), -1) {
		verb, _, _ := strings.Cut(strings.ToLower(found[1]), " ")
		if one := (write{statement, verb, found[2]}); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
