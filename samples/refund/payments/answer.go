package payments

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
)

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"reason":"the answer is not JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone cannot be told anything, so the error of this write has no reader.
	_, _ = w.Write(append(body, '\n'))
}

func answerReason(w http.ResponseWriter, status int, reason string) {
	answer(w, status, map[string]string{"reason": reason})
}

// answerError keeps refusals and breakdowns apart: only the first tells the client that nothing was paid.
func answerError(w http.ResponseWriter, err error) {
	var no *refusal
	if errors.As(err, &no) {
		answerReason(w, no.status, no.reason)
		return
	}
	answerReason(w, http.StatusInternalServerError, err.Error())
}

// reset breaks the connection without a byte of an answer. Linger 0 makes the kernel send RST instead of FIN, so
// that the client sees a broken connection and not an orderly end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// The documented way to end a response without an answer where there is no connection to take over.
		panic(http.ErrAbortHandler)
	}
	raw := conn
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = wrapped.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
}
