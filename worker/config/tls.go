package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// config reads the files. Its errors repeat neither paths nor contents.
func (t TLS) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case t.CertFile != "" && t.KeyFile != "":
		cert, err := readBounded(t.CertFile, maxConfig)
		if err != nil {
			return nil, fmt.Errorf("load cert_file: %w", err)
		}
		key, err := readBounded(t.KeyFile, maxConfig)
		if err != nil {
			return nil, fmt.Errorf("load key_file: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil { // its text names what the files hold instead
			return nil, errors.New("load cert_file and key_file: they are no certificate in PEM form with its private key")
		}
		cfg.Certificates = []tls.Certificate{pair}
	case t.CertFile != "" || t.KeyFile != "":
		return nil, errors.New("cert_file and key_file only go together")
	}
	if t.CAFile != "" {
		pem, err := readBounded(t.CAFile, maxConfig)
		if err != nil {
			return nil, fmt.Errorf("load ca_file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("load ca_file: it holds no certificate in PEM form")
		}
	}
	return cfg, nil
}
