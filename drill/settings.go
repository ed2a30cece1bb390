package main

import "time"

// What the fleet is told, and what follows from it. A person may say "it did not ring" once
// answer_by and the quarantine are over: at the earliest sendWindow + dialTimeout + quarantine
// after an attempt's turn. Until then everything that the drill holds up must have reached the
// carrier (sendWindow + longestStuck + longestFreeze), or the residual that the README names
// would be found again and again: TestTheDrillIsFair.
const (
	tick        = time.Second
	perTick     = 2
	retryAfter  = 3 * time.Second
	maxLate     = 24 * time.Hour
	dialTimeout = 2 * time.Second
	quarantine  = 12 * time.Second
	sendWindow  = 5 * time.Second // chasephone's own

	latency      = 250 * time.Millisecond // of every answer of the carrier
	statusDelay  = 250 * time.Millisecond // between two webhooks of a call
	longestPause = 7 * time.Second        // of a daemon: past send_by
	shortPause   = 5500 * time.Millisecond
	longestStuck = 5 * time.Second // of a request that the daemon has given up
	longestSleep = 5 * time.Second // of the carrier
)

const (
	accountSID = "AC00000000000000000000000000000001"
	authToken  = "the-drills-own"
	callerOf   = "+12125550100"
)

// limits are the daemons' environment, but for addresses.
func limits() []string {
	return []string{
		"PHONE_FOLLOWUP_TICK=" + tick.String(), "PHONE_FOLLOWUP_PER_TICK=2", "PHONE_FOLLOWUP_DRAINERS=3", "PHONE_FOLLOWUP_RETRY_AFTER=" + retryAfter.String(),
		"PHONE_FOLLOWUP_DIAL_TIMEOUT=" + dialTimeout.String(), "PHONE_FOLLOWUP_QUARANTINE=" + quarantine.String(),
		"GATE_CALLING_HOURS=off", "CARRIER_ALLOW_LOOPBACK=on",
		"TWILIO_ACCOUNT_SID=" + accountSID, "TWILIO_AUTH_TOKEN=" + authToken, "TWILIO_FROM=" + callerOf, "TWILIO_CALLS_PER_SECOND=0",
		"METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0",
		"GORACE=halt_on_error=1", "LOG_LEVEL=debug",
	}
}
