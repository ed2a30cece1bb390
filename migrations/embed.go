// Package migrations holds the schema as files that only go forward. Code of the release
// before runs on the schema of the release after.
package migrations

import "embed"

// Files are the migrations NNN_name.sql, applied in order of their number.
//
//go:embed *.sql
var Files embed.FS
