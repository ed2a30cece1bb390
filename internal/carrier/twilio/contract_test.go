package twilio

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"testing"
)

// What Twilio's own OpenAPI document says of a form.
type contract struct {
	Properties map[string]struct {
		Type    string   `json:"type"`
		Enum    []string `json:"enum"`
		Pattern string   `json:"pattern"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// createCallContract reads the document, which lies beside the repository, not in it.
func createCallContract(t *testing.T) contract {
	t.Helper()
	raw, err := os.ReadFile("../../../../shared/contracts/twilio_api_v2010.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Twilio's OpenAPI document is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct {
						Schema contract `json:"schema"`
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	form, ok := document.Paths["/2010-04-01/Accounts/{AccountSid}/Calls.json"].Post.RequestBody.Content["application/x-www-form-urlencoded"]
	if !ok || len(form.Schema.Properties) == 0 {
		t.Fatal("the document has no form for creating a call")
	}
	return form.Schema
}

func TestFormKeepsTwiliosContract(t *testing.T) {
	t.Parallel()
	want := createCallContract(t)
	a := newAccount(t, "http://127.0.0.1:1", "https://calls.example.com")
	words := testCall()
	words.Extension = "44"
	speaks := testCall()
	speaks.URL = "https://voice.example.com/"
	all := url.Values{}
	for _, call := range []struct {
		name string
		form func() url.Values
	}{
		{"words", func() url.Values { form, _ := a.form(words); return form }},
		{"URL", func() url.Values { form, _ := a.form(speaks); return form }},
	} {
		form := call.form()
		for _, name := range want.Required {
			if form.Get(name) == "" {
				t.Errorf("%s: %s is required and not sent", call.name, name)
			}
		}
		for name, values := range form {
			property, ok := want.Properties[name]
			if !ok {
				t.Errorf("%s: Twilio knows no parameter %s", call.name, name)
				continue
			}
			if len(values) > 1 && property.Type != "array" {
				t.Errorf("%s: %s is sent %d times and is %s", call.name, name, len(values), property.Type)
			}
			for _, v := range values {
				if property.Enum != nil && !slices.Contains(property.Enum, v) {
					t.Errorf("%s: %s=%q is not one of %q", call.name, name, v, property.Enum)
				}
				if property.Pattern != "" && !regexp.MustCompile(property.Pattern).MatchString(v) {
					t.Errorf("%s: %s=%q does not match %s", call.name, name, v, property.Pattern)
				}
			}
			all[name] = values
		}
		if form.Has("Twiml") == form.Has("Url") {
			t.Errorf("%s: Twilio ignores Twiml where there is a Url", call.name)
		}
	}
	if len(all) != 8 {
		t.Errorf("%d parameters were looked at: %v", len(all), all)
	}
}
