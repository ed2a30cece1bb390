package sequences_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// In memory there are thirty of these at once, and each has as many sequences as -rapid.checks says (100).
func TestSequencesInMemory(t *testing.T) {
	t.Parallel()
	for i := range 30 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(t.Fatalf, newWorld(newMemory(flawless), flawless))
				defer m.close()
				m.run(t)
			})
		})
	}
}

// Over both stores: whatever happens, PostgreSQL and the reference show the same.
func TestSequencesOverBothStores(t *testing.T) {
	t.Parallel()
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := newPostgres(t)
			rapid.Check(t, func(t *rapid.T) {
				if err := db.begin(); err != nil {
					t.Fatal(err)
				}
				m := newMachine(t.Fatalf, newWorld(newMemory(flawless), flawless), newWorld(db, flawless))
				defer m.close()
				m.run(t)
			})
		})
	}
}
