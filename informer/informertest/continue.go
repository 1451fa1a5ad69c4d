package informertest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// continueToken is where a list goes on. Clients must treat its form as opaque.
type continueToken struct {
	rv    uint64 // 0: the latest state
	start string // the first key that may follow
}

// continueVersion is what every token says of its own form.
const continueVersion = "meta.k8s.io/v1"

// tokenForm is the JSON within a token.
type tokenForm struct {
	Version string `json:"v"`
	RV      uint64 `json:"rv"`
	Start   string `json:"start"`
}

// String encodes the token.
func (t continueToken) String() string {
	b, _ := json.Marshal(tokenForm{continueVersion, t.rv, t.start}) // strings and a number always have a JSON form
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseContinue decodes a token.
func parseContinue(s string) (continueToken, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return continueToken{}, errors.New("not base64")
	}
	var form tokenForm
	if err := json.Unmarshal(raw, &form); err != nil {
		return continueToken{}, errors.New("not a token of this server")
	}
	if form.Version != continueVersion {
		return continueToken{}, errors.New("token of an unknown version")
	}
	if form.Start == "" {
		return continueToken{}, errors.New("token names no key")
	}
	return continueToken{form.RV, form.Start}, nil
}
