package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chasephone/config"
	"chasephone/internal/store"
)

// otherSettings says where live daemons have other gate settings than this command's
// environment: what it says of a call is then not what they will say.
func otherSettings(ctx context.Context, db *store.Store, conf config.Config) ([]note, error) {
	daemons, err := db.Daemons(ctx)
	if err != nil {
		return nil, err
	}
	return differing(daemons, conf.Gates.Settings()), nil
}

// differing has one note for each way in which daemons differ, however many do.
func differing(daemons []store.Daemon, own map[string]string) []note {
	daemons = slices.SortedFunc(slices.Values(daemons), func(a, b store.Daemon) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID))
	})
	var ways []string // in the daemons' order
	same := map[string][]store.Daemon{}
	for _, d := range daemons {
		how := differs(d.Gates, own)
		if how == "" {
			continue
		}
		if same[how] == nil {
			ways = append(ways, how)
		}
		same[how] = append(same[how], d)
	}
	all := make([]note, len(ways))
	for i, how := range ways {
		first, others := same[how][0], len(same[how])-1
		all[i] = note(fmt.Sprintf("daemon on %s (pid %d)%s has %s", first.Host, first.PID, only(others > 0, fmt.Sprintf(", like %d more,", others)), how))
	}
	return all
}

// differs names each setting that a daemon has otherwise; one of a release that did not tell its
// settings differs in none.
func differs(theirs, own map[string]string) string {
	if len(theirs) == 0 {
		return ""
	}
	names := slices.Collect(maps.Keys(theirs))
	names = slices.AppendSeq(names, maps.Keys(own))
	slices.Sort(names)
	var all []string
	for _, name := range slices.Compact(names) {
		if a, b := theirs[name], own[name]; a != b {
			all = append(all, fmt.Sprintf("%s=%s, this command's environment has %s", name, either(a, "(unset)"), either(b, "it unset")))
		}
	}
	return strings.Join(all, "; ")
}
