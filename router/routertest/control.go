package routertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAwait bounds a long poll, so that a forgotten client does not hold it for ever.
const maxAwait = 5 * time.Minute

// ControlHandler serves the control interface, for a process that only talks
// HTTP to the pool. Bodies are JSON; an error is {"error": "..."}.
//
//	GET    /_control/resources                 names and base URLs
//	GET    /_control/faults                    what is set
//	POST   /_control/faults                    add one fault or an array
//	PUT    /_control/faults                    replace all by an array
//	DELETE /_control/faults[?id=ID]            remove one or all
//	POST   /_control/release[?id=ID]           let go what hangs
//	GET    /_control/requests[?of=&resource=&since=SEQ]
//	DELETE /_control/requests                  forget what was recorded
//	GET    /_control/counts                    Pool.Counts
//	GET    /_control/await?[of=&resource=&count=&events=&done=true&since=SEQ&timeout=10s]
//	PUT    /_control/model[?resource=]         replace the model
//
// of is runs, which it is when left out, neutrals, or all: then both come in the
// order of their arrival, and since is a request's order instead of its seq.
//
// await answers when a request matches: the count-th of its resource (pool
// when none is named) after since, with at least that many events flushed, and
// done if asked for; 408 when none did in time.
func (p *Pool) ControlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_control/resources", func(w http.ResponseWriter, _ *http.Request) {
		type resource struct {
			Name string `json:"name"`
			URL  string `json:"url"`
		}
		list := []resource{}
		for _, s := range p.servers {
			list = append(list, resource{s.Name(), s.URL()})
		}
		writeJSON(w, 200, list)
	})
	mux.HandleFunc("GET /_control/faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, p.Faults()) })
	mux.HandleFunc("POST /_control/faults", func(w http.ResponseWriter, r *http.Request) { p.controlFaults(w, r, p.AddFaults) })
	mux.HandleFunc("PUT /_control/faults", func(w http.ResponseWriter, r *http.Request) { p.controlFaults(w, r, p.SetFaults) })
	mux.HandleFunc("DELETE /_control/faults", func(w http.ResponseWriter, r *http.Request) {
		if id := r.URL.Query().Get("id"); id == "" {
			p.ClearFaults()
		} else if !p.RemoveFault(id) {
			controlError(w, 404, fmt.Errorf("no fault %q", id))
			return
		}
		writeJSON(w, 200, p.Faults())
	})
	mux.HandleFunc("POST /_control/release", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, 200, map[string]bool{"released": p.Release(r.URL.Query().Get("id"))})
	})
	mux.HandleFunc("GET /_control/requests", p.controlRequests)
	mux.HandleFunc("GET /_control/counts", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, p.Counts()) })
	mux.HandleFunc("DELETE /_control/requests", func(w http.ResponseWriter, _ *http.Request) {
		p.ForgetRequests()
		writeJSON(w, 200, map[string]bool{"forgotten": true})
	})
	mux.HandleFunc("GET /_control/await", p.controlAwait)
	mux.HandleFunc("PUT /_control/model", func(w http.ResponseWriter, r *http.Request) {
		var m Model
		data, err := readControl(r)
		if err == nil {
			err = decodeStrict(data, &m)
		}
		if err == nil {
			err = p.SetModel(r.URL.Query().Get("resource"), m)
		}
		if err != nil {
			controlError(w, 400, err)
			return
		}
		writeJSON(w, 200, map[string]bool{"set": true})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A web page in the user's browser must not be able to script the pool.
		if r.Header.Get("Origin") != "" {
			controlError(w, 403, fmt.Errorf("requests of web pages are refused"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func readControl(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read control request: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

func (p *Pool) controlFaults(w http.ResponseWriter, r *http.Request, set func(...Fault) error) {
	data, err := readControl(r)
	var faults []Fault
	if err == nil {
		if len(data) > 0 && data[0] == '{' {
			faults = make([]Fault, 1)
			err = decodeStrict(data, &faults[0])
		} else {
			err = decodeStrict(data, &faults)
		}
	}
	if err == nil {
		err = set(faults...)
	}
	if err != nil {
		controlError(w, 400, err)
		return
	}
	writeJSON(w, 200, p.Faults())
}

func (p *Pool) controlRequests(w http.ResponseWriter, r *http.Request) {
	of, err := sortOf(r)
	if err != nil {
		controlError(w, 400, err)
		return
	}
	since, _ := strconv.Atoi(r.URL.Query().Get("since"))
	resource := r.URL.Query().Get("resource")
	writeJSON(w, 200, p.rec.list(func(q *Request) bool {
		return of.holds(q.Neutral) && of.place(*q) > since && (resource == "" || q.Resource == resource)
	}))
}

// sortOf reads the parameter of; the sort of all requests is the empty one.
func sortOf(r *http.Request) (Sort, error) {
	switch of := r.URL.Query().Get("of"); of {
	case "", string(Runs):
		return Runs, nil
	case string(Neutrals):
		return Neutrals, nil
	case "all":
		return "", nil
	default:
		return "", fmt.Errorf("of must be runs, neutrals or all, not %q", of)
	}
}

// place is the number of a request among those of the sort.
func (s Sort) place(r Request) int {
	if s == "" {
		return r.Order
	}
	return r.Seq
}

func (p *Pool) controlAwait(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(key string) int { n, _ := strconv.Atoi(q.Get(key)); return n }
	timeout, err := time.ParseDuration(orElse(q.Get("timeout"), "10s"))
	if err != nil || timeout <= 0 || timeout > maxAwait {
		controlError(w, 400, fmt.Errorf("timeout must be a duration up to %s", maxAwait))
		return
	}
	of, err := sortOf(r)
	if err != nil {
		controlError(w, 400, err)
		return
	}
	count, events, since := max(1, number("count")), number("events"), number("since")
	resource, done := q.Get("resource"), q.Get("done") == "true"
	seen := map[int]bool{}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	req, err := p.await(ctx, of, func(req Request) bool { // called under one lock
		if !(req.Neutral || req.isAttempt()) || of.place(req) <= since || (resource != "" && req.Resource != resource) || req.Outcome.Events < events || (done && !req.Outcome.Done) {
			return false
		}
		seen[req.Order] = true
		return len(seen) >= count
	})
	if err != nil {
		controlError(w, 408, err)
		return
	}
	writeJSON(w, 200, req)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		controlError(w, 500, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that went away needs no answer
}

func controlError(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(map[string]string{"error": err.Error()}))
}
