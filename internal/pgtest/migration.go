package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"chasephone/internal/store"
)

// Migration makes the schema that the tests' databases begin with.
type Migration struct {
	// Hash names what Up makes: databases of one name are copies of one template. Where
	// the server is not ours the template outlives the run, so whatever changes the
	// schema must change the name.
	Hash func() (string, error)

	// Up migrates the empty database at url. It must leave no connection open.
	Up func(ctx context.Context, url string) error
}

// schema is the migration behind New and URL: the product's own.
func schema() Migration {
	return Migration{
		Hash: func() (string, error) {
			all, err := store.Migrations()
			if err != nil {
				return "", err
			}
			sum := sha256.New()
			for _, m := range all {
				sum.Write([]byte(m.Checksum))
			}
			return hex.EncodeToString(sum.Sum(nil)), nil
		},
		Up: func(ctx context.Context, url string) error {
			db, err := store.Connect(ctx, url, 4)
			if err != nil {
				return err
			}
			defer db.Close()
			_, err = db.Migrate(ctx)
			return err
		},
	}
}
