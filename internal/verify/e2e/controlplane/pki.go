package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// pki is what the API server needs to prove who it is and to sign tokens, valid
// for a day: longer than any test runs, shorter than anyone could come to rely on.
type pki struct {
	caPEM      []byte // for clients: the certificate is its own authority
	certFile   string
	keyFile    string
	saKeyFile  string // signs and checks service account tokens
	adminToken string
}

// newPKI makes keys, certificate and token and writes them into dir.
func newPKI(dir *dataDir) (*pki, error) {
	p := &pki{
		certFile:  dir.join("apiserver.crt"),
		keyFile:   dir.join("apiserver.key"),
		saKeyFile: dir.join("service-account.key"),
	}
	key, err := newKeyFile(p.keyFile)
	if err != nil {
		return nil, err
	}
	if _, err := newKeyFile(p.saKeyFile); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "informerkit-e2e"},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	p.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(p.certFile, p.caPEM, 0o600); err != nil {
		return nil, err
	}
	p.adminToken, err = newToken()
	return p, err
}

// newKeyFile creates a private key and writes it to path.
func newKeyFile(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// newToken returns a bearer token that cannot be guessed.
func newToken() (string, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw), nil
}
