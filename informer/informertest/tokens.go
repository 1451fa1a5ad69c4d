package informertest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	defaultTokenSeconds = 3600
	minTokenSeconds     = 600
)

// claims are the content of a token. It has the form of a JSON Web Token and is
// not signed: the server accepts every request anyway.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	UID      string   `json:"uid"`
}

const tokenIssuer = "https://informertest.invalid"

// issueToken issues a token for a service account.
func (cl *call) issueToken() error {
	kind := schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
	other, request, _, err := cl.sent(kind)
	if err != nil {
		return err
	}
	account, err := cl.server.store.get(cl.c, cl.target.namespace, cl.target.name)
	if err != nil {
		return err
	}
	seconds, given, _ := unstructured.NestedInt64(request.Object, "spec", "expirationSeconds")
	if !given {
		seconds = defaultTokenSeconds
	}
	if seconds < minTokenSeconds {
		return apierrors.NewInvalid(kind.GroupKind(), "", field.ErrorList{
			field.Invalid(field.NewPath("spec", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"),
		})
	}
	audiences, _, _ := unstructured.NestedStringSlice(request.Object, "spec", "audiences")
	if len(audiences) == 0 {
		audiences = []string{tokenIssuer}
	}
	issued := time.Now()
	expires := issued.Add(time.Duration(seconds) * time.Second)
	request.SetName(account.name)
	request.SetNamespace(account.namespace)
	request.SetCreationTimestamp(now())
	spec, ok := request.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		request.Object["spec"] = spec
	}
	spec["expirationSeconds"], spec["audiences"] = seconds, anySlice(audiences)
	request.Object["status"] = map[string]any{
		"expirationTimestamp": expires.UTC().Format(time.RFC3339),
		"token": claims{
			Issuer: tokenIssuer, Subject: "system:serviceaccount:" + account.namespace + ":" + account.name,
			Audience: audiences, Issued: issued.Unix(), Expires: expires.Unix(), UID: account.uid,
		}.token(),
	}
	return other.answer(http.StatusCreated, request.Object)
}

// token is the text of a token with these claims.
func (c claims) token() string {
	body, _ := json.Marshal(c) // strings and numbers always have a JSON form
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(body) + "." + encode([]byte("informertest"))
}

// parseToken reads the claims of a token of this server.
func parseToken(token string) (claims, bool) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &c) != nil {
		return c, false
	}
	return c, c.Issuer == tokenIssuer && time.Now().Unix() < c.Expires
}

// reviewToken says whose token it is.
func (cl *call) reviewToken(question *unstructured.Unstructured) (map[string]any, error) {
	token, _, _ := unstructured.NestedString(question.Object, "spec", "token")
	if token == "" {
		return nil, cl.invalid(field.Required(field.NewPath("spec", "token"), "a token to review is required"))
	}
	c, ok := parseToken(token)
	if !ok {
		return map[string]any{"user": map[string]any{}, "error": "[invalid bearer token]"}, nil
	}
	namespace, _, _ := strings.Cut(strings.TrimPrefix(c.Subject, "system:serviceaccount:"), ":")
	return map[string]any{
		"authenticated": true, "audiences": anySlice(c.Audience),
		"user": map[string]any{
			"username": c.Subject, "uid": c.UID,
			"groups": []any{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		},
	}, nil
}
