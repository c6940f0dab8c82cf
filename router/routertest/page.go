package routertest

import (
	"fmt"
	"net/http"
)

// nginxWords are nginx's names of statuses where they are not the usual ones.
var nginxWords = map[int]string{
	401: "Authorization Required", 405: "Not Allowed", 408: "Request Time-out", 414: "Request-URI Too Large",
	503: "Service Temporarily Unavailable", 504: "Gateway Time-out",
}

// page is what FaultHTML sends; without a status it is a login page under 200.
func page(status int) string {
	if status == 0 {
		return "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to continue.</body></html>"
	}
	words := fmt.Sprint(status)
	if name := orElse(nginxWords[status], http.StatusText(status)); name != "" {
		words += " " + name
	}
	return "<html>\r\n<head><title>" + words + "</title></head>\r\n<body>\r\n<center><h1>" + words + "</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
}

// page answers for the API: what the API would have said of itself in the
// headers is gone, or a client could tell by it who has answered.
func (x *exchange) page(f *activeFault) {
	clear(x.w.Header())
	x.foreign = true
	h := x.w.Header()
	h.Set("Server", "nginx")
	h.Set("Content-Type", "text/html; charset=utf-8")
	for k, v := range f.Header {
		h.Set(k, v)
	}
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	if status >= 400 {
		x.outcome(func(o *Outcome) { o.Error = fmt.Sprintf("status %d", status) })
	}
	x.send(status, h.Get("Content-Type"), []byte(orElse(f.Body, page(f.Status))))
}
