package followup

// LineID names a line: tenants name their own.
type LineID struct {
	Tenant string
	Name   string
}
