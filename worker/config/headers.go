package config

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward/router"
)

// header reads an entry of headers. A credential is named, as a key is.
func (l *loader) header(o *object) Header {
	var h Header
	o.str("name", &h.Name)
	o.str("value", &h.Value)
	h.Secret = l.credential(o, "value", true, !l.unkeyed)
	o.end()
	return h
}

// checkHeaders refuses what cannot be sent or must not be.
func checkHeaders(r Resource, resource string, refuse refusal) {
	var headers []router.Header
	for _, h := range r.Headers {
		headers = append(headers, router.Header{Name: h.Name, Value: h.Value, Secret: router.Secret(h.Secret.Reveal())})
	}
	router.CheckHeaders(headers, func(i int, err error) {
		key, reason, _ := strings.Cut(err.Error(), ": ")
		if h := r.Headers[i]; key == "value" && h.Value == "" && h.Secret.Empty() {
			reason = "is required: value, value_env or value_file"
		}
		refuse(fmt.Sprintf("%s.headers[%d].%s", resource, i, key), "%s", reason)
	})
}
