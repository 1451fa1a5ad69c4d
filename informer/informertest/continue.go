package informertest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// continueToken is where a list goes on. Clients must treat its form as opaque.
type continueToken struct {
	rv    uint64 // 0: the latest state, when the one it was is lost
	start string // the first key that may follow
}

// continueVersion is what every token says of its own form.
const continueVersion = "meta.k8s.io/v1"

// tokenForm is the JSON within a token.
type tokenForm struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"` // -1 for the latest
	Start   string `json:"start"`
}

// String encodes the token.
func (t continueToken) String() string {
	form := tokenForm{continueVersion, int64(t.rv), t.start}
	if t.rv == 0 {
		form.RV = -1
	}
	b, _ := json.Marshal(form) // strings and a number always have a JSON form
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
	switch {
	case form.RV == -1:
		return continueToken{start: form.Start}, nil
	case form.RV <= 0:
		return continueToken{}, errors.New("token names no version")
	}
	return continueToken{uint64(form.RV), form.Start}, nil
}
