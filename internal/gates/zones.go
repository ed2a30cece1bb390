package gates

import (
	"fmt"
	"strings"
	"sync"
	"time"

	// The rules of every zone are built in. Where a machine has its own they are used, being
	// newer as a rule; where it has none a zone must not be missing, least of all become UTC.
	_ "time/tzdata"
)

// zones loads time zones once: loading one takes as long as judging a hundred calls.
type zones struct {
	mu     sync.RWMutex
	loaded map[string]*time.Location
}

// load gives the zone of an IANA name.
func (z *zones) load(name string) (*time.Location, error) {
	z.mu.RLock()
	loc := z.loaded[name]
	z.mu.RUnlock()
	if loc != nil {
		return loc, nil
	}
	if !zoneName(name) {
		return nil, fmt.Errorf("%q is not the name of a time zone", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	// Only what could be loaded is kept, so a mistyped name costs no memory.
	z.loaded[name] = loc
	return loc, nil
}

// KnownZone reports whether a name is a time zone that the gates can judge by.
func KnownZone(name string) bool {
	if !zoneName(name) {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// zoneName keeps out what time.LoadLocation understands and no person's clock is called: "" is
// UTC to it, "Local" the machine's own zone, and a path below its folder may be anything: the
// machine's zone again ("localtime") or one with leap seconds ("right/…"). Every part of a real
// name begins with a capital letter.
func zoneName(name string) bool {
	if name == "Local" || name == "Factory" || len(name) > 64 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] < 'A' || part[0] > 'Z' {
			return false
		}
		for _, r := range part {
			if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("_+-", r) {
				continue
			}
			return false
		}
	}
	return true
}
