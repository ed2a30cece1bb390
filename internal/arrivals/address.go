package arrivals

import (
	"net/url"
	"slices"
	"strings"
)

const (
	webhooks  = "/webhooks/"
	mostToken = 100 // bytes
)

// webhook is where a request was sent.
type webhook struct {
	carrier     Carrier
	kind, token string
	url         string // as the carrier was told it, and as the carrier signs it
}

// find says which webhook an address is. One that is not found may still name a carrier that
// is known.
//
// The URL is put together from PUBLIC_URL and never from what the request says of its host or
// its proxies, which whoever sends it can choose. The rest is as it came, query and all: a
// signature holds for what was signed and for nothing beside it.
func (h *Handler) find(asked *url.URL) (hook webhook, found bool) {
	path := h.belowPublic(asked.EscapedPath())
	rest, below := strings.CutPrefix(path, webhooks)
	if !below {
		return webhook{}, false
	}
	parts := strings.SplitN(rest, "/", 4) // the fourth is one too many
	i := slices.IndexFunc(h.Carriers, func(c Carrier) bool { return c.Name == parts[0] })
	if i < 0 {
		return webhook{}, false
	}
	hook.carrier = h.Carriers[i]
	switch {
	case len(parts) < 2 || len(parts) > 3:
		return hook, false
	case len(parts) == 3 && !isToken(parts[2]):
		return hook, false
	case len(parts) == 3:
		hook.token = parts[2]
	}
	hook.kind = parts[1]
	hook.url = strings.TrimRight(h.PublicURL, "/") + path
	if asked.RawQuery != "" || asked.ForceQuery {
		hook.url += "?" + asked.RawQuery
	}
	return hook, slices.Contains(hook.carrier.Kinds, hook.kind)
}

// belowPublic is a path without PUBLIC_URL's own, which a proxy may have left there or taken away.
func (h *Handler) belowPublic(path string) string {
	public, err := url.Parse(h.PublicURL)
	if err != nil {
		return path
	}
	rest, kept := strings.CutPrefix(path, strings.TrimRight(public.EscapedPath(), "/"))
	if kept && strings.HasPrefix(rest, webhooks) {
		return rest
	}
	return path
}

func isToken(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != "" && len(s) <= mostToken
}
