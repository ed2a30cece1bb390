// Package tuning is what a daemon's process is tuned to.
package tuning

// GCPercent is how much the heap may grow before it is collected, in percent of what is live
// (GOGC): a daemon's few megabytes would be collected many times a second while it drains, which
// costs it half of its work; at rest it stays far below 64 MiB.
const GCPercent = 400
