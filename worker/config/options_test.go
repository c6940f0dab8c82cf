package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDialOptionsCarryTLSAndCredentials(t *testing.T) {
	plain := Temporal{Address: "127.0.0.1:7233", Namespace: "n"}
	options, err := plain.Options()
	if err != nil || options.ConnectionOptions.TLS != nil || options.Credentials != nil || options.HostPort != "127.0.0.1:7233" || options.Namespace != "n" {
		t.Errorf("plain: %+v, %v", options, err)
	}
	secured := plain
	secured.TLS, secured.APIKey = &TLS{}, NewSecret("k")
	if options, err = secured.Options(); err != nil || options.ConnectionOptions.TLS == nil || options.Credentials == nil {
		t.Errorf("secured: %+v, %v", options, err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	secured.TLS = &TLS{CAFile: file}
	if _, err = secured.Options(); err == nil || err.Error() != "dial temporal: temporal.tls: load ca_file: it holds no certificate in PEM form" {
		t.Errorf("a file without a certificate: %v", err)
	}
}
