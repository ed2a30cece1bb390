// Package telemetry is what the operator sees: log lines without telephone numbers, the
// registry that every package's metrics are registered with, and the small HTTP server: for
// the metrics and the daemon's health, and for whatever else is served.
//
// That no number is logged is the work of phone.Number, which prints masked. The masking
// here is the second line of defence, for numbers that come back in another's text: a
// carrier's answer, a database's error, a URL.
package telemetry
