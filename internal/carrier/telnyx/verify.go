package telnyx

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"chasephone/internal/carrier"
)

// tolerance is how far a webhook's time may be from ours.
const tolerance = 5 * time.Minute

// ErrStale says that a webhook was signed by Telnyx, but not within the last five minutes (or
// that it will be only in five minutes or more): somebody may be sending an old one again.
var ErrStale = fmt.Errorf("%w: it was signed too long ago, or not yet", carrier.ErrStale)

var (
	errNoKey    = errors.New("the account has no public key to judge by")
	errUnsigned = errors.New("there is no signature, or no time of it")
	errForged   = errors.New("the signature is not Telnyx's for this account")
)

// Verify says why d was not signed for this account, not long ago, if it was not. What is signed is
// the time and the body, byte for byte, and not where it was sent: the token in the path is
// nobody's word.
func (a *Carrier) Verify(d carrier.Delivery) error {
	if a.key == nil {
		return errNoKey
	}
	if d.Header == nil {
		return errUnsigned
	}
	at, text := d.Header("telnyx-timestamp"), d.Header("telnyx-signature-ed25519")
	sent, err := strconv.ParseInt(at, 10, 64)
	if err != nil || text == "" {
		return errUnsigned
	}
	// In its one spelling: the decoder passes over ends of lines, and over bits that stand for nothing.
	signature, err := base64.StdEncoding.Strict().DecodeString(text)
	whole := err == nil && len(signature) == ed25519.SignatureSize && len(text) == base64.StdEncoding.EncodedLen(ed25519.SignatureSize)
	if !whole || !ed25519.Verify(a.key, slices.Concat([]byte(at), []byte("|"), d.Body), signature) {
		return errForged
	}
	if age := a.now().Unix() - sent; age > int64(tolerance.Seconds()) || age < -int64(tolerance.Seconds()) {
		return ErrStale
	}
	return nil
}
