package sim

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
)

// A call looks as Twilio's own OpenAPI document, which lies beside the repository, says.
func TestCallLooksLikeTwilios(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../shared/contracts/twilio_api_v2010.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Twilio's OpenAPI document is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Nullable bool `json:"nullable"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	want := document.Components.Schemas["api.v2010.account.call"].Properties
	if len(want) == 0 {
		t.Fatal("the document says nothing of calls")
	}
	call := newCompany(t, Options{}).place(t, form(plainTo))
	for name, property := range want {
		if v, ok := call[name]; !ok || v == nil && !property.Nullable {
			t.Errorf("%s is %v", name, v)
		}
	}
	for name := range call {
		if _, ok := want[name]; !ok {
			t.Errorf("Twilio's calls have no %s", name)
		}
	}
}
