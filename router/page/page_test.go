package page

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestBegins(t *testing.T) {
	for body, want := range map[string]bool{
		"<html>":                                 true,
		"<HTML lang=en>":                         true,
		"<!DOCTYPE html>\nx":                     true,
		"<!doctype html public \"-//W3C//DTD\">": true,
		"<!-- generated --> <html>":              true,
		`<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html>`: true,
		`<?xml version="1.0"?><html xmlns="x">`:                 true,
		"<script>location='/login'</script>":                    true,
		`<meta http-equiv="refresh" content="0;url=/">`:         true,
		"<div class=e>Denied</div>":                             true,
		"<p>No such app</p>":                                    true,
		"<frameset rows='*'>":                                   true,
		"<noframes>x</noframes>":                                true,
		"<html":                                                 true,
		"<!-- a -> b > c --><html>":                             true,
		"<!-- " + strings.Repeat("licence ", 300) + "-->":       true,
		"<article>Sorry</article>":                              true,
		"<br/>":                                                 true,
		"<400> not authorized":                                  false,
		"<b1>":                                                  false,
		"<pattern>":                                             false,
		`<?xml version="1.0"?><Error><Code>NoSuchKey</Code>`:    false,
		"<soap:Envelope>":                                       false,
		"a <b>c</b>":                                            false,
		"{\"a\":\"<html>\"}":                                    false,
		"<":                                                     false,
		"":                                                      false,
	} {
		if got := Begins([]byte(body)); got != want {
			t.Errorf("%q begins a page: %v", body, got)
		}
	}
}

func TestOpaque(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(strings.Repeat("<html><body>Bad Request</body></html>", 20)))
	_ = w.Close()
	for name, c := range map[string]struct {
		body string
		want bool
	}{
		"gzip":                   {zipped.String(), true},
		"zstd":                   {"\x28\xb5\x2f\xfd\x04\x00abc\x81\x92", true},
		"brotli":                 {"\x1b\x4a\x00\xf8\x8d\x94\x6e\x4e\xa4\x55\xac", true},
		"text":                   {"Bad Request\r\n\tnothing", false},
		"colours of a terminal":  {"\x1b[31mBad Request\x1b[0m", false},
		"other letters":          {strings.Repeat("Плохой запрос ", 100), false},
		"one wrong byte in many": {"caf\xe9 is not served here", false},
		"nothing":                {"", false},
	} {
		if got := Opaque([]byte(c.body)); got != c.want {
			t.Errorf("%s: opaque %v", name, got)
		}
	}
}

func TestUTF8(t *testing.T) {
	const text = `{"error":{"message":"Плохо 😀"}}`
	write := func(order binary.ByteOrder, s string) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, 0, 0)
			order.PutUint16(b[len(b)-2:], u)
		}
		return b
	}
	for name, body := range map[string][]byte{
		"little endian, marked":   write(binary.LittleEndian, "\uFEFF"+text),
		"big endian, marked":      write(binary.BigEndian, "\uFEFF"+text),
		"little endian":           write(binary.LittleEndian, text),
		"big endian":              write(binary.BigEndian, text),
		"half a character at end": append(write(binary.BigEndian, text), 0),
		"UTF-8":                   []byte(text),
	} {
		if got := UTF8(body); string(got) != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, same := range []string{"", "ab", "\x00\x01\x02\x03", "<\x00"} {
		if got := UTF8([]byte(same)); string(got) != same {
			t.Errorf("%q became %q", same, got)
		}
	}
}

func TestStatusName(t *testing.T) {
	for text, want := range map[string]bool{
		"bad request": true, "400 bad request": true, "http error 400: bad request": true, "http/1.1 400 bad request": true, "bad request (400)": true,
		"error: bad request": true, "error 400 bad request.": true, "not found": true, "unsupported media type\n": true, "i'm a teapot": true, "error code: 400 bad request": true,
		"unprocessable content": true, "precondition failed": true, "bad request\nbad request\n": true, "bad request\nmissing model\n": false,
		"bad request: missing model": false, "model not found": false, "bad": false, "": false, "400": false, "not found in tools": false,
	} {
		if got := StatusName(text); got != want {
			t.Errorf("%q is the name of a status: %v", text, got)
		}
	}
}
