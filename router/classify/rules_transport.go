package classify

import (
	"github.com/onceward/onceward"
)

// neverConnected are texts of a connection that never stood: the request was
// not taken.
var neverConnected = []string{"connection refused", "econnrefused", "no such host", "enotfound", "eai_again", "name or service not known",
	"name resolution", "nodename nor servname", "getaddrinfo", "no route to host", "network is unreachable", "enetunreach", "ehostunreach",
	"tls handshake", "tls: handshake", "handshake failure", "proxyconnect", "newconnectionerror", "connect timeout", "dial tcp", "und_err_connect", "dns error",
	"could not resolve host", "lookup "}

func (e *envelope) neverConnected() bool { return e.says(table().neverConn) }

// overTheWire holds where the text is the transport's own: there was no status,
// or a gateway reports its upstream in a 5xx.
func overTheWire(e *envelope) bool {
	return e.status == 0 || e.transport == Connection || e.status >= 500 || (e.status < 300 && !e.jsonBody)
}

// brokenWire is narrower: a gateway that answers in JSON speaks for itself, and
// then its status says more than the words that it quotes.
func brokenWire(e *envelope) bool { return overTheWire(e) && (e.status < 500 || !e.jsonBody) }

// transportRules are what broke between us and the resource.
var transportRules = []rule{
	{class: onceward.ClassTimeout, strong: true, when: not(400, 401, 403, 404, 422), codes: []string{"ModelTimeoutException", "timeout", "request_timeout",
		"gateway_timeout", "upstream_request_timeout", "timeout_error", "upstream_timeout", "APITimeoutError", "DEADLINE_EXCEEDED", "vector_store_timeout",
		"provider_timeout", "operationtimeout", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT", "ESOCKETTIMEDOUT",
		"first_token_timeout",
	}},
	// A drained connection is housekeeping, not ill health.
	{class: onceward.ClassNetwork, over: []override{effect(onceward.EffectNone)}, any: []string{"errcode=no_error", "graceful_stop", "graceful shutdown",
		"server is shutting down gracefully",
	}, all: []string{"goaway"}},
	{class: onceward.ClassTimeout, strong: true, when: overTheWire, any: []string{"deadline exceeded", "timed out", "timeout", "time out", "etimedout",
		"took too long", "error code: 524", "error code: 522", "time limit exceeded",
	}, none: []string{"idle timeout while graceful"}},
	{class: onceward.ClassNetwork, strong: true, when: brokenWire, any: []string{"connection refused", "connection reset", "connection closed",
		"connection aborted", "connection error", "econnreset", "econnrefused", "econnaborted", "enotfound", "eai_again", "epipe", "broken pipe",
		"unexpected eof", "socket hang up", "fetch failed", "no such host", "name or service not known", "name resolution", "nodename nor servname",
		"getaddrinfo", "no route to host", "network is unreachable", "enetunreach", "ehostunreach", "server disconnected", "remote end closed",
		"peer closed connection", "incomplete chunked read", "incompleteread", "other side closed", "premature close", "goaway", "stream error: stream id",
		"received from peer", "stream disconnected", "disconnected before", "disconnect/reset before headers", "upstream connect error",
		"use of closed network connection", "server closed", "closed by server", "tls handshake", "handshake failure", "remote error: tls", "ssl error",
		"sslerror", "ssl_error", "proxyconnect", "error sending request", "error decoding response body", "connection was forcibly closed",
		"closing connection", "transport connection broken", "max retries exceeded with url", "err_http2", "http2 stream", "protocol error", "rst_stream",
		"websocket close", "websocket: close", "received close frame", "abnormal closure", "network error", "networkerror", "connection lost",
		"connection terminated", "connectionerror", "und_err_socket", "upstream prematurely closed", "transport is closing", "lost connection", "dns error",
		"could not resolve host", "failed to connect", "unable to connect", "cannot connect to host", "connect call failed",
		"status = statuscode.unavailable", "invalid http response", "curl: (", "malformed chunk", "chunked encoding", "chunk length", "chunked line",
		"reading trailer", "gzip: ", "incorrect header check", "corrupt input", "ssl alert", "ssl routines", "tlsv1 alert",
	}, none: []string{"overflow"}},
	{class: onceward.ClassNetwork, strong: true, when: overTheWire, any: []string{"eof"}, re: either(`(?:^|[: ])eof\b`)},
	{class: onceward.ClassNetwork, when: undecided, any: []string{"terminated"}, re: either(`^(?:typeerror: )?terminated\n`)},
}
