package routertest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// sealPrefix makes sealed content look like what the real API sends.
const sealPrefix = "gAAAAAB"

// seal makes encrypted_content that only resources of the same encryption
// boundary accept. It depends on the boundary's name alone, so content sealed
// before a stand-alone pool was restarted still opens after it.
func seal(boundary string) string {
	nonce := make([]byte, 48)
	_, _ = rand.Read(nonce) // never fails, by its contract
	return sealPrefix + base64.URLEncoding.EncodeToString(append(nonce, sealMAC(boundary, nonce)...))
}

func opens(boundary, content string) bool {
	if len(content) < len(sealPrefix) || content[:len(sealPrefix)] != sealPrefix {
		return false
	}
	data, err := base64.URLEncoding.DecodeString(content[len(sealPrefix):])
	if err != nil || len(data) != 48+sha256.Size {
		return false
	}
	return hmac.Equal(data[48:], sealMAC(boundary, data[:48]))
}

func sealMAC(boundary string, nonce []byte) []byte {
	m := hmac.New(sha256.New, []byte("encryption boundary "+boundary))
	m.Write(nonce)
	return m.Sum(nil)
}

// mint makes an id that carries its resource, as ids of the real API do: another
// resource can tell that it did not make it, without shared state.
func mint(prefix, resource string) string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return prefix + fingerprint(resource) + hex.EncodeToString(b)
}

func fingerprint(resource string) string {
	sum := sha256.Sum256([]byte("resource " + resource))
	return hex.EncodeToString(sum[:8])
}

// minter returns the resource of the pool that made the id, or "".
func (p *Pool) minter(id string) string {
	for i := range len(id) {
		if id[i] != '_' {
			continue
		}
		rest := id[i+1:]
		for _, s := range p.servers {
			if len(rest) > 16 && rest[:16] == s.print {
				return s.cfg.Name
			}
		}
		return ""
	}
	return ""
}
