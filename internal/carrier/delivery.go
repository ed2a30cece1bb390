package carrier

import "errors"

// What a delivery can be, besides signed by an account and forged. Whoever verifies wraps these;
// any other error of his says that it is forged.
var (
	// ErrMalformed says that it is nothing of which a signature could be checked.
	ErrMalformed = errors.New("not in a form that can be verified")
	// ErrStale says that it was signed, but too long ago, or too far ahead of this machine's clock.
	ErrStale = errors.New("not signed just now")
)
