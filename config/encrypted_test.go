package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chasephone/config"
)

// authority writes a certificate that a connection may go by.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ours"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plainDatabase is the mistake that a database in the clear is, or nil.
func plainDatabase(t *testing.T, environ ...string) *config.Mistake {
	t.Helper()
	_, err := config.Load(environ, config.Options{})
	if err == nil {
		return nil
	}
	found, ok := err.(config.Mistakes) //nolint:errorlint // Load says that it is one
	if !ok || len(found) != 1 || found[0].Name != "DATABASE_URL" {
		t.Fatalf("%q: %v", environ, err)
	}
	return &found[0]
}

// A database over a network is reached with TLS, whatever way its address is written.
func TestDatabaseInTheClear(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	for address, accepted := range map[string]bool{
		"postgres://u:hunter2@db.example.com/x":                                                 false, // prefer, which falls back
		"postgres://u:hunter2@db.example.com/x?sslmode=":                                        false,
		"postgres://u:hunter2@db.example.com/x?sslmode=disable":                                 false,
		"postgres://u:hunter2@db.example.com/x?sslmode=allow":                                   false,
		"postgres://u:hunter2@db.example.com/x?sslmode=prefer":                                  false,
		"postgres://u:hunter2@db.example.com/x?ssl=true":                                        true, // as other clients write it
		"postgres://u:hunter2@db.example.com/x?sslmode=require":                                 true,
		"postgres://u:hunter2@db.example.com/x?sslmode=verify-ca&sslrootcert=" + ca:             true,
		"postgres://u:hunter2@db.example.com/x?sslmode=verify-full":                             true,
		"postgres://u:hunter2@db.example.com/x?sslmode=verify-full&sslrootcert=" + ca:           true,
		"postgres://u:hunter2@10.0.0.5/x":                                                       false, // private is not encrypted
		"postgres://u:hunter2@db/x":                                                             false,
		"postgres://u:hunter2@localhost.example.com/x":                                          false,
		"postgres://u:hunter2@db.localhost/x":                                                   false,
		"postgres://u:hunter2@0.0.0.0/x":                                                        false,
		"postgres://u:hunter2@[2001:db8::1]/x":                                                  false,
		"postgres://localhost/x":                                                                true,
		"postgres://LOCALHOST:5433/x?sslmode=disable":                                           true,
		"postgres://127.0.0.1/x":                                                                true,
		"postgres://127.8.8.8:6432/x?sslmode=disable":                                           true,
		"postgres://[::1]/x":                                                                    true,
		"postgres://[::ffff:127.0.0.1]/x":                                                       true,
		"postgres:///x?host=/run/postgresql":                                                    true,
		"postgres:///x?host=db.example.com":                                                     false,
		"postgres://localhost/x?host=db.example.com":                                            false, // the later one counts
		"postgres://localhost,db.example.com/x":                                                 false, // one of several is enough
		"postgres://db.example.com,localhost/x?sslmode=disable":                                 false,
		"postgres://localhost,127.0.0.1/x":                                                      true,
		"postgres://a.example.com:1,b.example.com:2/x?sslmode=require":                          true,
		"postgres://a.example.com,b.example.com/x?sslmode=allow":                                false,
		"postgres://db.example.com/x?sslmode=disable&sslmode=require":                           true,
		"postgres://db.example.com/x?sslmode=require&sslmode=disable":                           false,
		"postgres://db.example.com/x?sslmode=disable&sslrootcert=" + ca:                         false,
		"postgres://db.example.com/x?sslnegotiation=direct":                                     true, // TLS from the first byte
		"host=db.example.com dbname=x password=hunter2":                                         false,
		"host=db.example.com dbname=x password=hunter2 sslmode=prefer":                          false,
		"host=db.example.com dbname=x sslmode=verify-full":                                      true,
		"host = 'db.example.com' sslmode = 'require'":                                           true,
		"host=/run/postgresql dbname=x":                                                         true,
		"host=localhost,db.example.com dbname=x password=hunter2":                               false,
		"host=localhost dbname=x":                                                               true,
		"dbname=x host=127.0.0.1 hostaddr=127.0.0.1":                                            true,
		"user=hunter2 host=db.example.com sslmode=disable sslmode=require":                      true,
		"user=hunter2 host=db.example.com sslmode=require sslmode=disable":                      false,
		"postgres://u:hunter2@db.example.com/x?sslmode=require&target_session_attrs=read-write": true,
	} {
		m := plainDatabase(t, "DATABASE_URL="+address)
		if (m == nil) != accepted {
			t.Errorf("%s: %v", address, m)
		}
		if m != nil && (!strings.Contains(m.Text, "add sslmode=verify-full, or at least sslmode=require") || strings.Contains(m.Error(), "hunter2")) {
			t.Errorf("%s: %v", address, m)
		}
		if m := plainDatabase(t, "DATABASE_URL="+address, "DATABASE_ALLOW_PLAIN=on"); m != nil {
			t.Errorf("%s, allowed: %v", address, m)
		}
	}
	c := load(t, config.Options{}, "DATABASE_URL=postgres://db/x", "DATABASE_ALLOW_PLAIN=on")
	if w := c.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], "DATABASE_ALLOW_PLAIN is on") {
		t.Errorf("warnings %q", w)
	}
	load(t, config.Options{Embedded: true}, "DATABASE_URL=postgres://db.example.com/x")
	m := plainDatabase(t, "DATABASE_URL=postgres://u:hunter2@db.example.com/x?sslmode=verify-full&sslrootcert=/nowhere/ca.pem")
	if m == nil || !strings.Contains(m.Text, "(sslrootcert, sslcert, sslkey) cannot: no such file") || strings.Contains(m.Error(), "hunter2") {
		t.Errorf("a file that is not there: %v", m)
	}
}

// What pgx takes from the process's own environment counts: it is what is connected to.
func TestDatabaseInTheClearByTheProcess(t *testing.T) {
	services := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(services, []byte("[away]\nhost=db.example.com\nsslmode=disable\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address, name, value string
		accepted             bool
	}{
		{"postgres://db.example.com/x", "PGSSLMODE", "require", true},
		{"postgres://db.example.com/x?sslmode=require", "PGSSLMODE", "disable", true}, // the address says otherwise
		{"postgres://db.example.com/x?sslmode=disable", "PGSSLMODE", "require", false},
		{"dbname=x", "PGHOST", "db.example.com", false},
		{"postgres:///x", "PGHOST", "localhost,db.example.com", false},
		{"postgres:///x", "PGHOST", "localhost", true},
		{"postgres:///x?service=away&servicefile=" + services, "PGSSLMODE", "require", false},
		{"postgres:///x?servicefile=" + services, "PGSERVICE", "away", false},
	} {
		t.Run(c.address, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			if m := plainDatabase(t, "DATABASE_URL="+c.address); (m == nil) != c.accepted {
				t.Errorf("%s=%s: %v", c.name, c.value, m)
			}
		})
	}
}
