package routertest

// FailWith answers with a status; an empty body becomes the usual one.
func FailWith(status int, body string) Fault {
	return Fault{Kind: FaultStatus, Status: status, Body: body}
}

// Page answers with a status and an HTML page, as what stands before an API
// does; an empty page becomes nginx's.
func Page(status int, html string) Fault {
	return Fault{Kind: FaultHTML, Status: status, Body: html}
}

// Throttle answers 429 with these headers and a body that states no wait.
func Throttle(header map[string]string) Fault {
	f := FailWith(429, `{"error":{"message":"Too many requests.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
	f.Header = header
	return f
}

// For returns a copy that acts n times and then lets requests pass.
func (f Fault) For(n int) Fault { f.Times = n; return f }

// On returns a copy for one resource.
func (f Fault) On(resource string) Fault { f.Resource = resource; return f }

// OnNth returns a copy that acts on the n-th chosen request only.
func (f Fault) OnNth(n int) Fault { f.Nth = n; return f }

// Where returns a copy that acts on the requests that match.
func (f Fault) Where(m Match) Fault { f.Match = m; return f }

// Of returns a copy that acts on requests of one sort only.
func (f Fault) Of(s Sort) Fault { f.Only = s; return f }

// ShareOf returns a copy that acts on so many of every so many requests.
func (f Fault) ShareOf(fail, of int) Fault { f.Share = Share{fail, of}; return f }
