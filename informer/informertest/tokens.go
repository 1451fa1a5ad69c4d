package informertest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	var request authenticationv1.TokenRequest
	kind := schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
	other, _, err := cl.sent(kind, &request)
	if err != nil {
		return err
	}
	account, err := cl.server.store.get(cl.c, cl.target.namespace, cl.target.name)
	if err != nil {
		return err
	}
	seconds := int64(defaultTokenSeconds)
	if request.Spec.ExpirationSeconds != nil {
		seconds = *request.Spec.ExpirationSeconds
	}
	if seconds < minTokenSeconds {
		return apierrors.NewInvalid(kind.GroupKind(), "", field.ErrorList{
			field.Invalid(field.NewPath("spec", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"),
		})
	}
	request.Spec.ExpirationSeconds = &seconds
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = []string{tokenIssuer}
	}
	issued := time.Now()
	expires := issued.Add(time.Duration(seconds) * time.Second)
	request.Name, request.Namespace, request.CreationTimestamp = account.name, account.namespace, now()
	request.Status = authenticationv1.TokenRequestStatus{
		ExpirationTimestamp: metav1.NewTime(expires).Rfc3339Copy(),
		Token: claims{
			Issuer: tokenIssuer, Subject: "system:serviceaccount:" + account.namespace + ":" + account.name,
			Audience: request.Spec.Audiences, Issued: issued.Unix(), Expires: expires.Unix(), UID: account.uid,
		}.token(),
	}
	obj, err := converter.ToUnstructured(&request)
	if err != nil {
		return err
	}
	return other.answer(http.StatusCreated, obj)
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
func (cl *call) reviewToken() (runtime.Object, error) {
	var q authenticationv1.TokenReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	if q.Spec.Token == "" {
		return nil, cl.invalid(field.Required(field.NewPath("spec", "token"), "a token to review is required"))
	}
	c, ok := parseToken(q.Spec.Token)
	if !ok {
		q.Status.Error = "[invalid bearer token]"
		return &q, nil
	}
	namespace, _, _ := strings.Cut(strings.TrimPrefix(c.Subject, "system:serviceaccount:"), ":")
	q.Status.Authenticated, q.Status.Audiences = true, c.Audience
	q.Status.User = authenticationv1.UserInfo{
		Username: c.Subject, UID: c.UID,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return &q, nil
}
